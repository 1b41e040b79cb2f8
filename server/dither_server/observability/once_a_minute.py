"""Log lines that many like events share, so that no peer can fill a log."""

import threading
import time
from collections.abc import Callable

__all__ = ["OnceAMinute"]

_QUIET = 60.0


class OnceAMinute:
    """Says when a line may be logged, and of how many events it then is. Safe to use from many threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._told = float("-inf")
        self._untold = 0
        self._lock = threading.Lock()

    def add(self, events: int = 1) -> int:
        """Count some events; return how many there were since the last line if one may be logged now, else 0."""
        with self._lock:
            self._untold += events
            now = self._clock()
            if now < self._told + _QUIET:
                return 0
            self._told = now
            untold, self._untold = self._untold, 0
            return untold
