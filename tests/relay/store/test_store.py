"""The relay's store: each report once, frozen batches, and what remains on disk."""

import random
import sqlite3
import threading
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy

from dither_relay.forwarding import body_of, reports_per_body
from dither_relay.store import Arrival, Cut, ListedPool, RelayStore
from dither_server.store import Store, StoreError
from dither_shared import ParameterError
from dither_shared.sealed import Pool, SealedBatch
from relay.relaying import (
    LAYOUT,
    LENGTH,
    LIMITS,
    LISTED,
    THEME,
    TODAY,
    arrivals,
    bytes_of,
    hold,
    rows,
    stored,
    url_of,
    waiting,
)
from server.database import execute, listening

CUT: Cut = lambda batch: reports_per_body(batch, 7, 1 << 20) if batch.total >= 5 else None  # noqa: E731


def bodies(store: RelayStore) -> list[bytes]:
    """Return the bodies to post, after marking each as posted."""
    made = []
    for batch in store.frozen():
        while body := store.body(batch):
            made.append(body_of(batch, list(body.values())))
            store.leave(batch, body, TODAY, 0)
    return made


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the URL of a fresh database; of PostgreSQL in tests that run on both."""
    if request.param == "sqlite":
        return url_of(tmp_path)
    found: str = request.getfixturevalue("postgresql_url")  # which starts a server, or skips
    return found


on_both = pytest.mark.parametrize("url", ["sqlite", "postgresql"], indirect=True)


def test_a_report_is_a_retry_only_if_its_whole_row_its_series_and_its_period_are_the_same() -> None:
    row = bytes(LENGTH)
    one = Arrival(1, THEME, row)
    others = one._replace(number=2), one._replace(rows=row[:-1] + b"\1")
    later = one._replace(pool=THEME._replace(period="week-2026-11-16"))
    assert len({arrival.digest for arrival in (one, *others, later)}) == 4


@on_both
def test_a_retried_report_counts_once_before_and_after_it_was_forwarded(url: str) -> None:
    some = rows(12)
    with closing(RelayStore(url)) as store:
        store.list_pools(LISTED, LIMITS)
        hold(store, some)
        hold(store, some[:4])
        store.commit(arrivals([some[0], some[0]]), TODAY, b"")
        assert waiting(store) == [(12, 0, 0, 0)]
        store.freeze(TODAY, CUT, None)
        hold(store, some)  # while it is on its way
        assert waiting(store) == [(0, 12, 0, 0)]
        assert len(bodies(store)) == 2
        hold(store, some, day=TODAY + timedelta(days=45))
        assert waiting(store) == [(0, 0, 12, 0)]
        store.forget_digests(TODAY)
        hold(store, some)
        assert waiting(store) == [(0, 0, 12, 0)]
        store.forget_digests(TODAY + timedelta(days=1))
        hold(store, some[:1])
        assert waiting(store) == [(1, 0, 12, 0)]


def test_old_digests_are_forgotten_in_parts(store: RelayStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dither_relay.store.store._AT_ONCE", 5)
    for day, some in ((TODAY, rows(12, 1)), (TODAY + timedelta(days=1), rows(9, 2))):
        hold(store, some)
        store.freeze(day, CUT, None)
        for batch in store.frozen():
            while body := store.body(batch):
                store.leave(batch, body, day, 0)
    store.forget_digests(TODAY + timedelta(days=1))
    assert execute(url_of(tmp_path), "SELECT count(*) FROM relay_forwarded") == [(9,)]


def test_reports_that_arrive_during_a_round_wait_for_the_next(store: RelayStore) -> None:
    first, second = rows(6, 1), rows(9, 2)
    hold(store, first)
    store.freeze(TODAY, CUT, None)
    hold(store, second)
    store.freeze(TODAY, lambda *_: None, None)
    assert waiting(store) == [(9, 6, 0, 0)]
    assert [batch.total for batch in store.frozen()] == [6]
    store.freeze(TODAY, CUT, None)
    assert [batch.total for batch in store.frozen()] == [6, 9]
    assert sum(map(len, bodies(store))) > 15 * 51
    assert store.frozen() == []
    assert waiting(store) == [(0, 0, 15, 0)]


def test_bodies_do_not_depend_on_the_order_of_arrival(tmp_path: Path) -> None:
    some, made = rows(40), []
    for seed in range(2):
        folder = tmp_path / str(seed)
        folder.mkdir()
        random.Random(seed).shuffle(some)
        with stored(folder) as store:
            for start in range(0, 40, 1 + 12 * seed):
                store.commit(arrivals(some[start : start + 1 + 12 * seed]), TODAY, b"")
            store.freeze(TODAY, CUT, None)
            made.append(bodies(store))
        assert execute(url_of(folder), "SELECT name FROM sqlite_master WHERE sql LIKE '%AUTOINCREMENT%'") == []
        with closing(sqlite3.connect(folder / "relay.db")) as connection, pytest.raises(sqlite3.OperationalError):
            connection.execute("SELECT rowid FROM relay_sealed")
    assert made[0] == made[1]
    assert len(made[0]) == 6  # of 7, 7, 7, 7, 7, 5


@pytest.mark.parametrize("count", [5, 1000])
def test_no_ciphertext_is_left_after_forwarding(store: RelayStore, tmp_path: Path, count: int) -> None:
    """The log has none either, although rows of another pool, which stay, are moved within the file."""
    some, others = rows(count, 1), rows(count // 2, 2)
    for start in range(0, count, 97):
        hold(store, some[start : start + 97])
        hold(store, others[start // 2 : start // 2 + 49], pool=2)
    assert all(row in bytes_of(tmp_path) for row in some[:50])
    store.freeze(TODAY, lambda batch: 100 if batch.pool != LAYOUT else None, None)
    for batch in store.frozen():
        while body := store.body(batch):
            store.leave(batch, body, TODAY, 0)
    store.checkpoint()
    left = bytes_of(tmp_path)
    assert sum(row[k : k + 16] in left for row in some for k in (0, 17, 35)) == 0
    assert all(row in left for row in others)


def test_small_pool_is_dropped_when_old_and_never_forwarded(store: RelayStore) -> None:
    hold(store, rows(2, 1), day=TODAY - timedelta(days=15))
    hold(store, rows(2, 2), day=TODAY - timedelta(days=14))
    hold(store, rows(6, 3), pool=2, day=TODAY - timedelta(days=15))
    store.freeze(TODAY, CUT, None)
    assert store.drop(TODAY - timedelta(days=14)) == 2
    assert waiting(store) == [(0, 6, 0, 0), (2, 0, 0, 2)]
    assert store.drop(TODAY + timedelta(days=1)) == 8  # frozen, and never taken
    assert waiting(store) == [(0, 0, 0, 6), (0, 0, 0, 4)]
    assert store.frozen() == []


def test_pools_follow_the_list_of_the_collector(store: RelayStore) -> None:
    numbers = store.pools()
    assert sorted(len(by_length) for by_length in numbers.values()) == [1, 2]
    hold(store, rows(3))
    store.list_pools(LISTED[1:], LIMITS)
    assert [len(by_length) for by_length in store.pools().values()] == [1, 1]
    assert [(pool.listed, pool.waiting) for pool in store.held() if pool.waiting] == [(False, 3)]
    longer = [ListedPool(pool.digest, pool.suite, pool.length + 1) for pool in LISTED]
    store.list_pools(longer, LIMITS)
    assert store.pools() == {
        digest: {length + 1: number for length, number in by_length.items()} for digest, by_length in numbers.items()
    }


def test_pool_is_unnamed_until_its_first_report(store: RelayStore, tmp_path: Path) -> None:
    assert [pool.is_named for pool in store.held()] == [False] * 3
    assert b"theme" not in bytes_of(tmp_path)
    before = store.pools()
    hold(store, rows(3))
    assert {pool.pool for pool in store.held()} == {THEME.series, LAYOUT.digest}
    store.list_pools(LISTED, LIMITS)
    hold(store, rows(3, 1), pool=2)
    assert {pool.pool for pool in store.held()} == {THEME.series, LAYOUT.series}
    assert store.pools() == before


def test_pools_that_were_never_used_are_forgotten_when_they_are_not_listed_twice(store: RelayStore) -> None:
    """A collector that lists other pools each time fills neither disk nor memory."""

    def others(turn: int) -> list[ListedPool]:
        return [LISTED[0]._replace(digest=Pool(f"t{turn}n{place}", "0" * 16).digest) for place in range(200)]

    hold(store, rows(3))  # of the first pool
    first, seen = store.pools()[THEME.digest][LENGTH], 3
    for turn in range(6):
        store.list_pools(others(turn), LIMITS)
        numbers = [number for by_length in store.pools().values() for number in by_length.values()]
        assert len(numbers) == 200
        assert min(numbers) > seen
        seen = max(numbers)
    assert len(store.held()) <= 402
    store.list_pools([], LIMITS)
    store.list_pools(LISTED, LIMITS)
    store.list_pools(LISTED, LIMITS)
    assert len(store.held()) <= 4  # these, and the one of the highest number
    assert store.pools()[THEME.digest][LENGTH] == first
    assert waiting(store) == [(3, 0, 0, 0)]


def test_a_pool_that_comes_back_at_once_keeps_its_number(store: RelayStore) -> None:
    """For example, a collector lost its key file for a minute while a report was on its way to the disk."""
    before = store.pools()
    store.list_pools([], LIMITS)
    assert store.pools() == {}
    store.list_pools(LISTED, LIMITS)
    assert store.pools() == before


def test_reports_of_two_lengths_never_leave_in_one_batch(store: RelayStore) -> None:
    """If a collector lists another length, by a fault or on purpose, the waiting reports leave as before."""
    before, after = rows(6, 1), rows(7, 2, LENGTH + 4)
    hold(store, before[:4])
    store.list_pools([pool._replace(length=LENGTH + 4) for pool in LISTED], LIMITS)
    hold(store, after)
    store.list_pools(LISTED, LIMITS)
    hold(store, [*before, *after])
    assert waiting(store) == [(13, 0, 0, 0)]
    store.freeze(TODAY, CUT, None)
    assert [batch.total for batch in store.frozen()] == [6, 7]
    made = [SealedBatch.decode(body).sealed for body in bodies(store)]
    assert made == [b"".join(sorted(before)), b"".join(sorted(after))]
    hold(store, [*before, *after])
    assert waiting(store) == [(0, 0, 13, 0)]


@on_both
def test_error_names_the_process_that_holds_the_lock(url: str) -> None:
    with closing(RelayStore(url)) as one, closing(RelayStore(url)) as other:
        with (
            one.exclusive_lock("relay", "taken"),
            pytest.raises(StoreError, match="database: taken"),
            other.exclusive_lock("relay", "taken"),
        ):
            pass
        with other.exclusive_lock("relay", "taken"), one.exclusive_lock("round", "taken"):
            pass


def test_database_that_no_relay_has_made_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="a relay has not run on it yet"):
        RelayStore(url_of(tmp_path), create=False)
    (tmp_path / "relay.db").touch()
    with pytest.raises(ParameterError, match="holds no dither tables; a relay has not run on it yet"):
        RelayStore(url_of(tmp_path), create=False)


def test_each_connection_is_durable_and_overwrites_what_it_deletes(tmp_path: Path) -> None:
    seen = []

    def look(connection: sqlalchemy.Connection) -> None:
        settings = ("journal_mode", "synchronous", "secure_delete", "page_size")
        seen.append(tuple(connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in settings))

    with listening("begin", look), stored(tmp_path) as store:
        hold(store, rows(1))
        store.state()
    assert len(seen) > 3
    assert set(seen[1:]) == {("wal", 2, 1, 8192)}


@on_both
def test_a_freeze_amid_arrivals_changes_nothing_that_is_frozen(url: str) -> None:
    some = rows(300)
    with closing(RelayStore(url)) as store, closing(RelayStore(url)) as other:
        store.list_pools(LISTED, LIMITS)
        device = threading.Thread(target=lambda: [other.commit(arrivals([row]), TODAY, b"") for row in some])
        device.start()
        while device.is_alive():
            store.freeze(TODAY, lambda *_: 1000, None)
            device.join(0.01)
        store.freeze(TODAY, lambda *_: 1000, None)
        frozen = store.frozen()
        assert len(frozen) > 2
        assert [len(store.body(batch)) for batch in frozen] == [batch.total for batch in frozen]
        assert sum(batch.total for batch in frozen) == 300


def test_a_retry_that_comes_while_its_body_leaves_is_not_held_again(postgresql_url: str) -> None:
    """Whichever two statements of PostgreSQL it leaves between. SQLite has one writer at a time."""
    some = rows(12)
    with closing(RelayStore(postgresql_url)) as store, closing(RelayStore(postgresql_url)) as other:
        store.list_pools(LISTED, LIMITS)
        hold(store, some)
        store.freeze(TODAY, lambda _: 2, None)
        (batch,) = store.frozen()

        def leave(*_: object) -> None:
            if len(left) < 8 and leaving.acquire(blocking=False):  # its own statements are no occasion
                left.update(body := other.body(batch))
                other.leave(batch, body, TODAY, 0)
                leaving.release()

        leaving = threading.Lock()
        left: dict[bytes, bytes] = {}
        with listening("before_cursor_execute", leave):
            hold(store, some)
        assert len(left) >= 6
        assert waiting(store) == [(0, 12 - len(left), len(left), 0)]


def test_relay_and_collector_refuse_the_database_of_the_other(tmp_path: Path) -> None:
    """Whichever came first, the other makes nothing in its database."""
    relay, collector = f"sqlite:///{tmp_path}/relay.db", f"sqlite:///{tmp_path}/dither.db"
    RelayStore(relay).close()
    Store(collector).close()
    for one, other in ((RelayStore, collector), (Store, relay)):
        with pytest.raises(ParameterError, match="relay and collector must not share a database"):
            one(other)
    RelayStore(relay).close()
    Store(collector).close()
