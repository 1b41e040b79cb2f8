"""Which database owns a spool, where its files are, and how full it is."""

import os
from contextlib import closing
from pathlib import Path

import pytest

from dither_server.store import Store, UnmadeError
from dither_shared import ParameterError
from dither_spool.blobs import BlobStore, Folder, SpoolError, blob_store_at
from dither_spool.journal import SpoolJournal
from dither_spool.layout import SpoolLayout, claim, require_owner
from server.collecting import TODAY, upload
from server.database import url_of

OURS, OTHER = "0" * 32, "f" * 32


@pytest.fixture(params=["folder", "memory"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> BlobStore:
    return Folder(tmp_path / "spool") if request.param == "folder" else blob_store_at(f"memory://{tmp_path.name}/spool")


def test_blob_store_becomes_a_spool_when_a_database_claims_it(blobs: BlobStore) -> None:
    blobs.put("segments", "x", b"of somebody")
    with pytest.raises(UnmadeError, match=r"^spool: .*spool is not a spool: a collector creates it"):
        require_owner(blobs, OURS)
    for _ in range(2):
        claim(blobs, OURS)
    require_owner(blobs, OURS)


def test_a_spool_of_another_database_names_both(blobs: BlobStore) -> None:
    claim(blobs, OTHER)
    for attempt in (claim, require_owner):
        with pytest.raises(ParameterError, match=f"belongs to the database {OTHER}, and db is {OURS}"):
            attempt(blobs, OURS)
    require_owner(blobs, OTHER)


def test_two_databases_that_claim_a_spool_at_once_are_both_refused(tmp_path: Path) -> None:
    class Late(Folder):
        def put(self, kind: str, name: str, content: bytes) -> None:
            for each in (OTHER, name):
                super().put(kind, each, content)

    with pytest.raises(ParameterError, match=OTHER):
        claim(Late(tmp_path), OURS)


@pytest.mark.parametrize("was_written", [True, False])
def test_two_collectors_of_one_database_may_claim_a_spool_at_once(tmp_path: Path, was_written: bool) -> None:
    """Both write the same temporary file, so one of them may find it gone."""

    class Raced(Folder):
        def put(self, kind: str, name: str, content: bytes) -> None:
            if was_written:
                super().put(kind, name, content)
            raise SpoolError("spool: cannot be written")

    if was_written:
        claim(Raced(tmp_path), OURS)
        require_owner(Raced(tmp_path), OURS)
    else:
        with pytest.raises(SpoolError, match="cannot be written"):
            claim(Raced(tmp_path), OURS)


def test_database_keeps_its_unique_identity(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    names = []
    for folder in (tmp_path, tmp_path, tmp_path / "other"):
        with closing(Store(url_of(folder))) as store:
            names.append(store.identity())
    assert names[0] == names[1] != names[2]
    assert {len(bytes.fromhex(name)) for name in names} == {16}


def test_journals_are_in_the_folder_of_the_spool_or_in_the_one_that_is_set(tmp_path: Path) -> None:
    assert SpoolLayout.at(str(tmp_path)).journals == tmp_path / "open"
    assert SpoolLayout.at("ftp://bucket", str(tmp_path)).journals == tmp_path


def test_backlog_counts_journals_segments_and_damage(tmp_path: Path) -> None:
    layout = SpoolLayout.at(str(tmp_path / "spool"))
    assert layout.backlog()[:3] == (0, 0, 0)  # nobody has begun
    layout.make()
    journals = [SpoolJournal.create(layout.journals) for _ in range(3)]
    for journal in journals:
        journal.append([upload()], TODAY)
    size = journals[0].size
    journals[0].seal(layout.blobs)
    journals[1].path.rename(journals[1].path.with_suffix(".damaged"))
    layout.blobs.put("damaged", "f" * 32 + ".damaged", b"what was a segment")
    backlog = layout.backlog()
    assert backlog[:3] == (size, 1, 2)
    assert backlog.free > 0
    ids = 512 * 4096  # a page in each of two files of ids for each bucket
    assert layout.needed() == layout.blobs.bytes_of("segments") + size + ids
    elsewhere = SpoolLayout(blob_store_at(f"memory://{tmp_path.name}"), layout.journals)
    assert elsewhere.needed() == 0, "an object store has room for a fold"


def test_backlog_survives_a_journal_closed_during_the_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = SpoolLayout.at(str(tmp_path))
    layout.make()
    journals = [SpoolJournal.create(layout.journals) for _ in range(3)]
    for journal in journals:
        journal.append([upload()], TODAY)
    listed = sorted(os.scandir(layout.journals), key=lambda one: one.name != journals[0].path.name)
    journals[0].path.unlink()
    scan = os.scandir
    monkeypatch.setattr("os.scandir", lambda path: listed if path == layout.journals else scan(path))
    assert layout.backlog().open_bytes == 2 * journals[0].size


def test_missing_folder_of_journals_is_an_error(tmp_path: Path) -> None:
    layout = SpoolLayout.at(str(tmp_path))
    with pytest.raises(SpoolError, match="open cannot be written"):
        layout.try_to_write()
    layout.make()
    layout.try_to_write()
    assert list(layout.journals.iterdir()) == []
