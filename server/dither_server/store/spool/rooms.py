"""Where the files of a spool are, and how it fares, whichever process wrote them."""

import os
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from dither_shared import ParameterError

from ..errors import SpoolError
from .files import make_folder, room_at
from .journal import DAMAGED, SEGMENTS, SUFFIX, abandoned
from .places import Place, place_at, require_no_tilde
from .records import BUCKETS
from .segment import is_segment

__all__ = ["ASIDE", "ROOM", "Backlog", "Rooms", "rooms_at"]

ROOM = 4
"""A spool is nearly full without room for so many journals more than what ``Rooms.needed`` says."""

_LEAST = 2
"""It is full without room for so many: each journal is there twice while it becomes a segment."""

_IDS = 2 * BUCKETS
"""Pages that a fold may take for files of few ids: two days of each bucket."""

ASIDE = "damaged"
"""The kind of file, in a place, that was a segment until it was given up."""

_MEMORY = "memory://"
"""A place that fsspec knows, for tests: segments there would be acknowledged, and lost."""

_PAGE = 4096


class Backlog(NamedTuple):
    """What stands in a spool: bytes of journals, untaken segments, damaged files or notices, bytes of room."""

    open_bytes: int
    segments: int
    damaged: int
    free: int


class Rooms(NamedTuple):
    """A place for segments, and a folder of this machine for journals. Each method raises SpoolError."""

    place: Place
    journals: Path

    def make(self) -> None:
        """Make the folder of journals, and look whether the place can be reached."""
        self.place.names(SEGMENTS)
        try:
            make_folder(self.journals)
        except OSError as error:
            raise SpoolError(f"spool: {self.journals} cannot be made ({error.strerror})") from None

    def close_abandoned(self) -> int:
        """Make segments of the journals of processes that are gone; return how many batches these held."""
        return sum(journal.seal(self.place) for journal in abandoned(self.journals))

    def try_to_write(self) -> None:
        """Make a page durable beside the journals, in a file that goes at once."""
        try:
            with tempfile.TemporaryFile(dir=self.journals, buffering=0) as file:
                file.write(bytes(_PAGE))
                os.fsync(file.fileno())
        except OSError as error:
            raise SpoolError(f"spool: {self.journals} cannot be written ({error.strerror})") from None

    def free(self) -> int:
        """Return the bytes of room, for journals or for segments, whichever is less."""
        try:
            here = room_at(self.journals)
        except OSError as error:
            raise SpoolError(f"spool: {self.journals} cannot be read ({error.strerror})") from None
        there = self.place.free_bytes()
        return here if there is None else min(here, there)

    def needed(self) -> int:
        """Return the bytes of room that it takes to count all that stands in the spool, if nothing is deleted before.

        A journal becomes a segment, and ids of no more bytes than a segment has are written before that is deleted.
        Where nobody knows an end of the place there is nothing to be kept free.
        """
        if self.place.free_bytes() is None:
            return 0
        return self.place.bytes_of(SEGMENTS) + self.backlog().open_bytes + _IDS * _PAGE

    def require_room(self, size: int, needed: int, journals: int = _LEAST) -> None:
        """Raise SpoolError unless there is room for so many journals of ``size`` bytes beyond what is ``needed``."""
        free = self.free()
        if free < needed + journals * size:
            full = "full" if journals == _LEAST else "nearly full"
            kept = f"{needed / 1e6:,.0f} MB of them are for a fold to count what is there"
            told = f"{free / 1e6:,.0f} MB are free for {self.place}, {kept}; run dither-server fold"
            raise SpoolError(f"spool: {full}, {told}, or make room")

    def backlog(self) -> Backlog:
        """Return what stands in the spool."""
        sizes, damaged = [], 0
        try:
            for one in os.scandir(self.journals):
                damaged += one.name.endswith(DAMAGED)
                if one.name.endswith(SUFFIX):
                    sizes.append(one.stat().st_size)
        except FileNotFoundError:  # of a journal that is closed meanwhile, or nobody has begun
            pass
        except OSError as error:
            raise SpoolError(f"spool: {self.journals} cannot be read ({error.strerror})") from None
        damaged += len(self.place.names(ASIDE))
        return Backlog(sum(sizes), sum(map(is_segment, self.place.names(SEGMENTS))), damaged, self.free())

    def idle(self, seconds: float) -> int:
        """Return the number of journals that nothing was appended to for so long."""
        since, found = time.time() - seconds, 0
        try:
            for one in self.journals.glob(f"*{SUFFIX}"):
                with suppress(FileNotFoundError):  # it is closed meanwhile
                    found += one.stat().st_mtime < since
        except OSError as error:
            raise SpoolError(f"spool: {self.journals} cannot be read ({error.strerror})") from None
        return found


def rooms_at(spool: str, journals: str = "") -> Rooms:
    """Return the rooms of the spool at a folder or URL; journals are in ``open`` of a folder, if nowhere else.

    Raises ParameterError for what can be no spool.
    """
    if sys.platform == "win32":
        raise ParameterError("spool", "wants a system with flock, such as Linux")
    if spool.lower().startswith(_MEMORY):
        raise ParameterError("spool", f"{_MEMORY} is this process's own: it ends with it, and no fold sees it")
    place = place_at(spool)
    if journals:
        require_no_tilde("spool_open", journals)
        return Rooms(place, Path(journals))
    if (folder := place.local()) is None:
        raise ParameterError(
            "spool", f"{place} is not on this machine; set spool_open to a folder that is, for what is open"
        )
    return Rooms(place, folder / "open")
