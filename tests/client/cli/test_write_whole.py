"""Results are written completely, or not at all."""

import os
import stat
import threading
from pathlib import Path

import pytest

from dither.cli.compile import same_file, write_whole
from dither_shared import ParameterError


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.skipif(os.name == "nt", reason="there are no such modes")
def test_a_new_file_has_the_mode_that_the_umask_leaves_and_an_old_one_keeps_its_own(tmp_path: Path) -> None:
    path = tmp_path / "metrics.json"
    before = os.umask(0o027)
    try:
        write_whole(path, b"one\n")
        assert (path.read_bytes(), mode_of(path)) == (b"one\n", 0o640)
        path.chmod(0o664)
        write_whole(path, b"two\n")
    finally:
        os.umask(before)
    assert (path.read_bytes(), mode_of(path)) == (b"two\n", 0o664)
    assert [*tmp_path.iterdir()] == [path], "no draft is left"


def test_writing_through_a_link_keeps_the_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "metrics.json", tmp_path / "metrics.json"
    link.symlink_to(target)
    for content in (b"one\n", b"two\n"):
        write_whole(link, content)
        assert link.is_symlink()
        assert target.read_bytes() == content


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe, received = tmp_path / "pipe", list[bytes]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    write_whole(pipe, b"one\n")
    reader.join(60)
    assert received == [b"one\n"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("name", [".", "missing/metrics.json", "n" * 300, "circle", "file/metrics.json"])
def test_failed_write_is_reported_and_changes_nothing(name: str, tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "file").write_bytes(b"before")
    with pytest.raises(ParameterError, match="cannot be written: "):
        write_whole(tmp_path / name, b"one\n")
    assert {path.name for path in tmp_path.iterdir()} == {"circle", "file"}
    assert (tmp_path / "file").read_bytes() == b"before"


def test_failure_while_writing_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "metrics.json"
    path.write_bytes(b"before")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ParameterError, match=r"metrics\.json: cannot be written: No space left on device"):
        write_whole(path, b"after")
    assert {each: each.read_bytes() for each in tmp_path.iterdir()} == {path: b"before"}


def test_file_is_recognized_under_another_name(tmp_path: Path) -> None:
    target, other, link = (tmp_path / name for name in ("one", "other", "link"))
    target.write_bytes(b"")
    link.symlink_to(target)
    assert same_file(target, link)
    assert not same_file(target, other)
    assert not same_file(tmp_path / ("n" * 300), target)
