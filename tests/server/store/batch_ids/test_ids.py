"""Each batch counts once within the horizon, wherever its id is kept by then: in the journal, in the order of its day,
or behind a filter; and however many processes, restarts, failures and jumps of the clock there are."""

import random
import sqlite3
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from dither_server.store import Store, Upload
from dither_server.store.batch_ids import ids
from dither_server.store.batch_ids import recent as journal
from dither_server.store.batch_ids.day_partitions import LEAST, Days
from server.collecting import CONFLICT, COUNTED, THEME, TODAY, upload
from server.database import connected, execute, listening, url_of
from server.store.batch_ids.keeping import kept, opened, tend

SHARD = b"s" * 16
HORIZON = 45


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a fresh database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/dither.db"
    found: str = request.getfixturevalue("postgresql_url")  # which starts a server, or skips
    return found


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all that happens at thousands of ids happen at a few."""
    monkeypatch.setattr(journal, "_SETTLE", 12)
    monkeypatch.setattr(journal, "_STEP", 5)
    monkeypatch.setattr(ids, "_PAGE", 7)


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 4))])
def test_each_batch_counts_once_whatever_happens(url: str, seed: int) -> None:
    """Two processes, days that pass or come again, retries of any age, failures, restarts and the work in between."""
    chance = random.Random(seed)
    stores = [opened(url) for _ in range(2)]
    sent: dict[bytes, tuple[date, bytes]] = {}
    today, counted = TODAY, 0
    for _ in range(250):
        step = chance.random()
        if step < 0.12:
            today += timedelta(days=chance.choice([1, 1, 1, 2, 9]))
        elif step < 0.15:
            today -= timedelta(days=chance.choice([1, 3]))
        elif step < 0.2:
            place = chance.randrange(2)
            stores[place].close()
            stores[place] = Store(url)
        elif step < 0.45:
            chance.choice(stores).tend()
        elif step < 0.5:
            chance.choice(stores).forget(today - timedelta(days=HORIZON), limit=chance.choice([1, 3, 1000]))
        fresh = [upload(rows=b"\x00") for _ in range(chance.randrange(5))]
        recent = [name for name, (day, _) in sent.items() if abs((today - day).days) < HORIZON - 12]
        again = [(name, sent[name][1]) for name in chance.sample(recent, min(len(recent), 6))]
        group = fresh + [upload(rows=rows, name=name) for name, rows in again]
        stolen = [upload(rows=rows * 2, name=name) for name, rows in again[:1]]
        store = chance.choice(stores)
        if fresh and step > 0.95:
            _fail(store, group, today)
        assert store.commit(group + stolen, today, SHARD) == [COUNTED] * len(group) + [CONFLICT] * len(stolen)
        counted += len(fresh)
        sent |= {one.batch: (today, one.rows) for one in fresh}
        assert chance.choice(stores).tally(THEME).total == counted
    for store in stores:
        store.close()


def _fail(store: Store, group: list[Upload], today: date) -> None:
    """Let a commit fail after all its statements."""

    def fail(_: object) -> None:
        raise MemoryError

    with listening("commit", fail), pytest.raises(MemoryError):
        store.commit(group, today, SHARD)


@pytest.mark.usefixtures("soon")
def test_ids_are_where_they_should_be(url: str) -> None:
    """Two days ago and before behind a filter, and none twice."""
    with closing(opened(url)) as store:
        days = [TODAY + timedelta(days=number) for number in range(6)]
        sent = []
        for day in days:
            sent.append([upload(rows=b"\x00") for _ in range(20)])
            store.commit(sent[-1], day, SHARD)
            tend(store)
        assert kept(url) == 120
        closed = execute(url, "SELECT day FROM batch_days WHERE closed IS NOT NULL ORDER BY day")
        assert [str(day) for (day,) in closed] == [str(day) for day in days[: len(closed)]]
        assert len(closed) >= 4
        assert execute(url, "SELECT count(*) FROM batch_filters") == [(len(closed),)]
        for some in sent:
            assert store.commit(some, days[-1], SHARD) == [COUNTED] * 20
        assert store.tally(THEME).total == 120


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("settled", [True, False])
def test_ids_are_forgotten_by_day_and_counts_stay(url: str, settled: bool) -> None:
    with closing(opened(url)) as store:
        sent = {}
        for ago in range(43, 39 - LEAST, -1):
            sent[ago] = [upload(rows=b"\x00") for _ in range(20)]
            store.commit(sent[ago], TODAY - timedelta(days=ago), SHARD)
            if settled:
                tend(store)
        before = TODAY - timedelta(days=40)
        while store.forget(before, limit=3):
            pass
        assert kept(url) == 20 * (len(sent) - 3)
        assert store.commit(sent[40] + sent[39], TODAY, SHARD) == [COUNTED] * 40
        assert store.tally(THEME).total == 20 * len(sent)
        assert store.commit(sent[41], TODAY, SHARD) == [COUNTED] * 20
        assert store.tally(THEME).total == 20 * len(sent) + 20  # forgotten: it counts again
        if url.startswith("postgresql"):
            tables = execute(
                url,
                "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'batches'::regclass ORDER BY 1",
            )
            assert tables[:2] == [("batches_20261011",), ("batches_20261012",)]
            assert (len(tables), tables[-1]) == (len(sent) - 2, ("batches_20261120",))


@pytest.mark.usefixtures("soon")
def test_a_clock_that_jumps_by_years_makes_no_id_look_old(url: str) -> None:
    with closing(opened(url)) as store:
        sent = [upload(rows=b"\x00") for _ in range(20)]
        store.commit(sent, TODAY, SHARD)
        tend(store)
        future = TODAY + timedelta(days=3650)
        store.commit([upload(rows=b"\x00") for _ in range(20)], future, SHARD)
        tend(store)
        while store.forget(future - timedelta(days=HORIZON)):
            pass
        assert kept(url) == 40
        store.commit(sent, TODAY + timedelta(days=1), SHARD)
        store.commit([upload(rows=b"\x00") for _ in range(20)], TODAY + timedelta(days=1), SHARD)  # set right
        tend(store)
        assert kept(url) == 60
        assert store.commit(sent, TODAY + timedelta(days=1), SHARD) == [COUNTED] * 20
        assert store.tally(THEME).total == 60


_SOME = 3

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

_ON_POSTGRESQL = {("back and forth", True), ("two machines", False)}
"""With these, whether the work in between is done or not: days come and go there in the same order as in SQLite."""


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize(
    ("url", "clock", "settled"),
    [
        pytest.param(kind, clock, settled, marks=() if is_quick else pytest.mark.slow)
        for kind in ("sqlite", "postgresql")
        for clock in _CLOCKS
        for settled in (True, False)
        for is_quick in [kind == "sqlite" or (clock, settled) in _ON_POSTGRESQL]
    ],
    indirect=["url"],
)
def test_no_batch_counts_twice_under_any_clock_while_devices_retry(url: str, clock: str, settled: bool) -> None:
    """Of each day three batches, all of which come again on each of the 30 days that follow."""
    with closing(opened(url)) as store:
        sent: list[list[Upload]] = []
        for number, wrong in enumerate(_CLOCKS[clock]):
            sent.append([upload(rows=b"\x00") for _ in range(_SOME)])
            today = TODAY + timedelta(days=number + wrong)
            store.commit([one for some in sent[-31:] for one in some], today, SHARD)
            if settled:
                tend(store)
            while store.forget(today - timedelta(days=HORIZON)):
                pass
        assert store.tally(THEME).total == _SOME * len(sent)
        assert kept(url) <= _SOME * (HORIZON + 1)


@pytest.mark.usefixtures("soon")
def test_what_comes_on_a_closed_day_is_kept_under_the_next_one(url: str) -> None:
    """A clock that was days ahead and is set back finds its day closed: the first after it that is not is opened."""
    with closing(opened(url)) as store:
        for number in (0, 1, 2, 30, 31):
            store.commit([upload(rows=b"\x00") for _ in range(40)], TODAY + timedelta(days=number), SHARD)
            tend(store)
        back = [upload(rows=b"\x00") for _ in range(40)]
        assert store.commit(back, TODAY, SHARD) == [COUNTED] * 40
        tend(store)
        assert store.commit(back, TODAY, SHARD) == [COUNTED] * 40
        assert store.tally(THEME).total == 240
        days = [str(day) for (day,) in execute(url, "SELECT day FROM batch_days ORDER BY day")]
        assert days[:4] == [str(TODAY + timedelta(days=number)) for number in range(4)]


def test_two_that_pass_midnight_one_by_one_count_a_batch_once(url: str) -> None:
    """The day under which an id is added is the database's, not that of each clock."""
    tomorrow = TODAY + timedelta(days=1)
    one, other = opened(url), opened(url)
    sent = [upload(rows=b"\x00") for _ in range(50)]
    for number, batch in enumerate(sent):
        first, second = ((one, TODAY), (other, tomorrow)) if number % 2 else ((other, tomorrow), (one, TODAY))
        for store, day in (first, second):
            assert store.commit([batch], day, SHARD) == [COUNTED]
    assert (one.tally(THEME).total, kept(url)) == (50, 50)
    one.close()
    other.close()


def test_a_clock_that_passes_midnight_last_opens_no_day(tmp_path: Path) -> None:
    """Or two machines would open days in turn; one that is two days behind or a day ahead does open its own."""
    url = url_of(tmp_path)
    with closing(opened(url)), connected(url) as connection:
        days, day = Days(), timedelta(days=1)
        assert days.open(connection, TODAY) == TODAY
        assert [days.fitting(TODAY + number * day) for number in (-2, -1, 0, 1)] == [None, TODAY, TODAY, None]
        assert days.open(connection, TODAY - day) == TODAY
        assert days.open(connection, TODAY + day) == TODAY + day
        assert sorted(days) == [TODAY, TODAY + day]


@pytest.mark.usefixtures("soon")
def test_no_statement_of_a_commit_reads_all_ids(tmp_path: Path) -> None:
    """SQLite's planner is asked about each one: a scan of ten million ids would go unnoticed among a hundred."""
    with closing(opened(url_of(tmp_path))) as store:
        for day in range(5):
            store.commit([upload(rows=b"\x00") for _ in range(30)], TODAY + timedelta(days=day), SHARD)
            tend(store)
        seen: list[tuple[str, Any]] = []

        def note(_c: object, _k: object, statement: str, parameters: Any, _x: object, many: bool) -> None:
            seen.append((statement, parameters[0] if many else parameters))

        again = [upload(rows=b"\x00") for _ in range(200)]  # of so many, some look as if they were there
        with listening("before_cursor_execute", note):
            store.commit(again, TODAY + timedelta(days=5), SHARD)
            store.forget(TODAY + timedelta(days=1))
        looked = [one for one in seen if one[0].lstrip().startswith(("WITH", "SELECT", "DELETE", "INSERT"))]
        assert any("pairs" in statement for statement, _ in looked)
        with closing(sqlite3.connect(tmp_path / "dither.db")) as connection:
            for statement, parameters in looked:
                plan = connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
                assert not [step for *_, step in plan if step.startswith("SCAN batches")], statement
