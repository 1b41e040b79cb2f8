"""Days that are over are closed: stored so that a year is quick to read, without a change of any number."""

import random
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dither_server.store import Store
from dither_server.store.removal import Housekeeper
from dither_server.store.uploads import add_counts
from dither_server.tally.blocks import add_blocks, to_blocks
from dither_server.tally.fold import fold
from dither_server.tally.retention import Retention
from dither_server.tally.tally import Tally
from dither_shared import Metric, parse_metrics
from server.collecting import LAYOUT, METRICS, SHARD, THEME, TODAY, VERSION, ago, rows_of, same, upload
from server.database import execute, on_both, url_of

OTHER = b"t" * 16
WIDE = parse_metrics(
    """
    [metrics.rappor]
    type = "string"
    mechanism = "rappor"
    candidates = ["a", "b"]
    epsilon = 2.0
    permanent_epsilon = 4.0

    [metrics.commands]
    type = "string"
    epsilon = 2.0
    discover = {alphabet = "a-c", length = 2}
    """
)
ALL = [THEME, VERSION, *WIDE.values()]


@pytest.fixture
def any_store(url: str) -> Iterator[Store]:
    with closing(Store(url)) as store:
        store.register([*METRICS.values(), *WIDE.values(), LAYOUT])
        yield store


def rows(metric: Metric, count: int, seed: int = 0) -> bytes:
    return rows_of(metric, count, b"%d" % seed, None if metric.question.size else "a")


@on_both
def test_closing_changes_no_number(any_store: Store) -> None:
    store, days = any_store, (ago(9), ago(8), TODAY)
    for metric, count in product(ALL, (1, 100)):  # more are counted, and the same days closed again
        for number, (day, shard) in enumerate([(ago(9), SHARD), (ago(9), OTHER), (ago(8), SHARD), (TODAY, SHARD)]):
            store.commit([upload(metric, rows(metric, count, number))], day, shard)
        before, history = [store.tally(metric, day, day) for day in days], store.history(metric)
        for day in (ago(9), ago(8), ago(9)):  # one of them twice
            store.days.close(metric, day)
        for day, expected in zip(days, before, strict=True):
            assert same(store.tally(metric, day, day), expected), (metric.name, count, day)
        assert same(store.tally(metric), before[0] + before[1] + before[2]), (metric.name, count)
        assert store.history(metric).slice(None, None) == history.slice(None, None), (metric.name, count)
        assert store.days.open(metric.version, TODAY) == []
        assert store.days.open(metric.version, TODAY + timedelta(days=1)) == [TODAY]


@on_both
def test_a_day_that_is_closed_while_it_is_read_is_counted_once(
    any_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader fetches blocks and then chunks; a day that moves from the ones to the others in between is in both."""
    any_store.commit([upload(VERSION, rows_of(VERSION, 40))], ago(9), SHARD)
    right = any_store.tally(VERSION)

    def closing(*blocks: Any) -> None:
        monkeypatch.undo()
        add_blocks(*blocks)
        any_store.days.close(VERSION, ago(9))  # as the housekeeper of another process would

    monkeypatch.setattr("dither_server.store.tallies.add_blocks", closing)
    read = any_store.tally(VERSION)
    assert any_store.days.open(VERSION.version, TODAY) == []
    assert same(read, right)


@on_both
def test_any_order_of_counting_closing_and_purging_equals_plain_sums(any_store: Store) -> None:
    chance, right = random.Random(5), {ago(day): Tally.zero(VERSION.mechanism) for day in range(3)}
    for turn in range(60):
        day = ago(chance.randrange(3))
        match chance.choice(["count", "count", "close", "purge"]):
            case "count":
                sent = rows_of(VERSION, chance.choice([1, 3, 50]), b"%d" % turn)
                any_store.commit([upload(VERSION, sent)], day, chance.choice([SHARD, OTHER]))
                right[day] += Tally.fold(VERSION.mechanism, sent)
                assert day in any_store.days.open(VERSION.version, TODAY + timedelta(days=1))  # again, if it was closed
            case "close":
                any_store.days.close(VERSION, day)
            case _ if chance.random() < 0.2:
                any_store.days.purge(VERSION.version, day)
                right[day] = Tally.zero(VERSION.mechanism)
        assert same(any_store.tally(VERSION, day, day), right[day])
    assert any_store.reports_by_day(VERSION) == {
        day: expected.total for day, expected in sorted(right.items()) if expected.total
    }


def test_counts_of_every_width_are_kept(store: Store) -> None:
    """Blocks take 1 to 64 bits a count; a chunk takes those of its largest."""
    for number, most in enumerate((1, 3, 15, 255, 65_535, 2**32 - 1, 2**40)):
        day = ago(20 - number)
        blocks = to_blocks(VERSION.mechanism, fold(VERSION.mechanism, rows_of(VERSION, 3)))
        blocks.counts[blocks.counts > 0] = most
        with store._transaction(write=True) as connection:  # noqa: SLF001
            add_counts(connection, {"version": VERSION.version, "day": day, "stratum": 0, "shard": SHARD}, blocks)
        before = store.tally(VERSION, day, day)
        assert int(before.counts.max()) == most
        store.days.close(VERSION, day)
        assert same(store.tally(VERSION, day, day), before)


def look(folder: Path) -> None:
    """Do what a collector does once a day."""
    Housekeeper(Retention(), lambda: Store(url_of(folder), create=False), lambda: TODAY, 45).look()


def test_a_collector_closes_days_after_a_week(store: Store, tmp_path: Path) -> None:
    for number in range(12):
        store.commit([upload(THEME, rows_of(THEME, 3)), upload(VERSION, rows_of(VERSION, 3))], ago(number), SHARD)
    look(tmp_path)
    for metric in (THEME, VERSION):
        assert store.days.open(metric.version, TODAY + timedelta(days=1)) == list(map(ago, range(7, -1, -1)))
        assert store.tally(metric).total == 36


def test_unreadable_version_stays_open_and_others_are_closed(store: Store, tmp_path: Path) -> None:
    for metric in (THEME, VERSION):
        store.commit([upload(metric, rows_of(metric, 3))], ago(9), SHARD)
    execute(url_of(tmp_path), "UPDATE metrics SET definition = 'unreadable' WHERE name = 'theme'")
    look(tmp_path)
    assert (store.days.open(THEME.version, TODAY), store.days.open(VERSION.version, TODAY)) == ([ago(9)], [])


def test_year_of_a_large_tally_takes_few_rows(store: Store) -> None:
    store.register([metric := WIDE["commands"]])
    for number in range(20):
        store.commit([upload(metric, rows(metric, 200, number))], ago(30 - number), SHARD)
    history = store.history(metric)
    for day in store.days.open(metric.version, TODAY):
        store.days.close(metric, day)
    closed = store.history(metric)
    assert (closed.blocks, history.chunks) == (0, 0)
    assert closed.chunks < history.blocks / 5
    assert np.array_equal(store.tally(metric).reports.sum(), 20 * 200)
