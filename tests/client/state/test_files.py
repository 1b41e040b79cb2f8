"""Files and locks as on systems that the suite does not run on: Windows, by a stand-in for ``msvcrt``, and macOS."""

import errno
import importlib.util
import os
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

import dither.state.locks
from client.state.open_files import as_on_windows
from dither.state.files import delete, replace, write
from dither.state.locks import holder_of, sign

fcntl = pytest.importorskip("fcntl", reason="the systems are imitated elsewhere")


@pytest.mark.parametrize("act", [lambda path: replace(path, b"new"), delete])
def test_replace_waits_for_a_short_reader_on_windows(
    act: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "consent"
    path.write_bytes(b"old")
    reader = path.open("rb")
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setattr("time.sleep", lambda _: reader.close())
    as_on_windows(monkeypatch)
    act(str(path))
    assert reader.closed
    assert [file.read_bytes() for file in tmp_path.iterdir()] in ([b"new"], [])


@pytest.mark.parametrize("act", [lambda path: replace(path, b"new"), delete])
def test_file_that_stays_open_raises_after_a_bounded_wait(
    act: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "consent").write_bytes(b"old")
    as_on_windows(monkeypatch)
    for platform, most in (("win32", 0.1), ("linux", 0.0)):
        pauses: list[float] = []
        monkeypatch.setattr("sys.platform", platform)
        monkeypatch.setattr("time.sleep", pauses.append)
        with (tmp_path / "consent").open("rb"), pytest.raises(PermissionError):
            act(str(tmp_path / "consent"))
        assert most / 2 <= sum(pauses) <= most, "the host does not wait for a folder without write permission"
    assert [path.name for path in tmp_path.iterdir()] == ["consent"]


@pytest.mark.parametrize("lacking", [False, True])
def test_sync_flushes_the_drive_on_macos(lacking: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []

    def control(_: int, command: object) -> None:
        calls.append(command)
        if lacking:
            raise OSError(errno.ENOTSUP, "lacking")

    monkeypatch.setattr("sys.platform", "darwin")
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", "F_FULLFSYNC", raising=False)
    monkeypatch.setattr(fcntl, "fcntl", control)
    monkeypatch.setattr("os.fsync", lambda _: calls.append("fsync"))
    write(str(tmp_path / "journal"), (b"a", b"b"))
    assert calls == ["F_FULLFSYNC", "fsync"][: 1 + lacking]


def test_concurrent_replacements_leave_one_complete_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads, subinterpreters and containers replace files concurrently under the same process id."""
    path, fsync = str(tmp_path / "consent"), os.fsync

    def replace_again(descriptor: int) -> None:
        monkeypatch.setattr("os.fsync", fsync)
        replace(path, b"second")
        fsync(descriptor)

    monkeypatch.setattr("os.fsync", replace_again)
    replace(path, b"first")
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("consent", b"first")]


LONGEST = 1 << 20
needs_locks_of_files = pytest.mark.skipif(not hasattr(fcntl, "F_OFD_SETLK"), reason="no locks of an open file here")


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


@needs_locks_of_files
def test_second_lock_is_refused_while_the_first_is_held(windows: ModuleType, tmp_path: Path) -> None:
    first, second = (windows.FileLock(str(tmp_path / "sending"), 2) for _ in range(2))
    assert first.acquire()
    assert not second.acquire(), "a held lock is a result, not an error"
    second.release()
    first.release()
    assert second.acquire()
    second.release()
    second.release()


@needs_locks_of_files
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
