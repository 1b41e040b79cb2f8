import os
import pickle
import secrets
import sys
from collections.abc import Callable
from pathlib import Path

import fsspec
import pytest
from fsspec.implementations.local import LocalFileSystem

from dither_server.store.errors import SpoolError
from dither_server.store.spool.places import Folder, Place, Url, place_at
from dither_shared import ParameterError


@pytest.fixture(params=["folder", "file", "memory", "local"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """A folder, its URL, fsspec's memory, and a folder as fsspec reaches it."""
    if request.param == "local":
        return Url(f"local://{tmp_path}/spool")
    where = {
        "folder": f"{tmp_path}/spool",
        "file": f"file://{tmp_path}/spool",
        "memory": f"memory://{secrets.token_hex(8)}/spool",
    }
    return place_at(where[request.param])


def test_files_are_put_named_read_and_deleted(place: Place) -> None:
    assert place.names("segments") == []
    for name in ("b.segment", "a.segment"):
        place.put("segments", name, name.encode() * 1000)
    place.put("runs", "1.json", b"")
    place.put("ids/07", "x", b"deep")
    assert place.names("segments") == ["a.segment", "b.segment"]
    assert place.names("ids") == []
    assert place.names("ids/07") == ["x"]
    assert [place.bytes_of(kind) for kind in ("segments", "ids", "ids/07", "none")] == [18_000, 0, 4, 0]
    with place.open("segments", "a.segment") as file:
        file.seek(9)
        assert file.read(9) == b"a.segment"
    place.put("segments", "a.segment", b"another")
    with pickle.loads(pickle.dumps(place)).open("segments", "a.segment") as file:  # noqa: S301  # a worker gets it so
        assert file.read() == b"another"
    for _ in range(2):
        place.delete("segments", "a.segment")
    assert place.names("segments") == ["b.segment"]
    with pytest.raises(FileNotFoundError):
        place.open("segments", "a.segment")


@pytest.mark.parametrize("make", [lambda path: path.symlink_to("not-there"), os.mkfifo])
def test_what_stands_in_the_place_of_a_file_is_named_and_not_waited_for(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    place = Folder(tmp_path)
    place.put("segments", "a.segment", b"")
    make(tmp_path / "segments" / "b.segment")
    assert place.names("segments") == ["a.segment", "b.segment"]
    with pytest.raises((SpoolError, FileNotFoundError), match=r"b\.segment"):
        place.open("segments", "b.segment")


def test_a_folder_on_a_disk_that_is_away_is_not_empty(tmp_path: Path) -> None:
    (tmp_path / "ids").symlink_to(tmp_path / "away")
    with pytest.raises(SpoolError, match="ids cannot be listed"):
        Folder(tmp_path).names("ids")


def test_a_folder_knows_its_room_and_a_url_none(tmp_path: Path) -> None:
    there = Folder(tmp_path / "not" / "yet")
    assert (there.free_bytes() or 0) > 0
    assert there.local() == tmp_path / "not" / "yet"
    assert place_at("memory://x").free_bytes() is None
    assert place_at("memory://x").local() is None


@pytest.mark.parametrize("where", ["", "a\0b", "nosuch://bucket/spool"])
def test_what_is_no_place_is_refused(where: str) -> None:
    with pytest.raises(ParameterError, match=r"^spool: "):
        place_at(where)


def test_a_url_without_fsspec_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(ParameterError, match=r"pip install 'dither\[spool\]'"):
        place_at("s3://bucket/spool")
    assert place_at("/a/folder") == Folder(Path("/a/folder"))
    assert place_at("spool") == Folder(Path.cwd() / "spool")


def test_what_fails_leaves_nothing_and_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Folder(tmp_path)

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    (tmp_path / "segments").mkdir()
    with pytest.raises(SpoolError, match=r"segments/a cannot be written \(No space left on device\)"):
        place.put("segments", "a", b"content")
    assert list((tmp_path / "segments").iterdir()) == []


def test_what_a_crash_left_goes_when_the_file_is_written_again(tmp_path: Path) -> None:
    place = Folder(tmp_path)
    (tmp_path / "segments").mkdir()
    (tmp_path / "segments" / ".a.part").write_bytes(b"half of it, and longer")
    assert place.names("segments") == []
    place.put("segments", "a", b"content")
    assert [one.name for one in (tmp_path / "segments").iterdir()] == ["a"]
    assert (tmp_path / "segments" / "a").read_bytes() == b"content"


def test_a_file_in_the_place_of_a_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "segments").write_text("")
    place = Folder(tmp_path)
    for attempt in (
        lambda: place.names("segments"),
        lambda: place.put("segments", "a", b""),
        lambda: place.open("segments", "a"),
        lambda: place.delete("segments", "a"),
    ):
        with pytest.raises(SpoolError, match="segments"):
            attempt()


def test_an_object_that_did_not_arrive_whole_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    store = fsspec.filesystem("memory")
    monkeypatch.setattr(type(store), "pipe_file", lambda self, path, _: self.open(path, "wb").close())
    with pytest.raises(SpoolError, match="0 bytes of 3 arrived"):
        place_at("memory://short").put("segments", "a", b"abc")


def test_no_password_of_a_url_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise PermissionError(13, "denied")

    monkeypatch.setattr(LocalFileSystem, "ls", fail)
    with pytest.raises(SpoolError) as told:
        Url("local://key:secret@bucket/spool").names("segments")
    assert "secret" not in str(told.value)
