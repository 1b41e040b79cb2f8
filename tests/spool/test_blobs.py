import errno
import os
import pickle
import secrets
import sys
from pathlib import Path
from types import SimpleNamespace

import fsspec
import pytest
from fsspec.implementations.local import LocalFileSystem

from dither_shared import ParameterError
from dither_spool.blobs import BlobStore, Folder, ObjectStore, SpoolError, blob_store_at


@pytest.fixture(params=["folder", "file", "memory", "local"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> BlobStore:
    """A folder, its URL, fsspec's memory, and a folder as fsspec reaches it."""
    if request.param == "local":
        return ObjectStore(f"local://{tmp_path}/spool")
    where = {
        "folder": f"{tmp_path}/spool",
        "file": f"file://{tmp_path}/spool",
        "memory": f"memory://{secrets.token_hex(8)}/spool",
    }
    return blob_store_at(where[request.param])


def test_files_are_put_named_read_and_deleted(blobs: BlobStore) -> None:
    assert blobs.names("segments") == []
    for name in ("b.segment", "a.segment"):
        blobs.put("segments", name, name.encode() * 1000)
    blobs.put("runs", "1.json", b"")
    blobs.put("ids/07", "x", b"deep")
    assert blobs.names("segments") == ["a.segment", "b.segment"]
    assert blobs.names("ids") == []
    assert blobs.names("ids/07") == ["x"]
    assert [blobs.bytes_of(kind) for kind in ("segments", "ids", "ids/07", "none")] == [18_000, 0, 4, 0]
    with blobs.open("segments", "a.segment") as file:
        file.seek(9)
        assert file.read(9) == b"a.segment"
    blobs.put("segments", "a.segment", b"another")
    with pickle.loads(pickle.dumps(blobs)).open("segments", "a.segment") as file:  # noqa: S301  # a worker gets it so
        assert file.read() == b"another"
    for _ in range(2):
        blobs.delete("segments", "a.segment")
    assert blobs.names("segments") == ["b.segment"]
    with pytest.raises(FileNotFoundError):
        blobs.open("segments", "a.segment")


def test_dangling_links_and_pipes_are_errors_at_once(tmp_path: Path) -> None:
    """A link to a disk that is missing is no empty folder."""
    (tmp_path / "segments").mkdir()
    (tmp_path / "segments" / "a.segment").symlink_to("not-there")
    os.mkfifo(tmp_path / "segments" / "b.segment")
    assert Folder(tmp_path).names("segments") == ["a.segment", "b.segment"]
    for name in ("a.segment", "b.segment"):
        with pytest.raises((SpoolError, FileNotFoundError), match=name):
            Folder(tmp_path).open("segments", name)
    (tmp_path / "ids").symlink_to(tmp_path / "away")
    with pytest.raises(SpoolError, match="ids cannot be listed"):
        Folder(tmp_path).names("ids")


def test_folder_has_free_bytes_and_a_url_has_none(tmp_path: Path) -> None:
    assert (Folder(tmp_path / "not" / "yet").free_bytes() or 0) > 0
    assert (blob_store_at("memory://x").free_bytes(), blob_store_at("memory://x").folder) == (None, None)


@pytest.mark.parametrize("where", ["", "a\0b", "nosuch://bucket/spool"])
def test_string_that_is_neither_folder_nor_url_is_refused(where: str) -> None:
    with pytest.raises(ParameterError, match=r"^spool: "):
        blob_store_at(where)


def test_a_url_without_fsspec_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(ParameterError, match=r"pip install 'dither\[spool\]'"):
        blob_store_at("s3://bucket/spool")
    assert blob_store_at("/a/folder") == Folder(Path("/a/folder"))
    assert blob_store_at("spool") == Folder(Path.cwd() / "spool")


def test_a_put_that_fails_or_is_cut_off_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blobs, folder = Folder(tmp_path), tmp_path / "segments"

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    folder.mkdir()
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", fail)
        with pytest.raises(SpoolError, match=r"segments/a cannot be written \(No space left on device\)"):
            blobs.put("segments", "a", b"content")
    assert list(folder.iterdir()) == []
    (folder / ".a.part").write_bytes(b"half of it, and longer")  # of a crash
    assert blobs.names("segments") == []
    blobs.put("segments", "a", b"content")
    assert [(path.name, path.read_bytes()) for path in folder.iterdir()] == [("a", b"content")]


def test_file_in_the_place_of_a_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "segments").write_text("")
    blobs = Folder(tmp_path)
    for attempt in (
        lambda: blobs.names("segments"),
        lambda: blobs.put("segments", "a", b""),
        lambda: blobs.open("segments", "a"),
        lambda: blobs.delete("segments", "a"),
    ):
        with pytest.raises(SpoolError, match="segments"):
            attempt()


def test_a_file_whose_size_cannot_be_asked_for_is_not_taken_for_an_empty_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = Folder(tmp_path)
    for name in "ab":
        blobs.put("segments", name, b"content")
    gone, there = sorted(os.scandir(tmp_path / "segments"), key=lambda one: one.name)
    blobs.delete("segments", "a")  # as a fold does, after the folder was listed
    monkeypatch.setattr("os.scandir", lambda _: [gone, there])
    assert blobs.bytes_of("segments") == 7

    def stale() -> None:
        raise OSError(errno.ESTALE, "Stale file handle")

    unknown = SimpleNamespace(name="b", is_dir=lambda: False, stat=stale)
    monkeypatch.setattr("os.scandir", lambda _: [unknown])
    with pytest.raises(SpoolError, match=r"segments cannot be listed \(Stale file handle\)"):
        blobs.bytes_of("segments")  # else too little room is kept for the fold


def test_object_that_did_not_arrive_whole_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    store = fsspec.filesystem("memory")
    monkeypatch.setattr(type(store), "pipe_file", lambda self, path, _: self.open(path, "wb").close())
    with pytest.raises(SpoolError, match="0 bytes of 3 arrived"):
        blob_store_at("memory://short").put("segments", "a", b"abc")


def test_no_password_of_a_url_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise PermissionError(13, "denied")

    monkeypatch.setattr(LocalFileSystem, "ls", fail)
    with pytest.raises(SpoolError) as raised:
        ObjectStore("local://key:secret@bucket/spool").names("segments")
    assert "secret" not in str(raised.value)
