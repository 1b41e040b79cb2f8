"""Open sealed rows beside all else that a collector does: a batch at a time, and with a pause for others after a few.

A row takes 0.2 ms, in which no other thread of Python runs. Whoever waits for the interpreter would wait for 5 ms each
time, so the thread that opens steps aside much sooner.
"""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ...protocol.problems import Kind, Problem
from .hpke import Opener

__all__ = ["MOST", "Opening"]

MOST = 20_000
"""Rows of a batch that are opened at most: some seconds of work for each key of the suite."""

_PLACES = 4
"""Batches that are in work at a time, one of which is opened; each keeps a thread waiting."""

_SOON = 5
"""Seconds after which to come again when all places are taken."""

_FEW = 4
_ASIDE = 1e-5
"""Rows after which the others get their turn, and seconds of sleep, for which they need not be over."""


class Opening:
    """Opens batches in the threads that bring them."""

    def __init__(self, places: int = _PLACES) -> None:
        self._places = threading.BoundedSemaphore(places)
        self._one = threading.Lock()

    def open(self, rows: Sequence[bytes], info: bytes, openers: Sequence[Opener]) -> list[bytes]:
        """Return what could be opened, in the order of the rows, by any of these.

        Raises Problem if too many batches wait already.
        """
        if not openers:
            return []
        with self._place(), self._one:
            return list(_opened(rows, info, list(openers)))

    @contextmanager
    def _place(self) -> Iterator[None]:
        if not self._places.acquire(blocking=False):
            raise Problem(Kind.OVERLOADED, "as many batches are opened as may be; this one was not taken", _SOON)
        try:
            yield
        finally:
            self._places.release()


def _opened(rows: Sequence[bytes], info: bytes, openers: list[Opener]) -> Iterator[bytes]:
    """Yield what opens. The key that opened the last row is tried first: most devices seal for the same."""
    for number, sealed in enumerate(rows):
        for place, one in enumerate(openers):
            if (row := one(sealed, info)) is not None:
                openers.insert(0, openers.pop(place))
                yield row
                break
        if number % _FEW == 0:
            time.sleep(_ASIDE)
