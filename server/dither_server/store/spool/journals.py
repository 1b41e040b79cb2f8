"""The journals of one process: the one that it appends to, and those that are closed and no segments yet."""

import threading
from collections.abc import Callable, Sequence
from datetime import date

from ..counting.uploads import Upload
from .journal import Journal, abandoned
from .rooms import Rooms

__all__ = ["Journals"]


class Journals:
    """Appended to by one thread and sealed by another. A journal is closed at ``size`` bytes or after ``seconds``."""

    def __init__(self, rooms: Rooms, size: int, seconds: float, clock: Callable[[], float]) -> None:
        self._rooms = rooms
        self._size = size
        self._seconds = seconds
        self._clock = clock
        self._open: Journal | None = None
        self._since = 0.0
        self._closed: list[Journal] = []
        self._lock = threading.Lock()

    def append(self, uploads: Sequence[Upload], day: date) -> bool:
        """Append uploads durably; return whether a journal waits to be sealed. Raises StoreError."""
        with self._lock:
            if self._open is None:
                self._open = Journal.create(self._rooms.journals)
                self._since = self._clock()
            try:
                self._open.append(uploads, day)
            finally:
                if not self._open.usable or self._open.size >= self._size:
                    self._retire()
            return bool(self._closed)

    def left(self) -> float:
        """Return the seconds until the open journal is to be closed; infinity if there is none."""
        with self._lock:
            return float("inf") if self._open is None else self._since + self._seconds - self._clock()

    def retire(self) -> None:
        """Append no more to the journal that is open."""
        with self._lock:
            self._retire()

    def adopt(self) -> None:
        """Take the journals of processes that are gone. Raises SpoolError."""
        for journal in abandoned(self._rooms.journals):
            with self._lock:
                self._closed.append(journal)

    def seal(self) -> None:
        """Make a segment of each journal that is closed. Raises SpoolError at the first that fails, and keeps it."""
        while True:
            with self._lock:
                journal = self._closed[0] if self._closed else None
            if journal is None:
                return
            journal.seal(self._rooms.place)
            with self._lock:
                self._closed.remove(journal)

    def release(self) -> None:
        """Leave what is no segment to whoever looks for journals of processes that are gone."""
        with self._lock:
            self._retire()
            for journal in self._closed:
                journal.release()
            self._closed.clear()

    def _retire(self) -> None:
        if self._open is not None:
            self._closed.append(self._open)
            self._open = None
