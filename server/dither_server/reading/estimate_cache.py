"""Remember estimates by the tallies that they are made of, so that none is stale whatever was counted or removed."""

import hashlib
import threading
from collections import OrderedDict
from typing import Any, NamedTuple

from dither_shared import Metric

from ..tally.tally import Tally
from .summaries import summary_of
from .summaries.summary import Estimated

__all__ = ["EstimateCache"]

_OVERHEAD = 1_000
"""Bytes of a key and its place."""


class _Key(NamedTuple):
    version: str
    labels: tuple[str, ...]
    tally: bytes
    confidence: float
    simultaneous: bool


class EstimateCache:
    """The estimates used last, of at most so many bytes; labels are not counted, for the metric holds them.

    Safe to use from many threads.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._known: OrderedDict[_Key, Estimated] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def estimate(
        self, metric: Metric, labels: tuple[str, ...], tally: Tally, confidence: float, simultaneous: bool = False
    ) -> Any:
        """Return the estimate of a tally by the metric's summary, from memory if it is there."""
        key = _Key(metric.version, labels, _digest(tally), confidence, simultaneous)
        with self._lock:
            if (known := self._known.get(key)) is not None:
                self._known.move_to_end(key)
                return known
        found = summary_of(metric).estimate(metric, labels, tally, confidence, simultaneous)
        self._keep(key, found)
        return found

    def _keep(self, key: _Key, found: Estimated) -> None:
        with self._lock:
            if key not in self._known:
                self._known[key] = found
                self._bytes += _size(found)
            while self._bytes > self._limit:
                _, oldest = self._known.popitem(last=False)
                self._bytes -= _size(oldest)


def _size(found: Estimated) -> int:
    return _OVERHEAD + found.size


def _digest(tally: Tally) -> bytes:
    """Return a digest that differs from that of every other tally of the metric, but for a collision of BLAKE2."""
    digest = hashlib.blake2b(digest_size=16)
    for counts in (tally.reports, tally.counts):
        digest.update(counts.tobytes())
    return digest.digest()
