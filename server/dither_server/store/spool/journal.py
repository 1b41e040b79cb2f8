"""What a process of the collector appends to: the batches of each commit, with one write and one fsync.

A journal belongs to one process as long as that lives: it holds a lock on the file. When it is closed, it becomes a
segment of the same random name; so one that is closed twice, because of a crash between the two, is the same segment.
"""

import logging
import os
import secrets
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import date
from pathlib import Path

from dither_shared.counted import counted

from ..counting.uploads import Upload
from ..errors import SpoolError
from ..lock import FileLock
from .files import make_folder, sync_folder, write_file
from .groups import group_of, read_groups
from .places import Place
from .segment import write_segment

if sys.platform != "win32":
    import fcntl

__all__ = ["DAMAGED", "SEGMENTS", "SUFFIX", "Journal", "abandoned"]

_log = logging.getLogger(__name__)

SUFFIX = ".journal"
DAMAGED = ".damaged"
"""The ending of what tells that a journal was damaged; nothing of its batches is in there."""

_NAMES = "[0-9a-f]" * 32 + SUFFIX

SEGMENTS = "segments"
"""The kind of file, in a place, that a journal becomes."""

_PATIENCE = 10.0
"""Seconds to wait while another process makes a journal, or looks for those of the dead."""

_make_durable = getattr(os, "fdatasync", os.fsync)
"""Makes content and size durable; the file's times need not be."""


class Journal:
    """A file that this process holds. Each method raises SpoolError, which names it, for what cannot be done now."""

    def __init__(self, path: Path, descriptor: int) -> None:
        """Take a file that is open and locked; see ``create`` and ``abandoned``."""
        self.path = path
        self.size = 0
        self.usable = True
        self._mark = bytes.fromhex(path.stem[:16])
        self._descriptor = descriptor

    @classmethod
    def create(cls, folder: Path) -> "Journal":
        """Make a journal in a folder, durably, and hold it."""
        path = folder / f"{secrets.token_hex(16)}{SUFFIX}"
        try:
            make_folder(folder)
            with _alone(folder):  # or it might be taken for one of the dead
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            sync_folder(folder)
        except OSError as error:
            raise SpoolError(f"spool: {path} cannot be made ({error.strerror})") from None
        return cls(path, descriptor)

    def append(self, uploads: Sequence[Upload], day: date) -> None:
        """Write batches durably. If that fails none of them is there, or ``usable`` is False, and some may be."""
        group = group_of(self._mark, uploads, day)
        try:
            written = 0
            while written < len(group):
                written += os.pwrite(self._descriptor, group[written:], self.size + written)
        except OSError as error:
            self._drop()
            raise SpoolError(f"spool: {self.path} cannot be written ({error.strerror})") from None
        try:
            _make_durable(self._descriptor)
        except OSError as error:
            self.usable = False  # nobody knows what is on the disk now, and another fsync would not tell
            raise SpoolError(f"spool: {self.path} cannot be made durable ({error.strerror})") from None
        self.size += len(group)

    def seal(self, place: Place) -> int:
        """Make a segment of what was appended, and let go of the journal; return the number of records.

        If that fails the journal is there as before, and it may be tried again. Of one that is damaged what can be read
        is taken, and a file of another ending tells of it. The journal goes like any other, for it has the order in
        which its batches came, which is to be forgotten.
        """
        try:
            found = read_groups(self._mark, _whole(self._descriptor))
        except OSError as error:
            raise SpoolError(f"spool: {self.path} cannot be read ({error.strerror})") from None
        if count := len(found.records.ids):
            place.put(SEGMENTS, f"{self.path.stem}.segment", write_segment(found.records))
        try:
            if lost := found.damaged or max(0, self.size - found.end):
                self._tell_of_damage(count, lost)
            self.path.unlink(missing_ok=True)
        except OSError as error:
            raise SpoolError(f"spool: {self.path} cannot be closed ({error.strerror})") from None
        self.release()
        return count

    def release(self) -> None:
        """Let go of the file, and leave it to whoever looks for those of the dead."""
        with suppress(OSError):
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)  # a child forked meanwhile would keep it otherwise
        os.close(self._descriptor)

    def _tell_of_damage(self, count: int, lost: int) -> None:
        taken = counted(count, "batch of this journal was taken", "batches of this journal were taken")
        told = f"{taken}, and {counted(lost, 'byte')} could not be read"
        write_file(
            notice := self.path.with_suffix(DAMAGED), f"{told}. Look at the disk, then delete this file.\n".encode()
        )
        _log.error("a journal was damaged: %s; %s says so", told, notice)

    def _drop(self) -> None:
        """Take away what was written of batches that failed."""
        try:
            os.ftruncate(self._descriptor, self.size)
        except OSError:
            self.usable = False


def abandoned(folder: Path) -> Iterator[Journal]:
    """Yield each journal in a folder whose process is gone; this process holds it from now on. Raises SpoolError."""
    for path in sorted(folder.glob(_NAMES)):
        try:
            with _alone(folder):
                descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            if _taken(descriptor, path):
                yield Journal(path, descriptor)
            else:
                os.close(descriptor)
        except FileNotFoundError:  # another process has closed it meanwhile
            continue
        except OSError as error:
            raise SpoolError(f"spool: {path} cannot be opened ({error.strerror})") from None


def _alone(folder: Path) -> AbstractContextManager[None]:
    """Hold the lock of a folder, in which a journal is made and held at once."""
    return FileLock(folder / "lock", "spool").held(_PATIENCE)


def _taken(descriptor: int, path: Path) -> bool:
    """Hold an open file, unless another process does, or has made a segment of it meanwhile; return whether."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except (BlockingIOError, FileNotFoundError):
        return False


def _whole(descriptor: int) -> bytes:
    """Return the content of a file, also of one that somebody has deleted."""
    size, content = os.fstat(descriptor).st_size, bytearray()
    while len(content) < size and (part := os.pread(descriptor, size - len(content), len(content))):
        content += part
    return bytes(content)
