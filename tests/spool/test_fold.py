"""A fold counts each batch of the spool once."""

from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from dither_server.store import Refusal, Store, StoreError
from dither_server.store.folds import FoldSums
from dither_shared import ParameterError
from dither_spool.blobs import Folder, SpoolError, blob_store_at
from dither_spool.fold import FoldStep
from dither_spool.records import BUCKETS
from server.collecting import LAYOUT, THEME, TODAY, upload
from server.database import execute, url_of
from spool.spooling import (
    NOW,
    Delivery,
    KilledError,
    assert_same,
    at,
    deliver,
    emptied,
    folded,
    folding,
    opened,
    put,
    some,
)


def test_every_spooled_batch_is_counted_once(counts: Store, blobs: Folder, tmp_path: Path) -> None:
    sent = some(300, 1)
    deliver(blobs, sent, 1)
    (report,) = folded(folding(counts, blobs))
    assert_same(counts, tmp_path, sent)
    rows = sum(len(delivery.upload.rows) // delivery.upload.metric.mechanism.row_bytes for delivery in sent)
    assert report.sums._replace(repeated=0) == FoldSums(batches=300, rows=rows)
    assert 50 < report.sums.repeated < 150
    assert (report.resumed, report.segments, report.begun) == (False, 3, NOW.replace(microsecond=0))
    assert emptied(blobs)
    assert counts.folds.up_to() == NOW
    deliver(blobs, sent[:100], 2)  # again, in a later run
    put(blobs, later := some(50, 3))
    (report,) = folded(folding(counts, blobs))
    assert_same(counts, tmp_path, sent + later)
    assert report.sums.batches == 50
    assert report.sums.repeated >= 100


def test_empty_run_still_records_when_it_began(counts: Store, blobs: Folder) -> None:
    (report,) = folded(folding(counts, blobs))
    assert (report.segments, report.sums) == (0, FoldSums())
    assert counts.folds.up_to() == NOW
    assert not blobs.folder.exists()


def test_first_content_of_an_id_counts_and_others_are_refusals(counts: Store, blobs: Folder, tmp_path: Path) -> None:
    one = Delivery(upload(THEME, b"\x00"))
    put(blobs, [one])
    put(blobs, [one._replace(upload=upload(THEME, b"\x01", one.upload.batch))])
    put(blobs, [Delivery(upload(THEME, b"\x09"))])  # there is no such symbol
    steps: list[int] = []
    (report,) = folded(folding(counts, blobs, progress=steps.append))
    assert (min(steps) > 0, sum(steps)) == (True, BUCKETS)
    assert report.sums == FoldSums(batches=1, rows=1, conflicts=1, damaged=1)
    assert_same(counts, tmp_path, [one])
    assert counts.refusals.read() == {Refusal("theme", TODAY, "batch-conflict", THEME.version): 1}


def test_fold_of_an_object_store_survives_a_kill_at_each_step(counts: Store, tmp_path: Path) -> None:
    store = blob_store_at(f"memory://{tmp_path.name}")
    sent = some(100, 16)
    deliver(store, sent, 16)
    for step in FoldStep:
        with pytest.raises(KilledError):
            folded(folding(counts, store, after=at(step, 1)))
    deliver(store, sent[:50], 17)
    (report,) = folded(folding(counts, store))
    assert report.sums == FoldSums(repeated=report.sums.repeated)
    assert_same(counts, tmp_path, sent)


def test_files_that_are_no_segments_are_left_alone(counts: Store, blobs: Folder) -> None:
    put(blobs, [Delivery(upload(THEME))])
    blobs.put("segments", "README", b"not ours")
    assert folded(folding(counts, blobs))[0].segments == 1
    assert blobs.names("segments") == ["README"]


def test_a_second_fold_is_refused_until_the_first_has_ended(counts: Store, blobs: Folder, tmp_path: Path) -> None:
    sent = some(100, 11)
    deliver(blobs, sent, 11)
    refused: set[FoldStep] = set()

    def try_another(step: FoldStep) -> None:
        if step in refused:
            return
        with closing(opened(url_of(tmp_path))) as store, pytest.raises(StoreError, match="another fold is under way"):
            list(folding(store, blobs).fold(0.01))
        refused.add(step)

    (report,) = folded(folding(counts, blobs, after=try_another))
    assert {FoldStep.LISTED, FoldStep.ADDED, FoldStep.DELETED} <= refused
    (again,) = folded(folding(counts, blobs))
    assert (report.sums.batches, again.sums.batches) == (100, 0)
    assert_same(counts, tmp_path, sent)


def test_fold_that_lost_its_lock_counts_nothing_twice(counts: Store, blobs: Folder, tmp_path: Path) -> None:
    """Another fold resumes the run, ends it, and folds what was spooled later."""
    sent, later = some(100, 12), some(50, 13)
    deliver(blobs, sent, 12)

    def overtaken(step: FoldStep) -> None:
        if step is FoldStep.FOLDED and blobs.names("runs"):
            (tmp_path / "dither.db.fold.lock").unlink()  # who opens it now gets another
            deliver(blobs, later + sent[:20], 13)
            with closing(opened(url_of(tmp_path))) as store:
                assert [report.resumed for report in folded(folding(store, blobs))] == [True, False]

    with pytest.raises(SpoolError, match=r"is gone, .*; unless another fold runs, restore it"):
        folded(folding(counts, blobs, after=overtaken))
    folded(folding(counts, blobs))
    assert_same(counts, tmp_path, sent + later)


def test_plan_of_a_fold_changes_neither_spool_nor_database(counts: Store, blobs: Folder, tmp_path: Path) -> None:
    sent = some(100, 14)
    deliver(blobs, sent, 14)

    def state() -> list[object]:
        files = {path: path.read_bytes() for path in blobs.folder.rglob("*") if path.is_file()}
        return [files, *(execute(url_of(tmp_path), f"SELECT * FROM {table}")  # noqa: S608
                         for table in ("tallies", "folds", "fold_runs"))]  # fmt: skip

    with pytest.raises(KilledError):
        folded(folding(counts, blobs, after=at(FoldStep.REMEMBERED, 6)))
    deliver(blobs, some(30, 15) + sent[:30], 15)
    before = state()
    report = folding(counts, blobs).plan()
    assert state() == before
    done = execute(url_of(tmp_path), "SELECT sum(batches) FROM folds")[0][0]
    assert report.sums.batches == 130 - done


class Listed(Folder):
    """A folder that records which kinds of files were listed."""

    def names(self, kind: str) -> list[str]:
        LISTED.append(kind)
        return super().names(kind)


LISTED: list[str] = []


def test_a_run_that_finds_nothing_lists_ids_once_a_day(counts: Store, blobs: Folder) -> None:
    folder = Listed(blobs.folder)
    for hours, sent, lists in ((0, True, BUCKETS), (9, False, 0), (9, True, BUCKETS), (10, False, BUCKETS)):
        later = timedelta(hours=hours)
        if sent:
            put(blobs, [Delivery(upload(THEME))])
        LISTED.clear()
        (report,) = folded(folding(counts, folder, now=lambda later=later: NOW + later))
        assert report.begun == counts.folds.up_to() == NOW + later
        assert len({kind for kind in LISTED if kind.startswith("ids")}) == lists
        assert lists or sorted(LISTED) == ["runs", "segments"]


def test_ids_and_notes_of_old_days_are_forgotten(counts: Store, blobs: Folder, tmp_path: Path) -> None:
    for ago in (60, 50, 43, 36, 29, 22, 15, 8, 3, 0):
        when = NOW - timedelta(days=ago)
        put(blobs, [Delivery(upload(THEME, b"\x00"), when.date())])
        folded(folding(counts, blobs, now=lambda when=when: when))
    days = sorted(file.name[:5] for folder in (blobs.folder / "ids").iterdir() for file in folder.iterdir())
    assert len(days) == 8
    assert len(execute(url_of(tmp_path), "SELECT * FROM fold_runs")) == 8
    assert execute(url_of(tmp_path), "SELECT * FROM folds") == []
    for later in range(7, 50, 7):  # no report comes any more
        folded(folding(counts, blobs, now=lambda later=later: NOW + timedelta(days=later)))
        left = [file for folder in (blobs.folder / "ids").iterdir() for file in folder.iterdir()]
        assert bool(left) == (later <= 45)


def test_ids_of_a_collector_whose_clock_is_behind_are_kept_for_as_long(counts: Store, blobs: Folder) -> None:
    """They are as old as the fold that counted them, not as the day on which the collector believes that they came."""
    late = [Delivery(upload(THEME, b"\x00"), (NOW - timedelta(days=60)).date())]
    for days in (*range(-56, 0, 7), 0, 1):
        when = NOW + timedelta(days=days)
        put(blobs, late if days >= 0 else [Delivery(upload(THEME, b"\x00"), when.date())])
        folded(folding(counts, blobs, now=lambda when=when: when))
    assert counts.tally(THEME).total == 8 + 1


def test_unknown_version_stops_the_fold_before_it_begins(blobs: Folder, tmp_path: Path) -> None:
    put(blobs, [Delivery(upload(LAYOUT))])
    with closing(Store(f"sqlite:///{tmp_path}/other.db")) as other:
        other.register([THEME])
        with pytest.raises(SpoolError, match=f"reports of version {LAYOUT.version}, which this database does not know"):
            folded(folding(other, blobs))
        assert (len(blobs.names("segments")), blobs.names("runs")) == (1, [])
        other.register([LAYOUT])
        assert folded(folding(other, blobs))[0].sums.batches == 1


def test_unreadable_definition_stops_the_fold_before_it_begins(counts: Store, blobs: Folder, tmp_path: Path) -> None:
    put(blobs, [Delivery(upload(THEME))])
    execute(url_of(tmp_path), "UPDATE metrics SET definition = '{}'")
    with pytest.raises(ParameterError, match="its registered definition cannot be read"):
        folded(folding(counts, blobs))
    assert (len(blobs.names("segments")), blobs.names("runs")) == (1, [])
