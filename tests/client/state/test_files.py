"""File names and contents on systems that the suite does not run on: Windows and macOS."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from client.state.open_files import as_on_windows
from dither.state.files import delete, replace, write

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
