"""Count refused batches in memory and write the counts every few seconds, so that a flood costs the database little."""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import date
from typing import NamedTuple, Protocol

from dither_serving.once_a_minute import OnceAMinute

from ..store import Refusal, StoreError

_log = logging.getLogger(__name__)

_PAUSE = 10.0
"""Seconds from a refusal until it is written with those that follow it. A kill -9 loses that many seconds."""

_STRANGE = 16
"""Unknown versions of a metric that are counted by name, per process and day; others are counted together."""


class Refused(NamedTuple):
    """A batch that is not counted: why, and what could be read of it.

    ``metric`` is "" unless it is one of ours. ``version`` is as it was sent, 16 hexadecimal digits, and ``is_ours`` if
    it is registered. ``size`` is that of the body in bytes, None if it was not read. ``times`` is 1, or the number of
    reports where these are refused one by one.
    """

    kind: str
    metric: str = ""
    version: str = ""
    is_ours: bool = False
    size: int | None = None
    times: int = 1


class _Writes(Protocol):
    def add_refusals(self, refused: Mapping[Refusal, int], shard: bytes) -> None: ...


class Refusals:
    """Counts from many threads, written by one. Memory is bounded: by our metrics and versions, days and kinds.

    Once a minute one refused batch is logged, whichever comes then: so an operator sees what kind of garbage it is.
    """

    def __init__(self, today: Callable[[], date], clock: Callable[[], float] = time.monotonic) -> None:
        self._today = today
        self._clock = clock
        self._counts: Counter[Refusal] = Counter()
        self._strange: set[tuple[date, str, str]] = set()
        self._due = 0.0
        self._lines = OnceAMinute(clock)
        self._lock = threading.Lock()

    def add(self, refused: Refused) -> bool:
        """Count a refused batch; return whether it is the first that waits to be written."""
        with self._lock:
            first = not self._counts
            if first:
                self._due = self._clock() + _PAUSE
            refusal = self._named(refused)
            self._counts[refusal] += refused.times
        if untold := self._lines.add(refused.times):
            _tell(refused, refusal, untold)
        return first

    def pause(self) -> float | None:
        """Return the seconds until counts are to be written, or None if there are none."""
        with self._lock:
            return max(0.0, self._due - self._clock()) if self._counts else None

    def write(self, store: _Writes, shard: bytes) -> None:
        """Write the counts; keep them for the next time if that fails."""
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

    def _named(self, refused: Refused) -> Refusal:
        """Return what is stored about a batch. Its version is stored if it is ours or among the first few others."""
        today, version = self._today(), refused.version
        if not refused.is_ours and version:
            one = (today, refused.metric, version)
            self._strange = {known for known in self._strange if known[0] == today}
            of_metric = sum(known[1] == refused.metric for known in self._strange)
            if one not in self._strange and of_metric >= _STRANGE:
                version = ""
            else:
                self._strange.add(one)
        return Refusal(refused.metric, today, refused.kind, version)


def _tell(refused: Refused, refusal: Refusal, untold: int) -> None:
    """Log one refused batch. Nothing that a client made up is logged: no name, address or body."""
    size = "unread" if refused.size is None else f"{refused.size} bytes"
    _log.warning(
        "a batch was refused: %s, metric %s, version %s, %s; %d refused since the last such line, at most one a minute",
        refusal.kind,
        refusal.metric or "unknown",
        refusal.version or "unknown",
        size,
        untold,
    )
