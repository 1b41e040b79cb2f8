"""Where the files of a spool are, which database it belongs to, and how full it is."""

import os
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from dither_server.store import UnmadeError
from dither_shared import ParameterError

from .blobs import BlobStore, SpoolError, blob_store_at, free_bytes_at, make_folder, require_no_tilde
from .journal import JOURNAL, NOTICE, abandoned
from .records import BUCKETS
from .segment import DAMAGED, SEGMENTS, is_segment

NEARLY_FULL = 4
"""A spool is nearly full if less than this many journals fit beyond ``SpoolLayout.needed``."""

_FULL = 2
"""A spool is full if fewer than this many fit: a journal exists twice while it becomes a segment."""

_IDS = 2 * BUCKETS
"""Pages that a fold may need for files of few ids: two per bucket."""

_OWNER = "database"
"""The kind of the file that names the owner. The file name says everything, so two that write it at once do no harm."""

_ABOUT = b"The name of this file is that of the database into which this spool is folded.\n"

_MEMORY = "memory://"
"""A store that fsspec has for tests: segments there would be acknowledged, and lost."""

_PAGE = 4096


class Backlog(NamedTuple):
    """The bytes of journals, the segments, the damaged files (or notices of them) in a spool, and the free bytes."""

    open_bytes: int
    segments: int
    damaged: int
    free: int


class SpoolLayout(NamedTuple):
    """A blob store for segments, and a folder of this machine for journals. Each method raises SpoolError."""

    blobs: BlobStore
    journals: Path

    @classmethod
    def at(cls, spool: str, journals: str = "") -> "SpoolLayout":
        """Return the layout of the spool at a folder or URL; journals are in ``open`` of a folder by default.

        Raises ParameterError if there can be no spool.
        """
        if sys.platform == "win32":
            raise ParameterError("spool", "requires flock(2), which Windows lacks")
        if spool.lower().startswith(_MEMORY):
            raise ParameterError("spool", f"{_MEMORY} is in the memory of one process, so no fold can read it")
        blobs = blob_store_at(spool)
        if journals:
            require_no_tilde("spool_open", journals)
            return cls(blobs, Path(journals))
        if blobs.folder is None:
            raise ParameterError(
                "spool",
                f"{blobs} is not on this machine; set spool_open to a folder on this machine, for the open journals",
            )
        return cls(blobs, blobs.folder / "open")

    def make(self) -> None:
        """Create the folder of journals, and check that the blob store can be reached."""
        self.blobs.names(SEGMENTS)
        try:
            make_folder(self.journals)
        except OSError as error:
            raise SpoolError(f"spool: {self.journals} cannot be created ({error.strerror})") from None

    def close_abandoned(self) -> int:
        """Make segments of the journals of dead processes; return how many batches these held."""
        return sum(journal.seal(self.blobs) for journal in abandoned(self.journals))

    def try_to_write(self) -> None:
        """Write one page durably beside the journals, to test the disk, and delete it at once."""
        try:
            with tempfile.TemporaryFile(dir=self.journals, buffering=0) as file:
                file.write(bytes(_PAGE))
                os.fsync(file.fileno())
        except OSError as error:
            raise SpoolError(f"spool: {self.journals} cannot be written ({error.strerror})") from None

    def free(self) -> int:
        """Return the free bytes for journals or for segments, whichever is less."""
        try:
            of_journals = free_bytes_at(self.journals)
        except OSError as error:
            raise SpoolError(f"spool: {self.journals} cannot be read ({error.strerror})") from None
        of_segments = self.blobs.free_bytes()
        return of_journals if of_segments is None else min(of_journals, of_segments)

    def needed(self) -> int:
        """Return the bytes that a fold needs to count everything that waits, before it can delete anything.

        A journal becomes a segment, and ids of at most the bytes of a segment are written before that is deleted. A
        store without a known limit needs no reserve.
        """
        if self.blobs.free_bytes() is None:
            return 0
        return self.blobs.bytes_of(SEGMENTS) + self.backlog().open_bytes + _IDS * _PAGE

    def require_room(self, size: int, needed: int, journals: int = _FULL) -> None:
        """Raise SpoolError unless this many journals of ``size`` bytes fit beyond the ``needed`` bytes."""
        free = self.free()
        if free < needed + journals * size:
            full = "full" if journals == _FULL else "nearly full"
            kept = f"{needed / 1e6:,.0f} MB are reserved for the fold, and {journals * size / 1e6:,.0f} MB"
            message = f"{free / 1e6:,.0f} MB are free for {self.blobs}, {kept} for {journals} journals"
            raise SpoolError(f"spool: {full}, {message}; run dither-server fold, make room, or lower spool_bytes")

    def backlog(self) -> Backlog:
        """Return the backlog of the spool."""
        sizes, damaged = [], 0
        try:
            for entry in os.scandir(self.journals):
                damaged += entry.name.endswith(NOTICE)
                if entry.name.endswith(JOURNAL):
                    with suppress(FileNotFoundError):  # it was closed
                        sizes.append(entry.stat().st_size)
        except FileNotFoundError:  # there is no folder yet
            pass
        except OSError as error:
            raise SpoolError(f"spool: {self.journals} cannot be read ({error.strerror})") from None
        damaged += len(self.blobs.names(DAMAGED))
        return Backlog(sum(sizes), sum(map(is_segment, self.blobs.names(SEGMENTS))), damaged, self.free())

    def idle(self, seconds: float) -> int:
        """Return the number of journals to which nothing was appended for ``seconds`` seconds."""
        since, count = time.time() - seconds, 0
        try:
            for path in self.journals.glob(f"*{JOURNAL}"):
                with suppress(FileNotFoundError):  # it was closed
                    count += path.stat().st_mtime < since
        except OSError as error:
            raise SpoolError(f"spool: {self.journals} cannot be read ({error.strerror})") from None
        return count


def claim(blobs: BlobStore, database: str) -> None:
    """Name the database that counts a spool, if it has none yet; raise like ``require_owner`` if it has another.

    Collectors do this when they start. So a location without this file, such as a mistyped URL, is no spool.
    """
    if not blobs.names(_OWNER):
        try:
            blobs.put(_OWNER, database, _ABOUT)
        except SpoolError:
            if database not in blobs.names(_OWNER):  # otherwise another collector was faster
                raise
    require_owner(blobs, database)


def require_owner(blobs: BlobStore, database: str | None) -> None:
    """Raise UnmadeError if no collector has made the spool, ParameterError if it belongs to another database.

    None is a database whose name is not known. Raises SpoolError if the spool cannot be read.
    """
    owners = blobs.names(_OWNER)
    if not owners:
        raise UnmadeError("spool", f"{blobs} is not a spool: a collector creates it when it starts")
    others = [name for name in owners if name != database]
    if database is not None and others:
        message = f"{blobs} belongs to the database {', '.join(others)}, and db is {database}"
        raise ParameterError(
            "spool", f"{message}; name the database to which it belongs, or delete {blobs}/{_OWNER} if db replaced it"
        )
