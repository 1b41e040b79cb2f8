"""Locks as on Windows, by a stand-in for ``msvcrt`` on systems where locks belong to an open file."""

import errno
import importlib.util
import os
import struct
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

import dither.state.locks
from dither.state.locks import holder_of, sign

fcntl = pytest.importorskip("fcntl", reason="the real one is tried here")
pytestmark = pytest.mark.skipif(not hasattr(fcntl, "F_OFD_SETLK"), reason="no locks of an open file here")

LONGEST = 1 << 20


class Locking(SimpleNamespace):
    """``msvcrt.locking``: locks bytes from the descriptor's position, and refuses to unlock what is not locked."""

    LK_NBLCK, LK_UNLCK = 2, 0

    def __init__(self) -> None:
        super().__init__(held=dict[int, int]())

    def locking(self, descriptor: int, mode: int, count: int) -> None:
        start = os.lseek(descriptor, 0, os.SEEK_CUR)
        if mode == self.LK_UNLCK and self.held.get(descriptor) != start:
            raise PermissionError(errno.EACCES, "not locked")
        kind = fcntl.F_WRLCK if mode == self.LK_NBLCK else fcntl.F_UNLCK
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", kind, os.SEEK_SET, start, count, 0))
        self.held[descriptor] = start


@pytest.fixture
def locking() -> Locking:
    return Locking()


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch, locking: Locking) -> ModuleType:
    """The module as Windows imports it."""
    monkeypatch.setitem(sys.modules, "msvcrt", locking)
    spec = importlib.util.find_spec(dither.state.locks.__name__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with monkeypatch.context() as patch:
        patch.setattr("sys.platform", "win32")
        spec.loader.exec_module(module)
    return module


def test_second_lock_is_refused_while_the_first_is_held(windows: ModuleType, tmp_path: Path) -> None:
    first, second = (windows.FileLock(str(tmp_path / "sending"), 2) for _ in range(2))
    assert first.acquire()
    assert not second.acquire(), "a held lock is a result, not an error"
    second.release()
    first.release()
    assert second.acquire()
    second.release()
    second.release()


def test_locked_byte_lies_beyond_all_content(windows: ModuleType, locking: Locking, tmp_path: Path) -> None:
    """Windows refuses to read or write a locked byte, even to the holder's other descriptors."""
    lock = windows.FileLock(str(tmp_path / "sending"), 1)
    assert lock.acquire()
    assert min(locking.held.values()) > LONGEST
    sign(str(tmp_path / "sending"))
    holder = holder_of(str(tmp_path / "sending"))
    assert holder is not None
    assert holder.pid == os.getpid()
    assert (tmp_path / "sending").stat().st_size < 100, "a lock does not extend the file"
    lock.release()
