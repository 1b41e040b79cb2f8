"""A lock between processes: advisory, on an open file, and gone when its holder dies."""

import os
import sys
import time

from .files import open_private

__all__ = ["FileLock"]

_PAUSE = 0.0001  # seconds before the second try for a lock that is held for some ten microseconds; then twice as many
_LONGEST_PAUSE = 0.005

if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> bool:
        """Lock the file if nobody else has; return whether that succeeded."""
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        """Release the lock."""
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int) -> bool:
        """Lock the file if nobody else has; return whether that succeeded."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        """Release the lock, for every copy of the descriptor that a fork may have made."""
        fcntl.flock(descriptor, fcntl.LOCK_UN)


class FileLock:
    """The lock on the file at ``path``, for which one tries ``tries`` times; 22 times take 0.08 s in all."""

    def __init__(self, path: str, tries: int) -> None:
        self._path = path
        self._tries = tries
        self._held = -1

    def acquire(self) -> bool:
        """Lock, or return False if somebody else has it: another process, or another thread of this one."""
        descriptor = open_private(self._path, os.O_RDWR | os.O_CREAT)
        try:
            if self._granted(descriptor):
                self._held, descriptor = descriptor, -1
        finally:
            if descriptor >= 0:
                os.close(descriptor)
        return descriptor < 0

    def release(self) -> None:
        """Unlock; nothing happens in a child process, whose copy of the lock is gone."""
        descriptor, self._held = self._held, -1
        if descriptor >= 0:
            try:
                _unlock(descriptor)
            finally:
                os.close(descriptor)

    def after_fork(self) -> None:
        """Close the child's copy, without unlocking it for the parent."""
        descriptor, self._held = self._held, -1
        if descriptor >= 0:  # gevent's close minds
            os.close(descriptor)

    def _granted(self, descriptor: int) -> bool:
        pause = _PAUSE
        for _ in range(1, self._tries):
            if _lock(descriptor):
                return True
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        return _lock(descriptor)
