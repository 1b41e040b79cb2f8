"""Estimates of single days, remembered: what is drawn over time was mostly drawn before."""

import threading
from collections import OrderedDict
from datetime import date

from dither_shared import Metric

from ..estimate import Estimate, estimate
from ..store import Store

__all__ = ["DailyEstimates"]

_Key = tuple[str, tuple[str, ...], date, int, float]


class DailyEstimates:
    """The estimates of a database's days, from memory where they are there. Safe to use from many threads.

    A day's reports are only ever added to, so an estimate is true as long as their number is the same. Of all
    estimates the ``room`` used last are kept, one a value and day (about 100 bytes each).
    """

    def __init__(self, store: Store, room: int = 300_000) -> None:
        self._store = store
        self._room = room
        self._known: OrderedDict[_Key, Estimate] = OrderedDict()
        self._kept = 0
        self._lock = threading.Lock()

    def of(self, metric: Metric, day: date, reports: int, confidence: float) -> Estimate:
        """Return the estimate of a day that has so many reports."""
        key = (metric.version, metric.labels, day, reports, confidence)
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        found = estimate(metric.mechanism, metric.labels, self._store.tally(metric, day, day), confidence)
        self._keep(key, found)
        return found

    def _keep(self, key: _Key, found: Estimate) -> None:
        with self._lock:
            if key not in self._known:
                self._known[key] = found
                self._kept += len(found.labels)
            while self._kept > self._room:
                _, oldest = self._known.popitem(last=False)
                self._kept -= len(oldest.labels)
