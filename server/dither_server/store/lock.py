"""Locks between processes: on a file for SQLite, and the PostgreSQL advisory lock held while counting.

With a lock on a file processes queue for SQLite's one writer instead of polling for it. SQLite's own wait sleeps longer
and longer, and a process that waits can be passed by all others: with four writers the slowest commit in a hundred
takes about a second. The kernel wakes a waiter of ``flock`` at once.
"""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from .engine import StoreError

if sys.platform != "win32":
    import fcntl

_COUNTING = 0x636F756E74
"""Key of the PostgreSQL advisory lock held while counting: "count"."""


def shared_lock(connection: sa.Connection) -> None:
    """Hold off ``exclusive_lock`` until the transaction ends; others may count in the meantime.

    PostgreSQL waits without limit, unless its ``lock_timeout`` is set; until then uploads are answered 503. SQLite has
    one writer at a time, so both functions do nothing there.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(_SHARED)


def exclusive_lock(connection: sa.Connection) -> None:
    """Wait until nobody counts, and prevent others from counting until the transaction ends."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_COUNTING)))


_SHARED = sa.select(sa.func.pg_advisory_xact_lock_shared(_COUNTING))


class ProcessLock:
    """A lock on a file. It is released when its process ends, however that happens.

    ``guards`` names in errors what the lock protects; ``taken`` is the error of an attempt that times out.
    """

    def __init__(
        self, path: Path, guards: str = "database", taken: str = "locked by another collector's commit"
    ) -> None:
        self._path = path
        self._guards = guards
        self._timeout = f"{guards}: {taken}"

    @contextmanager
    def held(self, wait: float) -> Iterator[None]:
        """Hold the lock; raise StoreError if another process holds it for more than ``wait`` seconds."""
        if sys.platform == "win32":  # SQLite's own lock is correct there too, only slower under contention
            yield
            return
        descriptor = self._taken(wait)
        try:
            yield
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # otherwise a child forked since would keep it
            os.close(descriptor)

    if sys.platform != "win32":

        def _taken(self, wait: float) -> int:
            try:
                descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise StoreError(
                    f"{self._guards}: its lock file {self._path} cannot be opened ({error.strerror})"
                ) from None
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if wait <= 0:  # a thread left waiting would take the lock from the next process that asks for it
                    os.close(descriptor)
                    raise StoreError(self._timeout) from None
                _Waiter(descriptor, self._timeout).wait(wait)
            return descriptor


if sys.platform != "win32":

    class _Waiter:
        """Waits for the lock in a thread, because flock has no timeout."""

        def __init__(self, descriptor: int, error: str) -> None:
            self._descriptor = descriptor
            self._error = error
            self._decided = threading.Lock()
            self._taken = threading.Event()
            self._given_up = False

        def wait(self, seconds: float) -> None:
            """Return when the lock is acquired; raise StoreError and close the file when the time is up."""
            threading.Thread(target=self._block, name="dither-lock", daemon=True).start()
            self._taken.wait(seconds)
            with self._decided:
                if not self._taken.is_set():
                    self._given_up = True
                    raise StoreError(self._error)

        def _block(self) -> None:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            with self._decided:
                if self._given_up:
                    os.close(self._descriptor)
                else:
                    self._taken.set()
