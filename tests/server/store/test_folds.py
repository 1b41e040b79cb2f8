"""The counts of a run are added once, whichever process retries."""

import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from dither_server.store import Refusal, Store, StoreError
from dither_server.store.folds import FoldSums, Tallies
from dither_server.tally.blocks import to_blocks
from dither_server.tally.fold import fold
from dither_server.tally.tally import Tally
from dither_shared import Metric
from server.collecting import (
    COUNTED,
    LAYOUT,
    METRICS,
    MOBILE,
    SHARD,
    THEME,
    TODAY,
    VERSION,
    ago,
    at_once,
    rows_of,
    same,
    sealed_upload,
    upload,
)
from server.database import execute, listening, on_both

RUN, OTHER, LAST = b"r" * 16, b"o" * 16, b"l" * 16
AT = datetime(2026, 11, 20, 14, 5, tzinfo=UTC)
SUMS = FoldSums(batches=2, rows=7, repeated=1)
PATIENCE = 60.0


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with closing(Store(url, lock_wait=PATIENCE)) as store:
        store.register([*METRICS.values(), LAYOUT])
        store.folds.begin(RUN, AT)
        yield store


def tallies(*parts: tuple[Metric, bytes, int], day: date = TODAY) -> Tallies:
    return {
        (metric.version, day, stratum): to_blocks(metric.mechanism, fold(metric.mechanism, rows))
        for metric, rows, stratum in parts
    }


def known_run(store: Store) -> Any:
    """Return the state of the run, which is known."""
    known = store.folds.run(RUN)
    assert known is not None
    return known


@on_both
def test_a_bucket_is_added_once(store: Store) -> None:
    rows, more = rows_of(THEME, 20), rows_of(VERSION, 30)
    assert store.commit([upload(THEME, rows)], TODAY, SHARD) == [COUNTED]
    for bucket, expected in ((0, True), (255, True), (0, False), (255, False)):
        assert store.folds.add(RUN, bucket, tallies((THEME, rows, 0), (VERSION, more, 0)), SUMS) is expected
    assert same(store.tally(THEME), Tally.fold(THEME.mechanism, rows * 3))
    assert same(store.tally(VERSION), Tally.fold(VERSION.mechanism, more * 2))
    known = known_run(store)
    assert (known.begun, known.finished, known.buckets) == (AT, False, {0: SUMS, 255: SUMS})


def test_batches_in_conflict_are_refused_once(store: Store) -> None:
    """Refusals are written with the counts or not at all."""
    conflict = Refusal("theme", TODAY, "batch-conflict", THEME.version)
    two = conflict._replace(day=ago(1))
    part = tallies((THEME, rows_of(THEME, 4), 0))
    store.add_refusals({conflict: 10}, SHARD)
    for bucket in (1, 1, 2):
        store.folds.add(RUN, bucket, part, SUMS, {conflict: 2, two: 3})

    def cut(_: object, __: object, statement: str, *___: object) -> None:
        if "refusals" in statement:
            raise MemoryError

    with listening("after_cursor_execute", cut), pytest.raises(MemoryError):
        store.folds.add(RUN, 3, part, SUMS, {conflict: 2})
    assert (store.tally(THEME).total, store.refusals.read()) == (8, {two: 6, conflict: 14})
    assert store.folds.add(RUN, 3, part, SUMS, {conflict: 2}) is True
    assert store.refusals.read() == {two: 6, conflict: 16}


def test_days_and_strata_are_kept_apart(store: Store) -> None:
    rows, more = rows_of(LAYOUT, 5), rows_of(LAYOUT, 8, b"more", "tabs")
    store.folds.add(RUN, 1, tallies((LAYOUT, rows, 0), (LAYOUT, more, 5)), SUMS)
    store.folds.add(RUN, 2, tallies((LAYOUT, more, 5), day=ago(1)), SUMS)
    assert store.history(LAYOUT).strata() == {0: 5, 5: 16}
    assert store.reports_by_day(LAYOUT) == {ago(1): 8, TODAY: 13}


def test_nothing_is_added_to_a_run_that_is_finished_or_never_began(store: Store) -> None:
    part = tallies((THEME, rows_of(THEME, 4), 0))
    with pytest.raises(StoreError, match="has not begun"):
        store.folds.add(OTHER, 1, part, SUMS)
    store.folds.add(RUN, 1, part, SUMS)
    store.folds.finish(RUN)
    assert store.folds.add(RUN, 2, part, SUMS) is False  # as a fold that lost its lock would do
    store.folds.forget(TODAY)
    assert store.folds.add(RUN, 1, part, SUMS) is False
    assert store.tally(THEME).total == 4
    store.folds.begin(RUN, AT + timedelta(days=1))  # it has begun already
    known = known_run(store)
    assert (known.begun, known.finished, known.buckets) == (AT, True, {})


def finish(store: Store, run: bytes, at: datetime) -> None:
    """Let a run of no segments begin at a time, and end."""
    store.folds.begin(run, at)
    store.folds.finish(run)


def test_folds_report_the_start_of_the_last_finished_run_even_if_a_clock_was_ahead(store: Store) -> None:
    assert store.folds.up_to() is None
    finish(store, RUN, AT)
    store.folds.begin(OTHER, AT + timedelta(days=9_000))
    assert store.folds.up_to() == AT
    store.folds.finish(OTHER)
    assert store.folds.up_to() == AT + timedelta(days=9_000)
    finish(store, LAST, AT + timedelta(hours=1))
    assert store.folds.up_to() == AT + timedelta(hours=1)
    assert store.folds.add(LAST, 1, {}, FoldSums()) is False


def test_runs_that_nobody_will_finish_are_forgotten_when_they_are_old(store: Store, url: str) -> None:
    store.folds.add(RUN, 3, {}, SUMS)
    store.folds.begin(OTHER, midnight := datetime(2026, 11, 21, tzinfo=UTC))
    store.folds.forget(AT.date())
    assert known_run(store).buckets == {3: SUMS}
    store.folds.forget(midnight.date())
    assert [store.folds.run(run) is None for run in (RUN, OTHER)] == [True, False]
    assert execute(url, "SELECT run FROM folds") == []


@on_both
def test_old_runs_are_forgotten_but_not_the_last(store: Store) -> None:
    finish(store, OTHER, AT)
    store.folds.forget(TODAY + timedelta(days=90))
    assert store.folds.up_to() == AT
    finish(store, RUN, AT)
    finish(store, LAST, AT + timedelta(days=1))
    store.folds.forget(TODAY)
    assert store.folds.run(RUN) is not None
    store.folds.forget(TODAY + timedelta(days=1))
    assert [store.folds.run(run) is None for run in (RUN, OTHER, LAST)] == [True, True, False]


@on_both
def test_one_fold_at_a_time_runs_on_a_database_and_a_second_one_waits(store: Store, url: str) -> None:
    order: list[str] = []
    with closing(Store(url)) as other:

        def second() -> None:
            with other.folds.exclusive_lock(PATIENCE):
                order.append("second")

        thread = threading.Thread(target=second)
        with store.folds.exclusive_lock(0.0) as check:
            check()
            with pytest.raises(StoreError, match="another fold is under way"), other.folds.exclusive_lock(0.01):
                pass
            assert other.commit([upload()], TODAY, SHARD) == [COUNTED]  # collectors are not held up
            thread.start()
            order.append("first")
        thread.join()
    assert order == ["first", "second"]


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_fold_notices_that_it_lost_its_lock_with_its_connection(store: Store, url: str) -> None:
    with store.folds.exclusive_lock(PATIENCE) as check:
        ours = "locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        execute(url, f"SELECT pg_terminate_backend(pid) FROM pg_locks WHERE {ours}")  # noqa: S608
        with pytest.raises(StoreError, match="lock of the fold is lost"):
            check()


@on_both
def test_folds_that_add_at_the_same_time_lose_nothing(store: Store, url: str) -> None:
    """Simulates two folds of which one has lost its lock: both add common counts and counts of their own."""
    rows = rows_of(THEME, 3)

    def work(run: bytes) -> None:
        with closing(Store(url, lock_wait=PATIENCE)) as own_store:
            own_store.folds.begin(run, AT)
            for bucket in range(8):
                own_store.folds.add(RUN, bucket, tallies((THEME, rows, 0)), SUMS)
                own_store.folds.add(run, bucket, tallies((THEME, rows, 0)), SUMS)

    at_once(work, OTHER, b"p" * 16)
    assert same(store.tally(THEME), Tally.fold(THEME.mechanism, rows * 24))


def test_days_counted_by_folds_and_collectors_are_found(store: Store) -> None:
    """Sealed reports do not matter, because collectors always count them."""
    blocks = to_blocks(THEME.mechanism, fold(THEME.mechanism, rows_of(THEME, 3)))
    store.folds.add(RUN, 0, {(THEME.version, ago(back), 0): blocks for back in (0, 1, 2)}, FoldSums())
    store.commit([sealed_upload()], TODAY, SHARD)
    store.commit([upload()], ago(3), SHARD)
    assert store.folds.counted_both_ways(ago(3)) == []
    for back in (1, 2):  # of another metric: it is the collectors that differ
        store.commit([upload(MOBILE, rows_of(MOBILE, 1, value=True))], ago(back), SHARD)
    assert store.folds.counted_both_ways(ago(3)) == [ago(2), ago(1)]
    assert store.folds.counted_both_ways(ago(1)) == [ago(1)]
    assert store.folds.counted_both_ways(TODAY) == []
    store.commit([upload()], TODAY, b"t" * 16)
    assert store.folds.counted_both_ways(TODAY) == [TODAY]
