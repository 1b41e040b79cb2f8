"""Remember estimates by the tallies that they are made of, so that none is stale whatever was counted or removed."""

import hashlib
import threading
from collections import OrderedDict
from typing import NamedTuple

from dither_shared import Metric

from ..estimation.estimate import Estimate, estimate
from ..tally.tally import Tally

__all__ = ["EstimateCache"]

_OVERHEAD, _ROW = 1_000, 73
"""Bytes of an estimate and its key, and of each value in its eight columns of numbers, verdicts and ``found``."""


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
        self._known: OrderedDict[_Key, Estimate] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    @property
    def size(self) -> int:
        """Bytes that the estimates take which are remembered now."""
        return self._bytes

    def estimate(
        self, metric: Metric, labels: tuple[str, ...], tally: Tally, confidence: float, *, simultaneous: bool = False
    ) -> Estimate:
        """Return ``estimate`` of a tally of the metric, from memory if it is there."""
        key = _Key(metric.version, labels, _digest(tally), confidence, simultaneous)
        with self._lock:
            if (known := self._known.get(key)) is not None:
                self._known.move_to_end(key)
                return known
        found = estimate(metric.mechanism, labels, tally, confidence, simultaneous=simultaneous)
        self._keep(key, found)
        return found

    def _keep(self, key: _Key, found: Estimate) -> None:
        with self._lock:
            if key not in self._known:
                self._known[key] = found
                self._bytes += _size(found)
            while self._bytes > self._limit:
                _, oldest = self._known.popitem(last=False)
                self._bytes -= _size(oldest)


def _size(found: Estimate) -> int:
    return _OVERHEAD + _ROW * len(found.labels)


def _digest(tally: Tally) -> bytes:
    """Return a digest that differs from that of every other tally of the metric, but for a collision of BLAKE2."""
    digest = hashlib.blake2b(digest_size=16)
    for counts in (tally.reports, tally.counts):
        digest.update(counts.tobytes())
    return digest.digest()
