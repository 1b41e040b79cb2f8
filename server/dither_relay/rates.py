"""Limit how much one address sends, without keeping any address.

This is a count-min sketch with a fresh key per window: an address has two cells, and the smaller count is its own or
more. So a million addresses take as much memory as one, and no address can be read back.
"""

import logging
import secrets
import threading
from array import array
from collections.abc import Callable
from hashlib import blake2b

_log = logging.getLogger(__name__)

WINDOW = 3600.0
"""Seconds of a window, after which all counts are reset."""

_CELLS = 1 << 21
_MOST = (1 << 16) - 1


class Rates:
    """Counts requests by address. ``limit`` are allowed in a window; ``forget`` is called at its end, too."""

    def __init__(self, limit: int, forget: Callable[[], object] = lambda: None, window: float = WINDOW) -> None:
        self._limit = min(limit, _MOST)
        self._forget = forget
        self._window = window
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dither-rates", daemon=True)
        self.turn()

    def start(self) -> None:
        """Start the thread that begins the windows."""
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._ended.set()

    def turn(self) -> None:
        """Begin a window: forget the counts and the key that led to them."""
        self._key = secrets.token_bytes(16)
        self._counts = array("H", bytes(2 * _CELLS))
        self._is_logged = False
        self._forget()

    def admits(self, group: str) -> bool:
        """Count a request of a group of addresses; return whether it may be served."""
        counts = self._counts
        digest = blake2b(group.encode(), digest_size=8, key=self._key).digest()
        cells = [int.from_bytes(digest[:4], "big") % _CELLS, int.from_bytes(digest[4:], "big") % _CELLS]
        if min(counts[cell] for cell in cells) >= self._limit:
            self._log_refusal()
            return False
        for cell in cells:
            counts[cell] = min(counts[cell] + 1, _MOST)
        return True

    def _log_refusal(self) -> None:
        """Log once per window that an address was refused."""
        if not self._is_logged:
            self._is_logged = True
            _log.warning("an address has reached the limit for an hour; if it is a proxy's, name it in proxies")

    def _run(self) -> None:
        while not self._ended.wait(self._window):
            self.turn()
