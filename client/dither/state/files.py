"""Open and replace files for their owner only: no symbolic link is followed, and a power cut does no harm.

Whoever can write to the folder can put anything there. So a file is read up to a bound that no file of ours reaches,
and one that goes on beyond it is refused.
"""

import errno
import os
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

_PLAIN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_PLAIN |= getattr(os, "O_NONBLOCK", 0)  # for a file it means nothing; of a pipe in its place nobody waits for the end
_SMALL, _FOREIGN = 1 << 18, 1 << 16
"""Bytes that small files may have, such as ``consent`` with some 2,300 accepted metrics, and those of others."""


TRIES = 22
"""Tries that take 0.08 s in all: the first report of a device, which others wait for, may have to be made durable."""

_PAUSE = 0.0001  # seconds before the second try for a lock that is held for some ten microseconds; then twice as many
_LONGEST_PAUSE = 0.005


def pauses(tries: int) -> Iterator[float]:
    """Yield the seconds to wait before each try but the first for what others hold for a moment, a lock or a file."""
    pause = _PAUSE
    for _ in range(1, tries):
        yield pause
        pause = min(2 * pause, _LONGEST_PAUSE)


def open_private(path: str, flags: int) -> int:
    """Return a descriptor of the file, made readable for its owner only; raise OSError if it is a symbolic link."""
    return os.open(path, flags | _PLAIN, 0o600)


def read(descriptor: int, position: int, count: int) -> bytes:
    """Return ``count`` bytes from ``position``, or fewer at the end of the file."""
    os.lseek(descriptor, position, os.SEEK_SET)
    pieces = []
    while count and (piece := os.read(descriptor, count)):
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)


def replace(path: str, data: bytes) -> None:
    """Write a file so that after a power cut it is the old one or the new one, in full."""
    draft = _draft(path)
    try:
        write(str(draft), (data,))
        rename(str(draft), path)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
    sync_folder(str(draft.parent))


def read_small(path: str, most: int = _SMALL) -> bytes:
    """Return the content of a small file; raise OSError if it has more than ``most`` bytes."""
    return _content(open_private(path, os.O_RDONLY), path, most)


def read_foreign(path: str) -> bytes:
    """Return the content of a small file that somebody else keeps, maybe behind a link; raise OSError if it is none."""
    descriptor = os.open(path, os.O_RDONLY | (_PLAIN & ~getattr(os, "O_NOFOLLOW", 0)))
    return _content(descriptor, path, _FOREIGN)


def _content(descriptor: int, path: str, most: int) -> bytes:
    """Return what an open file holds, and close it; a pipe, a device or a socket is refused unread."""
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "not a plain file", path)
        data = read(descriptor, 0, most + 1) if found.st_size <= most else None
        if data is None or len(data) > most:  # it may grow while it is read
            raise OSError(errno.EFBIG, "too large to be one of ours", path)
        return data
    finally:
        os.close(descriptor)


def swap(path: str, data: bytes) -> None:
    """Replace a file at once, though not durably: after a power cut it may be the old one, or empty."""
    draft = _draft(path)
    try:
        descriptor = open_private(str(draft), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            if os.write(descriptor, data) != len(data):
                raise OSError("the disk is full")
        finally:
            os.close(descriptor)
        rename(str(draft), path)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise


def _draft(path: str) -> Path:
    """Return a name beside ``path`` that no other thread, interpreter or container with this folder uses."""
    return Path(f"{path}.{os.urandom(8).hex()}.new")


def write(path: str, pieces: Iterable[bytes]) -> None:
    """Write a file anew, piece by piece and durably."""
    descriptor = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        for piece in pieces:
            if os.write(descriptor, piece) != len(piece):
                raise OSError(errno.ENOSPC, "the disk is full", path)
        sync(descriptor)
    finally:
        os.close(descriptor)


def rename(draft: str, path: str) -> None:
    """Let the file ``draft`` take the place of the one at ``path``."""
    _once_free(lambda: Path(draft).replace(path))


def delete(path: str) -> None:
    """Delete a file, if it is there."""
    _once_free(lambda: Path(path).unlink(missing_ok=True))


def _once_free(act: Callable[[], object]) -> None:
    """Act on the name of a file.

    Windows refuses as long as anybody has it open: a process that reads it, or a scanner that looks at what is new.
    """
    for pause in pauses(TRIES if sys.platform == "win32" else 1):
        try:
            act()
        except PermissionError:
            time.sleep(pause)
        else:
            return
    act()


def sync(descriptor: int) -> None:
    """Make what was written to an open file durable.

    On macOS ``fsync`` leaves it in the memory of the drive, from which a power cut takes it away.
    """
    if sys.platform == "darwin":
        with suppress(OSError):  # a file system that lacks it
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
    os.fsync(descriptor)


def sync_folder(folder: str) -> None:
    """Make the names of the files in a folder durable."""
    if sys.platform != "win32":  # which has no such call, and needs none
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            sync(descriptor)
        finally:
            os.close(descriptor)


class OpenFile:
    """A file that stays open until somebody closes it, not necessarily we.

    A program that becomes a daemon closes all descriptors, and ours may be the number of a file of its own by now.
    """

    __slots__ = ("_identity", "number")

    def __init__(self, path: str, flags: int) -> None:
        self.number = open_private(path, flags)
        try:
            found = os.fstat(self.number)
        except BaseException:
            os.close(self.number)
            raise
        self._identity = found.st_dev, found.st_ino

    def is_ours(self) -> bool:
        """Return whether this number is still that of the file that was opened."""
        try:
            found = os.fstat(self.number)
        except OSError:
            return False
        return self.is_that(found)

    def is_at(self, path: str) -> bool:
        """Return whether the file has this name still."""
        try:
            return self.is_that(os.lstat(path))
        except FileNotFoundError:
            return False

    def is_that(self, found: os.stat_result) -> bool:
        """Return whether what was found is this file."""
        return (found.st_dev, found.st_ino) == self._identity

    def close(self) -> None:
        """Close it, or a child's copy of it, unless the number is another file's by now."""
        number, self.number = self.number, -1
        if number < 0:
            return
        with suppress(OSError):
            if self.is_that(os.fstat(number)):
                os.close(number)
