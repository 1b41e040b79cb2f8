"""Open and replace files that only their owner can read: follow no symbolic link, and survive a power cut.

Anyone who can write to the folder can put anything there. So each file is read up to a bound that none of ours reaches,
and refused if it is longer.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time

from dither_shared.light import above_standard, suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

if sys.platform != "win32":
    import fcntl

_PLAIN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_PLAIN |= getattr(os, "O_NONBLOCK", 0)  # no effect on a file, but prevents blocking if a pipe is in its place
_SMALL, _FOREIGN = 1 << 18, 1 << 16
"""Maximum bytes of small files, such as ``consent`` with some 2,300 accepted metrics, and of files of others."""


TRIES = 22
"""Tries that take 0.08 s in all, because the holder may have to sync the first report of a device."""

_PAUSE = 0.0001  # seconds before the second try, doubled for each further one; a lock is held for some 10 us
_LONGEST_PAUSE = 0.005


def pauses(tries: int) -> Iterator[float]:
    """Yield the seconds to wait before each try but the first, for a lock or a file that others hold briefly."""
    pause = _PAUSE
    for _ in range(1, tries):
        yield pause
        pause = min(2 * pause, _LONGEST_PAUSE)


def open_private(path: str, flags: int) -> int:
    """Return a descriptor of the file, made readable for its owner only; raise OSError if it is a symbolic link."""
    return above_standard(os.open(path, flags | _PLAIN, 0o600))


def read(descriptor: int, position: int, count: int) -> bytes:
    """Return ``count`` bytes from ``position``, or fewer at the end of the file."""
    os.lseek(descriptor, position, os.SEEK_SET)
    pieces = []
    while count and (piece := os.read(descriptor, count)):
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)


def replace(path: str, data: bytes) -> None:
    """Replace a file atomically and durably."""
    draft = f"{path}.{os.urandom(8).hex()}.new"  # unique among threads, interpreters and containers
    try:
        write(draft, (data,))
        rename(draft, path)
    except BaseException:
        with suppress(OSError):
            delete(draft)
        raise
    sync_folder(os.path.dirname(path))


def read_small(path: str, most: int = _SMALL) -> bytes:
    """Return the content of a small file; raise OSError if it has more than ``most`` bytes or another owner."""
    return _content(open_private(path, os.O_RDONLY), path, most, own=True)


def is_own(status: os.stat_result) -> bool:
    """Return whether a file or folder of this status belongs to this user; on Windows, True."""
    return not hasattr(os, "geteuid") or status.st_uid == os.geteuid()


def read_foreign(path: str) -> bytes:
    """Return a small file of another owner, maybe behind a link; raise OSError unless it is a plain small file."""
    descriptor = os.open(path, os.O_RDONLY | (_PLAIN & ~getattr(os, "O_NOFOLLOW", 0)))
    return _content(descriptor, path, _FOREIGN)


def _content(descriptor: int, path: str, most: int, *, own: bool = False) -> bytes:
    """Return the content of an open file, and close it; refuse a pipe, a device, a socket, another user's file."""
    try:
        status = os.fstat(descriptor)
        if own and not is_own(status):
            raise PermissionError(errno.EPERM, "belongs to another user", path)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a plain file", path)
        data = read(descriptor, 0, most + 1) if status.st_size <= most else None
        if data is None or len(data) > most:  # it may have grown in the meantime
            raise OSError(errno.EFBIG, "too large; dither writes no file of this size here", path)
        return data
    finally:
        os.close(descriptor)


def overwrite(path: str, data: bytes) -> None:
    """Overwrite a small file that is dispensable, in one write; a symbolic link is replaced.

    There is no draft, which a killed program would leave behind. After a power cut, and for a reader at
    that very moment, the content may be a mixture: its first line must show whether it is whole.
    """
    if os.path.islink(path):
        delete(path)
    descriptor = open_private(path, os.O_WRONLY | os.O_CREAT)
    try:
        if os.write(descriptor, data) != len(data):
            raise OSError("the disk is full")
        os.ftruncate(descriptor, len(data))
    finally:
        os.close(descriptor)


def write(path: str, pieces: Iterable[bytes]) -> None:
    """Write a file piece by piece, and sync it."""
    descriptor = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        for piece in pieces:
            if os.write(descriptor, piece) != len(piece):
                raise OSError(errno.ENOSPC, "the disk is full", path)
        sync(descriptor)
    finally:
        os.close(descriptor)


def rename(draft: str, path: str) -> None:
    """Rename ``draft`` to ``path``, replacing what is there."""
    _once_free(lambda: os.replace(draft, path))


def delete(path: str) -> None:
    """Delete a file, if it is there."""
    with suppress(FileNotFoundError):
        _once_free(lambda: os.unlink(path))


def _once_free(act: Callable[[], object]) -> None:
    """Call ``act``, which renames or deletes a file.

    Windows refuses that while any process has the file open, such as a reader or a virus scanner; so wait a little.
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

    On macOS ``fsync`` leaves it in the drive's cache, which a power cut erases.
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
    """A file that stays open between calls, although the host may close it.

    A program that becomes a daemon closes all descriptors, and may then open its own files under the same numbers.
    """

    __slots__ = ("_identity", "number")

    def __init__(self, path: str, flags: int) -> None:
        self.number = open_private(path, flags)
        try:
            status = os.fstat(self.number)
        except BaseException:
            os.close(self.number)
            raise
        self._identity = status.st_dev, status.st_ino

    def is_ours(self) -> bool:
        """Return whether the descriptor still refers to the file that was opened."""
        with suppress(OSError):
            status = os.fstat(self.number)
            return (status.st_dev, status.st_ino) == self._identity
        return False

    def is_at(self, path: str) -> bool:
        """Return whether the file is still at ``path``."""
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            return False
        return (status.st_dev, status.st_ino) == self._identity

    def status_at(self, path: str) -> os.stat_result | None:
        """Return the status of the file if it is open as it was, and still at ``path``; otherwise None."""
        try:
            status, named = os.fstat(self.number), os.lstat(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno == errno.EBADF:  # the host has closed it
                return None
            raise
        identity = status.st_dev, status.st_ino
        return named if identity == self._identity == (named.st_dev, named.st_ino) else None

    def close(self) -> None:
        """Close the descriptor unless it refers to another file by now."""
        number, self.number = self.number, -1
        if number < 0:
            return
        with suppress(OSError):
            status = os.fstat(number)
            if (status.st_dev, status.st_ino) == self._identity:
                os.close(number)
