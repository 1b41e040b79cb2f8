"""Locks between processes and between threads, which survive exceptions of signal handlers at any step.

A lock between processes is advisory, on an open file, and released by the system when its holder dies. The holder may
sign the lock's file with its process id and the time, so that others can name it.

A lock between threads is held by a token instead of a ``threading.Lock``. After a lock was acquired, a signal handler
could raise before the acquisition was noted, and then nobody would know whose it is. Here one atomic step takes the
lock and stores its owner. So ``release`` can be called at any time and repeatedly, and releases it for no other owner;
and the lock of a token that was dropped without a release is free.
"""

from __future__ import annotations

import os
import sys
import time

from dither_shared.light import NamedTuple, new_lock, ref, suppress

from .files import OpenFile, open_private, pauses, read_small

TYPE_CHECKING = False
if TYPE_CHECKING:
    from weakref import ReferenceType

if sys.platform == "win32":
    import msvcrt

    # A locked byte can be neither read nor written through any other descriptor, by this process or another. So the
    # lock is on one that no file of ours has: its holder can sign the file, and a waiting process can read who that is.
    _BEYOND_ANY_CONTENT = 1 << 30

    def _lock(descriptor: int) -> bool:
        """Lock the file unless it is locked already; return whether that succeeded."""
        os.lseek(descriptor, _BEYOND_ANY_CONTENT, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        """Release the lock."""
        os.lseek(descriptor, _BEYOND_ANY_CONTENT, os.SEEK_SET)
        with suppress(OSError):  # it was not locked, which is not an error elsewhere
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int) -> bool:
        """Lock the file unless it is locked already; return whether that succeeded."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        """Release the lock, for every copy of the descriptor that a fork may have made."""
        fcntl.flock(descriptor, fcntl.LOCK_UN)


_MOST_REPLACED = 10
"""How often in a row the lock's file may have been replaced before its lock was granted."""

_SIGNATURE = 64
"""Maximum bytes of a signature."""

_PATIENCE = 0.1
"""Maximum seconds that a thread waits for another: a signal handler that waits for its own thread must not hang."""

_PAUSE, _LONGEST_PAUSE = 0.0001, 0.001
_SLOT = ""


class Owner:
    """Token of the owner of a ``ThreadLock``, which is free at the latest when the token is garbage-collected."""

    __slots__ = ("__weakref__",)


class ThreadLock:
    """A lock between the threads of this process."""

    def __init__(self) -> None:
        self._holder: dict[str, ReferenceType[Owner]] = {}
        self._mending = new_lock()

    def acquire(self, owner: Owner) -> bool:
        """Lock for ``owner``, or return False if another thread has had the lock for long."""
        mine = ref(owner)
        return self._holder.setdefault(_SLOT, mine) is mine or self._wait(mine)

    def is_held(self, owner: Owner) -> bool:
        """Return whether ``owner`` has the lock."""
        return self._holder.get(_SLOT) is ref(owner)

    def release(self, owner: Owner) -> None:
        """Unlock if ``owner`` has the lock."""
        if self._holder.get(_SLOT) is ref(owner):
            self._holder.clear()

    def _wait(self, mine: ReferenceType[Owner]) -> bool:
        end, pause = time.monotonic() + _PATIENCE, _PAUSE
        while (holder := (held := self._holder).setdefault(_SLOT, mine)) is not mine:
            if holder() is None:  # the token was dropped without a release
                with self._mending:
                    if self._holder is held:  # otherwise another thread has just done so
                        self._holder = {}
                continue
            if time.monotonic() > end:
                return False
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        return True


class FileLock:
    """The lock on the file at ``path``; each thread needs an object of its own.

    With ``keeps_open`` the file stays open after ``release``, which makes the next ``acquire`` cheaper.

    ``release`` may be called after any outcome of ``acquire``, and repeatedly. So if two nested ``finally`` release, an
    exception of a signal handler, which may come at any step, leaves nothing locked.
    """

    def __init__(self, path: str, tries: int, *, keeps_open: bool = False) -> None:
        self._path = path
        self._tries = tries
        self._keeps_open = keeps_open
        self._file: OpenFile | None = None

    def acquire(self) -> bool:
        """Lock, or return False if another process, or another thread of this one, has the lock."""
        for _ in range(_MOST_REPLACED):
            file = self._file
            if file is None or not file.is_ours():
                file = self._file = OpenFile(self._path, os.O_RDWR | os.O_CREAT)
            granted = False
            try:
                granted = _lock(file.number) or self._lock(file.number)
            finally:
                if not granted:
                    self.release()
            if not granted:
                return False
            if file.is_at(self._path):
                return True
            self.close()  # the file was deleted, and other processes lock a new one
        return False

    def release(self) -> None:
        """Unlock if it is locked."""
        if self._file is None:
            return
        unlocked = False
        try:
            with suppress(OSError):  # the host has closed it, which unlocks it
                _unlock(self._file.number)
                unlocked = True
        finally:
            if not (unlocked and self._keeps_open):
                self.close()

    def close(self) -> None:
        """Close the file; in a child process this closes its copy, and the parent keeps the lock."""
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def _lock(self, descriptor: int) -> bool:
        """Try again, some times, to lock the file, which somebody else holds."""
        for pause in pauses(self._tries):
            time.sleep(pause)
            if _lock(descriptor):
                return True
        return False


class Holder(NamedTuple):
    """The process that holds a lock, None if it did not sign, and the Unix time at which it took the lock."""

    pid: int | None
    since: float


def sign(path: str) -> None:
    """Write this process and the time into the file of a lock that it has just taken; best effort."""
    with suppress(OSError):
        descriptor = open_private(path, os.O_WRONLY | os.O_TRUNC)
        try:
            os.write(descriptor, b"%d %d\n" % (os.getpid(), time.time()))
        finally:
            os.close(descriptor)


def holder_of(path: str) -> Holder | None:
    """Return who last took the lock on a file, though it may be released; None if there is no such file."""
    with suppress(OSError):
        status = os.lstat(path)
        try:
            pid, since = map(int, read_small(path, _SIGNATURE).split())
        except ValueError:  # it has not signed yet, or could not
            return Holder(None, status.st_mtime)
        return Holder(pid, float(since))
    return None
