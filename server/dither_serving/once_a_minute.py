"""Limit log lines per minute, so that no peer can fill a log."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_log = logging.getLogger(__name__)

_QUIET = 60.0

_LINES = 10
"""Lines of another library's logger that are let through per minute."""


class OnceAMinute:
    """Counts events, and allows one log line about them per minute. Safe to use from many threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._logged = float("-inf")
        self._unlogged = 0
        self._lock = threading.Lock()

    def add(self, events: int = 1) -> int:
        """Count some events; return the number since the last line if one may be logged now, else 0."""
        with self._lock:
            self._unlogged += events
            now = self._clock()
            if now < self._logged + _QUIET:
                return 0
            self._logged = now
            return self._take()

    def rest(self) -> int:
        """Return the number of events since the last line, for a line at the end."""
        with self._lock:
            return self._take()

    def _take(self) -> int:
        unlogged, self._unlogged = self._unlogged, 0
        return unlogged


@contextmanager
def limited_lines(
    logger: logging.Logger, lines: int = _LINES, clock: Callable[[], float] = time.monotonic
) -> Iterator[None]:
    """Let a logger write only some lines per minute, and log how many were left out, at the latest at the end."""
    left_out, lock = OnceAMinute(clock), threading.Lock()
    begun, written = float("-inf"), 0

    def passes(_record: logging.LogRecord) -> bool:
        nonlocal begun, written
        with lock:
            now = clock()
            if now >= begun + _QUIET:
                begun, written = now, 0
            written += 1
            is_allowed = written <= lines
        if not is_allowed and (count := left_out.add()):
            _log.warning("lines omitted from the log of %s: %d", logger.name, count)
        return is_allowed

    logger.addFilter(passes)
    try:
        yield
    finally:
        logger.removeFilter(passes)
        if count := left_out.rest():
            _log.warning("lines omitted from the log of %s: %d", logger.name, count)
