"""Refused batches, counted in memory and written now and then: a flood of them costs the database nothing."""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import date
from typing import Protocol

from .store import Refusal, StoreError

__all__ = ["Refusals"]

_log = logging.getLogger(__name__)

_PAUSE = 10.0
"""Seconds from a refusal to its writing, with all that follow it. A kill -9 loses the counts of as many."""


class _Writes(Protocol):
    def add_refusals(self, refused: Mapping[Refusal, int], shard: bytes) -> None: ...


class Refusals:
    """Counts from many threads, written by one. There are as many as metrics, days and kinds: memory is bounded."""

    def __init__(self, today: Callable[[], date], clock: Callable[[], float] = time.monotonic) -> None:
        self._today = today
        self._clock = clock
        self._counts: Counter[Refusal] = Counter()
        self._due = 0.0
        self._lock = threading.Lock()

    def add(self, metric: str, kind: str) -> bool:
        """Count a refused batch; return whether it is the first that waits to be written."""
        with self._lock:
            first = not self._counts
            if first:
                self._due = self._clock() + _PAUSE
            self._counts[Refusal(metric, self._today(), kind)] += 1
            return first

    def pause(self) -> float | None:
        """Return in how many seconds there is something to write; None if there is nothing."""
        with self._lock:
            return max(0.0, self._due - self._clock()) if self._counts else None

    def write(self, store: _Writes, shard: bytes) -> None:
        """Write what has been counted; what cannot be written is kept for the next time."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
        if not counts:
            return
        try:
            store.add_refusals(counts, shard)
        except Exception as error:
            _log.warning("refusals were not written: %s", error if isinstance(error, StoreError) else "a fault of ours")
            with self._lock:
                self._counts.update(counts)
                self._due = self._clock() + _PAUSE
