"""A fold that is killed anywhere and begun again counts each batch once."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dither_server.ingest.folding.run import Folding, Report, Step
from dither_server.ingest.folding.workers import workers
from dither_server.store import Store, StoreError
from dither_server.store.counting.folds import Sums
from dither_server.store.errors import SpoolError
from dither_server.store.spool.places import Folder, Place, place_at
from dither_shared import ParameterError
from server.collecting import LAYOUT, THEME, rows_of, upload
from server.dask import cluster_of
from server.database import execute, url_of
from server.ingest.folding.spooling import ALL, FILLED, Delivery, assert_same, deliver, put, some
from server.postgresql import WHY_NOT, fresh, server

NOW = datetime(2026, 11, 21, 14, 5, 9, tzinfo=UTC)
PATIENCE = 20.0


class KilledError(Exception):
    """Stands for the end of the process."""


@pytest.fixture
def place(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "spool")


@pytest.fixture
def counts(tmp_path: Path) -> Iterator[Store]:
    with closing(opened(url_of(tmp_path))) as store:
        yield store


def opened(url: str) -> Store:
    store = Store(url, lock_wait=PATIENCE)
    store.register(ALL)
    return store


def folding(store: Store, place: Place, **changed: object) -> Folding:
    return Folding(store, place, **{"now": lambda: NOW, **changed})  # type: ignore[arg-type]  # a test names what differs


def at(step: Step, time: int) -> Callable[[Step], None]:
    """What is called after each step, and raises KilledError at the given time of one of them."""
    left = time

    def after(done: Step) -> None:
        nonlocal left
        left -= done is step
        if done is step and left == 0:
            raise KilledError

    return after


def folded(folding: Folding) -> list[Report]:
    return list(folding.fold(PATIENCE))


def emptied(place: Folder) -> bool:
    return place.names("segments") == place.names("runs") == []


def test_what_was_spooled_is_counted_once(counts: Store, place: Folder, tmp_path: Path) -> None:
    sent = some(300, 1)
    deliver(place, sent, 1)
    (report,) = folded(folding(counts, place))
    assert_same(counts, tmp_path, sent)
    rows = sum(len(one.upload.rows) // one.upload.metric.mechanism.row_bytes for one in sent)
    assert report.sums._replace(repeated=0) == Sums(batches=300, rows=rows)
    assert 50 < report.sums.repeated < 150
    assert (report.resumed, report.segments, report.begun) == (False, 3, NOW.replace(microsecond=0))
    assert emptied(place)
    assert counts.folds.up_to() == NOW
    deliver(place, sent[:100], 2)  # again, in a later run
    put(place, later := some(50, 3))
    (report,) = folded(folding(counts, place))
    assert_same(counts, tmp_path, sent + later)
    assert report.sums.batches == 50
    assert report.sums.repeated >= 100


def test_with_nothing_to_fold_it_is_known_how_far_runs_have_come(counts: Store, place: Folder) -> None:
    (report,) = folded(folding(counts, place))
    assert (report.segments, report.sums) == (0, Sums())
    assert counts.folds.up_to() == NOW
    assert not place.path.exists()


def test_the_first_content_of_an_id_counts_and_others_are_told(counts: Store, place: Folder, tmp_path: Path) -> None:
    one = Delivery(upload(THEME, b"\x00"))
    put(place, [one])
    put(place, [one._replace(upload=upload(THEME, b"\x01", one.upload.batch))])
    put(place, [Delivery(upload(THEME, b"\x09"))])  # there is no such symbol
    (report,) = folded(folding(counts, place))
    assert report.sums == Sums(batches=1, rows=1, conflicts=1, damaged=1)
    assert_same(counts, tmp_path, [one])


ENDS = [
    *((step, 1) for step in Step),
    *((step, 6) for step in (Step.FOLDED, Step.ADDED, Step.REMEMBERED)),
    *((step, len(FILLED)) for step in (Step.FOLDED, Step.ADDED, Step.REMEMBERED)),
    (Step.DELETED, 2),
]


@pytest.mark.parametrize(("step", "time"), ENDS, ids=lambda one: one.name if isinstance(one, Step) else str(one))
def test_killed_after_a_step_and_begun_again(
    counts: Store, place: Folder, tmp_path: Path, step: Step, time: int
) -> None:
    sent, later = some(200, 5), some(60, 6)
    deliver(place, sent, 5)
    with pytest.raises(KilledError):
        folded(folding(counts, place, after=at(step, time)))
    deliver(place, sent[:40] + later, 6)
    reports = folded(folding(counts, place))
    assert_same(counts, tmp_path, sent + later)
    assert emptied(place)
    is_left = step < Step.CLOSED
    assert [report.resumed for report in reports] == ([True, False] if is_left else [False])
    if is_left:  # what it did before it was killed is in its report, too
        assert reports[0].sums.batches == 200
    assert reports[-1].sums.batches == 60
    assert folded(folding(counts, place))[0].sums == Sums()


def test_killed_again_and_again(counts: Store, place: Folder, tmp_path: Path) -> None:
    """At every step in turn, at a bucket that moves on; collectors spool meanwhile."""
    sent: list[Delivery] = []
    turns = [(step, 1 + 5 * turn % 7) for turn in range(4) for step in list(Step)[2:5]] + [(step, 1) for step in Step]
    for seed, (step, time) in enumerate(turns):
        sent += (more := some(20, 100 + seed))
        deliver(place, more + sent[: seed % 7], seed)
        with pytest.raises(KilledError):
            folded(folding(counts, place, after=at(step, time)))
    folded(folding(counts, place))
    assert_same(counts, tmp_path, sent)
    assert emptied(place)


KILLED = """
import os, signal, sys
from dataclasses import replace
from dither_server.cli.main import cli
from dither_server.ingest.folding.run import Folding, Step

step, left = Step(int(sys.argv[1])), int(sys.argv[2])
fold = Folding.fold

def after(done):
    global left
    left -= done is step
    if done is step and left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

Folding.fold = lambda self, wait: fold(replace(self, after=after), wait)
if __name__ == "__main__":  # and not in a process that it starts
    cli(["fold", *sys.argv[3:]])
"""


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_the_command_is_killed_at_each_step(kind: str, place: Folder, tmp_path: Path) -> None:
    with server() as base:
        url = url_of(tmp_path)
        if kind == "postgresql":
            if base is None:
                pytest.skip(WHY_NOT)
            url = fresh(base)
        with closing(opened(url)) as store:
            sent: list[Delivery] = []
            for step in Step:
                sent += (more := some(30, 200 + step))
                deliver(place, more + sent[:step], step)
                time = 7 if step in {Step.FOLDED, Step.ADDED, Step.REMEMBERED} else 1
                arguments = ("-c", KILLED, str(int(step)), str(time), "--spool", str(place), "--db", url)
                killed = subprocess.run([sys.executable, *arguments], capture_output=True, check=False, cwd=tmp_path)
                assert killed.returncode == -signal.SIGKILL, (step, killed.stderr)
            folded(folding(store, place))
            assert_same(store, tmp_path, sent)
            assert emptied(place)
            assert folded(folding(store, place))[0].sums == Sums()


def test_processes_change_no_number(counts: Store, place: Folder, tmp_path: Path) -> None:
    sent = some(300, 9)
    deliver(place, sent, 9)
    with workers(2) as spread:
        (report,) = folded(folding(counts, place, spread=spread))
    assert report.sums.batches == 300
    assert_same(counts, tmp_path, sent)


def test_a_dask_cluster_changes_no_number(counts: Store, place: Folder, tmp_path: Path) -> None:
    sent = some(300, 10)
    deliver(place, sent, 10)
    with cluster_of(2) as cluster, workers(scheduler=cluster.scheduler_address) as spread:
        (report,) = folded(folding(counts, place, spread=spread))
    assert report.sums.batches == 300
    assert_same(counts, tmp_path, sent)


def test_an_object_store(counts: Store, tmp_path: Path) -> None:
    store = place_at(f"memory://{tmp_path.name}")
    sent = some(100, 16)
    deliver(store, sent, 16)
    for step in Step:
        with pytest.raises(KilledError):
            folded(folding(counts, store, after=at(step, 1)))
    deliver(store, sent[:50], 17)
    (report,) = folded(folding(counts, store))
    assert report.sums == Sums(repeated=report.sums.repeated)
    assert_same(counts, tmp_path, sent)


def test_what_is_no_segment_is_left_alone(counts: Store, place: Folder) -> None:
    put(place, [Delivery(upload(THEME))])
    place.put("segments", "README", b"not ours")
    assert folded(folding(counts, place))[0].segments == 1
    assert place.names("segments") == ["README"]


def test_two_at_once_are_one_after_the_other(counts: Store, place: Folder, tmp_path: Path) -> None:
    sent = some(100, 11)
    deliver(place, sent, 11)
    inside, reports = threading.Event(), []

    def second() -> None:
        inside.wait(PATIENCE)
        with closing(opened(url_of(tmp_path))) as own:
            reports.extend(folded(folding(own, place)))

    thread = threading.Thread(target=second)
    thread.start()

    def hold(step: Step) -> None:
        if step is Step.ADDED and not inside.is_set():
            own = stack.enter_context(closing(opened(url_of(tmp_path))))
            with pytest.raises(StoreError, match="another fold is under way"):
                list(folding(own, place).fold(0.01))
            inside.set()

    with ExitStack() as stack:
        (report,) = folded(folding(counts, place, after=hold))
    thread.join()
    assert [report.sums.batches, *(one.sums.batches for one in reports)] == [100, 0]
    assert_same(counts, tmp_path, sent)


def test_one_that_has_lost_its_lock_counts_nothing_twice(counts: Store, place: Folder, tmp_path: Path) -> None:
    """Another goes on with the run meanwhile, ends it, and folds what came after it."""
    sent, later = some(100, 12), some(50, 13)
    deliver(place, sent, 12)

    def overtaken(step: Step) -> None:
        if step is Step.FOLDED and place.names("runs"):
            (tmp_path / "dither.db.fold.lock").unlink()  # who opens it now gets another
            deliver(place, later + sent[:20], 13)
            with closing(opened(url_of(tmp_path))) as own:
                assert [one.resumed for one in folded(folding(own, place))] == [True, False]

    with pytest.raises(SpoolError, match="is gone"):
        folded(folding(counts, place, after=overtaken))
    folded(folding(counts, place))
    assert_same(counts, tmp_path, sent + later)


def test_a_plan_changes_nothing(counts: Store, place: Folder, tmp_path: Path) -> None:
    sent = some(100, 14)
    deliver(place, sent, 14)

    def state() -> list[object]:
        files = {path: path.read_bytes() for path in place.path.rglob("*") if path.is_file()}
        return [files, *(execute(url_of(tmp_path), f"SELECT * FROM {table}")  # noqa: S608
                         for table in ("tallies", "folds", "fold_runs"))]  # fmt: skip

    before = state()
    report = folding(counts, place).plan()
    assert (report.sums.batches, report.segments) == (100, 3)
    assert state() == before
    with pytest.raises(KilledError):
        folded(folding(counts, place, after=at(Step.REMEMBERED, 6)))
    deliver(place, (later := some(30, 15)) + sent[:30], 15)
    before = state()
    report = folding(counts, place).plan()
    assert state() == before
    done = execute(url_of(tmp_path), "SELECT sum(batches) FROM folds")[0][0]
    assert report.sums.batches == 130 - done
    assert len(later) == 30


def test_ids_and_notes_of_old_days_are_forgotten(counts: Store, place: Folder, tmp_path: Path) -> None:
    for ago in (60, 50, 3, 0):
        when = NOW - timedelta(days=ago)
        put(place, [Delivery(upload(THEME, b"\x00"), when.date())])
        folded(folding(counts, place, now=lambda when=when: when))
    days = sorted(file.name[:5] for folder in (place.path / "ids").iterdir() for file in folder.iterdir())
    assert len(days) == 2
    assert len(execute(url_of(tmp_path), "SELECT * FROM fold_runs")) == 2
    assert execute(url_of(tmp_path), "SELECT * FROM folds") == []


def test_a_version_that_the_database_does_not_know_stops_it_before_anything_is_done(
    place: Folder, tmp_path: Path
) -> None:
    put(place, [Delivery(upload(LAYOUT))])
    with closing(Store(f"sqlite:///{tmp_path}/other.db")) as other:
        other.register([THEME])
        with pytest.raises(SpoolError, match=f"reports of version {LAYOUT.version}, which this database does not know"):
            folded(folding(other, place))
        assert (len(place.names("segments")), place.names("runs")) == (1, [])
        other.register([LAYOUT])
        assert folded(folding(other, place))[0].sums.batches == 1


def test_a_definition_that_this_program_cannot_read_stops_it(counts: Store, place: Folder, tmp_path: Path) -> None:
    put(place, [Delivery(upload(THEME))])
    execute(url_of(tmp_path), "UPDATE metrics SET definition = '{}'")
    with pytest.raises(ParameterError, match="its registered definition cannot be read"):
        folded(folding(counts, place))
    assert (len(place.names("segments")), place.names("runs")) == (1, [])


def test_a_damaged_segment_stops_it_and_is_named(counts: Store, place: Folder) -> None:
    name = put(place, [Delivery(upload(THEME, rows_of(THEME, 9), b"\x07" * 16))])
    path = place.path / "segments" / name
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    for _ in range(2):
        with pytest.raises(SpoolError, match=f"{name} is damaged in bucket"):
            folded(folding(counts, place))
    path.write_bytes(whole)
    assert [report.sums.rows for report in folded(folding(counts, place))] == [9, 0]


def test_a_segment_that_is_gone_before_it_is_counted_is_told(counts: Store, place: Folder) -> None:
    name = put(place, [Delivery(upload(THEME))])
    with pytest.raises(KilledError):
        folded(folding(counts, place, after=at(Step.ADDED, 1)))
    place.delete("segments", name)
    with pytest.raises(SpoolError, match=f"{name} is gone, and not all of it was counted"):
        folded(folding(counts, place))


MANIFEST = {"format": 1, "begun": NOW.isoformat(), "segments": []}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"{", "cannot be read"),
        (b"[]", "cannot be read"),
        (json.dumps(MANIFEST | {"format": 2}).encode(), "format 2, this program knows 1"),
        (json.dumps(MANIFEST | {"segments": ["../../dither.db"]}).encode(), "what is no segment"),
        (json.dumps(MANIFEST | {"begun": "2026-08-01T00:00:00+00:00"}).encode(), "knows it no more"),
        (json.dumps(MANIFEST | {"begun": "2026-11-21T14:05:09"}).encode(), "says no time zone"),
        (json.dumps(MANIFEST | {"begun": "9999-12-31T23:59:59-14:00"}).encode(), "cannot be read"),
        (b"[" * 100_000, "cannot be read"),
    ],
)
def test_a_manifest_that_cannot_be(counts: Store, place: Folder, content: bytes, why: str) -> None:
    place.put("runs", "a" * 32 + ".json", content)
    with pytest.raises(SpoolError, match=why):
        folded(folding(counts, place))
