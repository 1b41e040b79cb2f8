"""The sink of a collector that only appends: batches are durable when they stand in a journal; a fold counts them.

One thread beside the committer's closes journals that are full or old, also those of processes that are gone, and
looks whether the spool can take more. Another asks the database.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import date

from ..counting.uploads import Outcome, Upload
from ..errors import SpoolError, StoreError, UnmadeError
from ..tables.refusals import Refusal
from .database_link import DatabaseLink
from .journals import Journals
from .owner import require_owner
from .rooms import ROOM, Backlog, Rooms

__all__ = ["Spool"]

_log = logging.getLogger(__name__)

_BEAT = 3.0
"""Seconds between two looks at what may have changed."""


class Spool:
    """Takes uploads as ``Store`` does, and appends them. It opens no file before it starts: a server may fork.

    A journal is closed at ``size`` bytes or after ``seconds``. ``database`` tells which versions are disabled, and
    counts refusals. Raises SpoolError if the spool cannot be used.
    """

    def __init__(
        self,
        database: DatabaseLink,
        rooms: Rooms,
        size: int,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        rooms.make()
        self.rooms = rooms
        self._database = database
        self._size = size
        self._seconds = seconds
        self._clock = clock
        self._journals = Journals(rooms, size, seconds, clock)
        self._sought = float("-inf")
        self._needed = rooms.needed()
        self._troubles: dict[str, str] = {}
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._due = threading.Event()
        self._ended = False

    def start(self) -> None:
        """Start the threads, once in each process; the first begins with the journals of processes that are gone."""
        with self._starting:
            if self._thread is None and not self._ended:
                self._thread = threading.Thread(target=self._run, name="dither-spool", daemon=True)
                self._thread.start()
                self._database.start()

    def commit(self, uploads: Sequence[Upload], day: date, shard: bytes) -> list[Outcome]:
        """Append uploads durably, and return what became of each: COUNTED means that a fold will count it, once.

        Whether its id belongs to a batch of another content, a fold finds out. The database need not be there, once it
        was. Raises StoreError if nothing is said of any upload; some may be counted all the same. None is taken while
        a fold would not have the room to count them: else a disk that only holds the spool would stay full for ever.
        """
        self.start()
        disabled = self._database.disabled()
        if taken := [upload for upload in uploads if upload.metric.version not in disabled]:
            self.rooms.require_room(self._size, self._needed)
            try:
                if self._journals.append(taken, day):
                    self._due.set()
                self._troubles.pop("append", None)
            except StoreError as error:
                self._troubles["append"] = str(error)
                raise
        return [Outcome.DISABLED if upload.metric.version in disabled else Outcome.COUNTED for upload in uploads]

    def tend(self) -> bool:
        """Return that nothing is to be done: the thread does it."""
        return False

    def forget(self, before: date) -> bool:
        """Return that there are no ids to forget: a fold keeps them."""
        return False

    def add_refusals(self, refused: Mapping[Refusal, int], shard: bytes) -> None:
        """Add to the counts of refused batches, in the database; what it does not take now, later."""
        self._database.add_refusals(refused, shard)

    def require_writable(self) -> None:
        """Raise SpoolError if batches cannot be taken, or soon can be no more, and what ``commit`` would raise."""
        self._database.disabled()
        if troubles := "; ".join(list(self._troubles.values())):
            raise SpoolError(troubles)

    def backlog(self) -> Backlog:
        """Return what stands in the spool. Raises SpoolError, also if it is gone: its disk is mounted no more, say."""
        try:
            require_owner(self.rooms.place, None)
        except UnmadeError:
            raise SpoolError(f"spool: what a collector made at {self.rooms.place} is gone") from None
        return self.rooms.backlog()

    def close(self) -> None:
        """Make a segment of what is open, and end the threads. What cannot be one yet is left to the next start."""
        with self._starting:
            self._ended = True
        self._due.set()
        if self._thread is not None:
            self._thread.join()
        self._journals.retire()
        self._tried("seal", self._journals.seal)
        self._journals.release()
        self._database.close()

    def _run(self) -> None:
        while not self._ended:
            self._due.clear()
            if self._journals.left() <= 0:
                self._journals.retire()
            self._tried("adopt", self._adopt)
            self._tried("seal", self._journals.seal)
            self._tried("append", self._try_to_write)
            self._tried("room", self._look)
            self._due.wait(min(_BEAT, max(self._journals.left(), 0.0)))

    def _tried(self, what: str, step: Callable[[], object]) -> None:
        """Take a step, and keep in mind whether it fails. It is tried again at the next beat."""
        try:
            step()
        except Exception as error:
            told = str(error) if isinstance(error, StoreError) else f"spool: a fault of ours ({type(error).__name__})"
            if self._troubles.get(what) != told:
                _log.warning("%s", told, exc_info=None if isinstance(error, StoreError) else error)
            self._troubles[what] = told
        else:
            self._troubles.pop(what, None)

    def _adopt(self) -> None:
        if self._clock() >= self._sought + self._seconds:
            self._journals.adopt()
            self._sought = self._clock()

    def _try_to_write(self) -> None:
        """See whether what failed would succeed: a collector that is not ready may be sent nothing to try it with."""
        if "append" in self._troubles:
            self.rooms.try_to_write()

    def _look(self) -> None:
        self._needed = self.rooms.needed()
        self.rooms.require_room(self._size, self._needed, ROOM)
