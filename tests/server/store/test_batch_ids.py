"""Each batch counts once within the horizon, however many processes, restarts, failures and jumps of the clock."""

import random
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from dither.reporting.outbox import MAX_DAYS
from dither_server.store import Store, Upload, batch_ids
from dither_server.store.batch_ids import LEAST
from dither_server.store.removal import Housekeeper
from dither_server.tally.retention import Retention
from server.collecting import COUNTED, METRICS, SHARD, THEME, TODAY, ago, upload
from server.database import execute, listening, on_both, url_of

HORIZON = 45


def opened(url: str) -> Store:
    store = Store(url)
    store.register(METRICS.values())
    return store


@pytest.fixture
def four_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search the ids in four slices: those that begin with 03 to 255 stand in one."""
    monkeypatch.setattr(batch_ids, "_SLICES", 4)


@pytest.fixture
def store(url: str, four_slices: None) -> Iterator[Store]:
    with closing(opened(url)) as store:
        yield store


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
@pytest.mark.usefixtures("four_slices")
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
            with failing(), pytest.raises(MemoryError):
                store.commit(fresh + again, today, SHARD)
        assert store.commit(fresh + again + stolen, today, SHARD) == [COUNTED] * len(fresh + again + stolen)
        counted += len(fresh)
        sent |= dict.fromkeys((one.batch for one in fresh), today)
        assert chance.choice(stores).tally(THEME).total == counted
    for store in stores:
        store.close()


def failing() -> AbstractContextManager[None]:
    """Within the block let every commit fail after all its statements."""

    def fail(_: object) -> None:
        raise MemoryError

    return listening("commit", fail)


def fill(store: Store, count: int = 10) -> None:
    """Let ids come on a day and on as many later days as must exist before it is deleted."""
    for day in range(LEAST + 1):
        store.commit(some(count), TODAY + timedelta(days=day), SHARD)


LATER = TODAY + timedelta(days=HORIZON)
"""A day by which all that ``fill`` brings looks old."""


@on_both
def test_ids_are_deleted_by_day_and_counts_stay(url: str, store: Store) -> None:
    sent = {}
    for back in range(43, 39 - LEAST, -1):
        sent[back] = some(20)
        store.commit(sent[back], ago(back), SHARD)
    forget(store, ago(40))
    assert kept(url) == 20 * (len(sent) - 3)
    assert execute(url, "SELECT count(*) FROM batch_days") == [(len(sent) - 3,)]
    assert store.commit(sent[40] + sent[39], TODAY, SHARD) == [COUNTED] * 40
    assert store.tally(THEME).total == 20 * len(sent)
    assert store.commit(sent[41], TODAY, SHARD) == [COUNTED] * 20
    assert store.tally(THEME).total == 20 * len(sent) + 20  # deleted: it counts again


def test_ids_are_kept_while_devices_retry_and_deleted_slice_by_slice(url: str, store: Store) -> None:
    """37 later days must be known; each step then searches the ids of one slice, of which there is one a first byte."""
    assert LEAST == MAX_DAYS + 7 == 37
    ids = [bytes([first, place]) * 8 for place, first in enumerate((0, 1, 2, 3, 3, 4, 255))]
    store.commit([upload(rows=b"\x00", name=name) for name in ids], TODAY, SHARD)
    for day in range(1, LEAST + 1):
        assert store.forget(LATER) is False
        store.commit(some(1), TODAY + timedelta(days=day), SHARD)
    left = []
    for more in (True, True, True, False):
        assert store.forget(LATER) is more
        left.append(kept(url) - LEAST)
    assert left == [6, 5, 4, 0]


def test_the_last_ids_are_deleted_after_the_horizon_and_outlast_hours_of_a_clock_ahead(url: str, store: Store) -> None:
    """No later report comes. Within the days of retries the clock is months ahead three times."""
    store.commit(some(5), TODAY, SHARD)
    today = [TODAY]
    keeper = Housekeeper(Retention(), lambda: Store(url, create=False), lambda: today[0], HORIZON)
    for day in range(HORIZON + 2):
        for shown in [day, day + 100] if day in {9, 19, 29} else [day]:
            today[0] = TODAY + timedelta(days=shown)
            keeper.look()
        assert kept(url) == (5 if day <= HORIZON else 0), day


@pytest.mark.parametrize("done", [0, 1])
def test_deletion_that_fails_after_some_slices_begins_again(url: str, store: Store, done: int) -> None:
    fill(store)
    for _ in range(done):
        assert store.forget(LATER) is True
    with failing(), pytest.raises(MemoryError):
        store.forget(LATER)
    forget(store, LATER)
    assert kept(url) == 10 * LEAST


def test_day_that_grows_old_during_a_deletion_is_deleted_whole_by_the_next(url: str, store: Store) -> None:
    fill(store)
    assert store.forget(TODAY) is False  # nothing is old, so no slice is searched
    assert store.forget(LATER) is True
    store.commit(some(10), TODAY + timedelta(days=LEAST + 1), SHARD)
    for left in (LEAST + 1, LEAST):
        forget(store, LATER)
        assert kept(url) == 10 * left


def test_day_that_comes_again_while_it_is_deleted_keeps_its_new_ids(store: Store) -> None:
    fill(store)
    assert store.forget(LATER) is True
    store.commit(late := some(10), TODAY, SHARD)
    forget(store, LATER)
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
def test_no_batch_counts_twice_under_any_clock_while_devices_retry(
    url: str, store: Store, clocks: tuple[str, ...]
) -> None:
    """Three batches are sent each day, and are sent again on each of the 30 days that follow."""
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


def test_no_statement_of_a_commit_scans_the_table_of_ids(store: Store, tmp_path: Path) -> None:
    """SQLite's planner is asked about each one: a scan of ten million ids would go unnoticed among a hundred."""
    fill(store, 3)
    seen: list[tuple[str, Any]] = []

    def note(_c: object, _k: object, statement: str, parameters: Any, _x: object, many: bool) -> None:
        if statement.lstrip().startswith(("WITH", "SELECT", "DELETE", "INSERT")):
            seen.append((statement, parameters[0] if many else parameters))

    with listening("before_cursor_execute", note):
        store.commit(some(200), LATER, SHARD)
        store.forget(LATER)
    assert {"SELECT", "DELETE", "INSERT"} <= {text.split()[0] for text, _ in seen if "batches" in text}
    with closing(sqlite3.connect(tmp_path / "dither.db")) as connection:
        for statement, parameters in seen:
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
