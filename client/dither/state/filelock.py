"""Locks between processes: advisory, on an open file, and gone when their holder dies."""

import os
import sys
import time
from contextlib import suppress

from .files import open_private
from .waiting import pauses

__all__ = ["FileLock", "lock", "unlock"]

if sys.platform == "win32":
    import msvcrt

    # A locked byte can be neither read nor written through any other descriptor, by this process or another. So the
    # lock is on one that no file of ours has: its holder can sign the file, and whoever waits can read who that is.
    _BEYOND_ANY_CONTENT = 1 << 30

    def _lock(descriptor: int, shared: bool) -> bool:
        """Lock the file if nobody else has; return whether that succeeded. A shared lock is as good as none here."""
        if shared:
            return True
        os.lseek(descriptor, _BEYOND_ANY_CONTENT, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def unlock(descriptor: int) -> None:
        """Release the lock."""
        os.lseek(descriptor, _BEYOND_ANY_CONTENT, os.SEEK_SET)
        with suppress(OSError):  # it was not locked, which is no error elsewhere
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int, shared: bool) -> bool:
        """Lock the file if nobody else has; return whether that succeeded."""
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(descriptor: int) -> None:
        """Release the lock, for every copy of the descriptor that a fork may have made."""
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def lock(descriptor: int, tries: int, *, shared: bool = False) -> bool:
    """Lock an open file, or return False if somebody else has it after so many tries."""
    if _lock(descriptor, shared):
        return True
    for pause in pauses(tries):
        time.sleep(pause)
        if _lock(descriptor, shared):
            return True
    return False


class FileLock:
    """The lock on the file at ``path``, for one holder: threads of one process that want the same make one each.

    ``release`` may be called whatever became of ``acquire``, and again: so an exception out of a signal handler, which
    may come anywhere, leaves nothing held if two ``finally`` in each other release.
    """

    def __init__(self, path: str, tries: int) -> None:
        self._path = path
        self._tries = tries
        self._descriptor = -1

    def acquire(self) -> bool:
        """Lock, or return False if somebody else has it: another process, or another thread of this one."""
        self._descriptor = open_private(self._path, os.O_RDWR | os.O_CREAT)
        granted = False
        try:
            granted = lock(self._descriptor, self._tries)
        finally:
            if not granted:
                self.release()
        return granted

    def release(self) -> None:
        """Unlock, if it is locked."""
        if self._descriptor >= 0:
            try:
                unlock(self._descriptor)
            finally:
                self.after_fork()

    def after_fork(self) -> None:
        """Close the child's copy, without unlocking it for the parent."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:  # gevent's close minds
            os.close(descriptor)
