"""Each batch counts once within the horizon, however many processes, restarts, failures and jumps of the clock."""

import random
import sqlite3
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from dither.reporting.outbox import MAX_DAYS
from dither_server.store import Store, Upload, batch_ids
from dither_server.store.batch_ids import LEAST
from server.collecting import COUNTED, METRICS, THEME, TODAY, upload
from server.database import execute, listening, url_of

SHARD = b"s" * 16
HORIZON = 45


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a fresh database, of PostgreSQL where a test is run on both."""
    monkeypatch.setattr(batch_ids, "_SLICES", 4)  # so that ids below 04 and above stand in several
    if getattr(request, "param", "sqlite") == "sqlite":
        return url_of(tmp_path)
    found: str = request.getfixturevalue("postgresql_url")  # which starts a server, or skips
    return found


on_both = pytest.mark.parametrize("url", ["sqlite", "postgresql"], indirect=True)


def opened(url: str) -> Store:
    store = Store(url)
    store.register(METRICS.values())
    return store


def some(count: int) -> list[Upload]:
    """Uploads of one report each, whose ids begin with small bytes."""
    return [upload(rows=b"\x00", name=bytes([number % 5]) + random.randbytes(15)) for number in range(count)]


def kept(url: str) -> int:
    ((count,),) = execute(url, "SELECT count(*) FROM batches")
    return int(count)


def forget(store: Store, before: date) -> None:
    while store.forget(before):
        pass


@on_both
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 4))])
def test_each_batch_counts_once_whatever_happens(url: str, seed: int) -> None:
    """Two processes, days that pass or come again, retries of any age, failures, restarts and deletions in between."""
    chance = random.Random(seed)
    stores = [opened(url) for _ in range(2)]
    sent: dict[bytes, date] = {}
    today, counted = TODAY, 0
    for _ in range(150):
        step = chance.random()
        if step < 0.2:
            today += timedelta(days=chance.choice([1, 1, 1, 2, 9]))
        elif step < 0.25:
            today -= timedelta(days=chance.choice([1, 3]))
        elif step < 0.3:
            place = chance.randrange(2)
            stores[place].close()
            stores[place] = Store(url)
        elif step < 0.45:
            chance.choice(stores).forget(today - timedelta(days=HORIZON))
        fresh = some(chance.randrange(5))
        recent = [name for name, day in sent.items() if abs((today - day).days) < HORIZON - 12]
        again = [upload(rows=b"\x00", name=name) for name in chance.sample(recent, min(len(recent), 6))]
        stolen = [upload(rows=b"\x00" * 2, name=one.batch) for one in again[:1]]
        store = chance.choice(stores)
        if fresh and step > 0.95:
            _fail(store, fresh + again, today)
        assert store.commit(fresh + again + stolen, today, SHARD) == [COUNTED] * len(fresh + again + stolen)
        counted += len(fresh)
        sent |= dict.fromkeys((one.batch for one in fresh), today)
        assert chance.choice(stores).tally(THEME).total == counted
    for store in stores:
        store.close()


def _fail(store: Store, group: list[Upload], today: date) -> None:
    """Let a commit fail after all its statements."""

    def fail(_: object) -> None:
        raise MemoryError

    with listening("commit", fail), pytest.raises(MemoryError):
        store.commit(group, today, SHARD)


@on_both
def test_ids_are_deleted_by_day_and_counts_stay(url: str) -> None:
    with closing(opened(url)) as store:
        sent = {}
        for ago in range(43, 39 - LEAST, -1):
            sent[ago] = some(20)
            store.commit(sent[ago], TODAY - timedelta(days=ago), SHARD)
        forget(store, TODAY - timedelta(days=40))
        assert kept(url) == 20 * (len(sent) - 3)
        assert execute(url, "SELECT count(*) FROM batch_days") == [(len(sent) - 3,)]
        assert store.commit(sent[40] + sent[39], TODAY, SHARD) == [COUNTED] * 40
        assert store.tally(THEME).total == 20 * len(sent)
        assert store.commit(sent[41], TODAY, SHARD) == [COUNTED] * 20
        assert store.tally(THEME).total == 20 * len(sent) + 20  # deleted: it counts again


def test_ids_are_kept_while_devices_retry_and_deleted_slice_by_slice(url: str) -> None:
    """30 later days must have ids; each step then searches the ids of one slice, of which there is one a first byte."""
    assert LEAST == MAX_DAYS == 30
    ids = [bytes([first, place]) * 8 for place, first in enumerate((0, 1, 2, 3, 3, 4, 255))]
    with closing(opened(url)) as store:
        store.commit([upload(rows=b"\x00", name=name) for name in ids], TODAY, SHARD)
        for day in range(1, LEAST + 1):
            assert store.forget(TODAY + timedelta(days=100)) is False
            store.commit(some(1), TODAY + timedelta(days=day), SHARD)
        left = []
        for more in (True, True, True, False):
            assert store.forget(TODAY + timedelta(days=100)) is more
            left.append(kept(url) - LEAST)
    assert left == [6, 5, 4, 0]


@pytest.mark.parametrize("slices", [0, 1])
def test_deletion_that_fails_after_some_slices_begins_again(url: str, slices: int) -> None:
    with closing(opened(url)) as store:
        for day in range(LEAST + 1):
            store.commit(some(10), TODAY + timedelta(days=day), SHARD)

        def fail(_: object) -> None:
            raise MemoryError

        later = TODAY + timedelta(days=HORIZON)
        for _ in range(slices):
            assert store.forget(later) is True
        with listening("commit", fail), pytest.raises(MemoryError):
            store.forget(later)
        forget(store, later)
        assert kept(url) == 10 * LEAST


def test_day_that_grows_old_during_a_deletion_is_deleted_whole_by_the_next(url: str) -> None:
    with closing(opened(url)) as store:
        for day in range(LEAST + 1):
            store.commit(some(10), TODAY + timedelta(days=day), SHARD)
        later = TODAY + timedelta(days=HORIZON)
        assert store.forget(TODAY) is False  # nothing is old, so no slice is searched
        assert store.forget(later) is True
        store.commit(some(10), TODAY + timedelta(days=LEAST + 1), SHARD)
        forget(store, later)
        assert kept(url) == 10 * (LEAST + 1)
        forget(store, later)
        assert kept(url) == 10 * LEAST


def test_day_that_comes_again_while_it_is_deleted_keeps_its_new_ids(url: str) -> None:
    with closing(opened(url)) as store:
        for day in range(LEAST + 1):
            store.commit(some(10), TODAY + timedelta(days=day), SHARD)
        assert store.forget(TODAY + timedelta(days=HORIZON)) is True
        store.commit(late := some(10), TODAY, SHARD)
        forget(store, TODAY + timedelta(days=HORIZON))
        assert store.commit(late, TODAY, SHARD) == [COUNTED] * 10
        assert store.tally(THEME).total == 10 * (LEAST + 2)


_CLOCKS = {
    "right": [0] * 50,
    "a day back": [0] * 5 + [-46] + [0] * 10,
    "days back": [0] * 5 + [-60] * 3 + [0] * 10,
    "years back at first": [-3650] * 3 + [0] * 10,
    "days ahead": [0] * 5 + [46] * 2 + [0] * 10,
    "20 days ahead": [0] * 30 + [20] + [0] * 5,
    "years ahead, then days": [0] * 5 + [3650] + [0] * 3 + [46] + [0] * 5,
    "back and forth": [0, -46, 0, 46, 0, -3650, 0, 3650, 0, 0, -46, 46, *[0] * 5],
    "two machines": [0, 5] * 8,
}
"""By how many days a clock is wrong, day by day."""


@pytest.mark.parametrize(
    ("url", "clocks"), [("sqlite", _CLOCKS), ("postgresql", ("back and forth", "two machines"))], indirect=["url"]
)
def test_no_batch_counts_twice_under_any_clock_while_devices_retry(url: str, clocks: tuple[str, ...]) -> None:
    """Three batches are sent each day, and are sent again on each of the 30 days that follow."""
    with closing(opened(url)) as store:
        for clock in clocks:
            for table in ("batches", "batch_days", "tallies"):
                execute(url, f"DELETE FROM {table}")  # noqa: S608
            sent: list[list[Upload]] = []
            for number, wrong in enumerate(_CLOCKS[clock]):
                sent.append(some(3))
                today = TODAY + timedelta(days=number + wrong)
                store.commit([batch for part in sent[-31:] for batch in part], today, SHARD)
                forget(store, today - timedelta(days=HORIZON))
            assert store.tally(THEME).total == 3 * len(sent), clock
            assert kept(url) <= 3 * (HORIZON + 1), clock


def test_machines_that_pass_midnight_one_by_one_open_each_day_once(url: str) -> None:
    """A clock that is a day behind adds to the current day; one that is further off opens a day of its own."""
    with closing(opened(url)) as one, closing(opened(url)) as other:
        sent = some(20)
        for number, batch in enumerate(sent):
            for store in (one, other) if number % 2 else (other, one):
                day = TODAY if store is one else TODAY + timedelta(days=1)
                assert store.commit([batch], day, SHARD) == [COUNTED]
        assert (one.tally(THEME).total, kept(url)) == (20, 20)
        days = execute(url, "SELECT day, opened FROM batch_days ORDER BY opened")
        assert [turn for _, turn in days][-1] <= 2
        one.commit(some(1), TODAY - timedelta(days=1), SHARD)
        assert execute(url, "SELECT day FROM batch_days ORDER BY opened DESC LIMIT 1") == [("2026-11-19",)]


def test_no_statement_of_a_commit_scans_the_table_of_ids(url: str, tmp_path: Path) -> None:
    """SQLite's planner is asked about each one: a scan of ten million ids would go unnoticed among a hundred."""
    with closing(opened(url)) as store:
        for day in range(LEAST + 5):
            store.commit(some(3), TODAY + timedelta(days=day), SHARD)
        seen: list[tuple[str, Any]] = []

        def note(_c: object, _k: object, statement: str, parameters: Any, _x: object, many: bool) -> None:
            seen.append((statement, parameters[0] if many else parameters))

        with listening("before_cursor_execute", note):
            store.commit(some(200), TODAY + timedelta(days=LEAST + 5), SHARD)
            store.forget(TODAY + timedelta(days=3))
        looked = [
            statement for statement in seen if statement[0].lstrip().startswith(("WITH", "SELECT", "DELETE", "INSERT"))
        ]
        assert {"SELECT", "DELETE", "INSERT"} <= {
            statement[0].split()[0] for statement in looked if "batches" in statement[0]
        }
        with closing(sqlite3.connect(tmp_path / "dither.db")) as connection:
            for statement, parameters in looked:
                plan = connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
                assert not [step for *_, step in plan if step.startswith("SCAN batches")], statement


def test_few_ids_are_counted_and_many_estimated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [bytes([number % 256, number // 256]) * 8 for number in range(256 * 4)]
    with closing(opened(url_of(tmp_path))) as store:
        assert store.condition().ids == 0
        store.commit([upload(rows=b"\x00", name=name) for name in ids[:-1]], TODAY, SHARD)
        assert store.condition().ids == 256 * 4 - 1
        monkeypatch.setattr(batch_ids, "_FEW", 4)
        assert store.condition().ids == 256 * 4
