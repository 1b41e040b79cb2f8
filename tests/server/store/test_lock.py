"""The lock between processes on one SQLite file."""

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from dither_server.store import Store, StoreError
from dither_server.store.lock import ProcessLock
from forkserver import start
from server.collecting import SHARD, TODAY, at_once, upload

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="flock is of POSIX")

PATIENCE = 60.0


def waiters() -> set[threading.Thread]:
    """The threads of this process that wait for such a lock, of other tests, too."""
    return {thread for thread in threading.enumerate() if thread.name == "dither-lock"}


def test_file_lock_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    lock, inside, most = ProcessLock(tmp_path / "lock"), 0, 0

    def work(_: int) -> None:
        nonlocal inside, most
        for _ in range(50):
            with lock.held(PATIENCE):
                inside += 1
                most = max(most, inside)
                inside -= 1

    at_once(work, *range(4))
    assert (inside, most) == (0, 1)


def test_waiter_that_gives_up_does_not_take_the_file_lock_later(tmp_path: Path) -> None:
    lock = ProcessLock(tmp_path / "lock")
    before = waiters()
    with lock.held(PATIENCE):
        for wait in (0.0, 0.01):
            assert waiters() <= before  # an attempt without waiting has started none
            with pytest.raises(StoreError, match="locked"), lock.held(wait):
                pass
    for thread in waiters():  # it takes the lock when it is free, and lets go of it
        thread.join(PATIENCE)
    with lock.held(0.0):
        pass


def test_file_lock_is_released_when_its_process_is_killed(tmp_path: Path) -> None:
    hold = (
        "import sys, pathlib; from dither_server.store.lock import ProcessLock\n"
        "with ProcessLock(pathlib.Path(sys.argv[1])).held(1.0): print('held', flush=True); sys.stdin.read()"
    )
    path = tmp_path / "lock"
    with start("-c", hold, str(path), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(StoreError, match="locked"), ProcessLock(path).held(0.01):
            pass
        process.kill()
        process.wait()
    with ProcessLock(path).held(PATIENCE):
        pass


def test_lock_file_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="lock file"), ProcessLock(tmp_path / "no" / "lock").held(1.0):
        pass


def test_a_database_whose_lock_cannot_be_taken_is_not_ready(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """This happens after the kernel has mounted a failing disk read-only."""

    def refuse(path: object, *_: object) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    store.require_writable()
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(os, "open", refuse)
        with pytest.raises(StoreError, match="Read-only file system"):
            store.commit([upload()], TODAY, SHARD)
        with pytest.raises(StoreError, match="Read-only file system"):
            store.require_writable()
    store.require_writable()
