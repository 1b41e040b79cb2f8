"""Answers are computed once for the same collected reports, as long as the cache has room."""

import gc
import threading
import tracemalloc
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest

from dither_server.analysis.columns import Table
from dither_server.estimation.estimate import Estimate, estimate
from dither_server.reading.estimates import EstimateReader
from dither_server.reading.query import Combination, Comparison, Query
from dither_server.reading.sources import EVERYONE, AnswerCache
from dither_server.reading.summaries import summary_of
from dither_server.reading.summaries.view import PageRequest
from dither_server.store import Refusal, Store
from dither_server.tally.tally import Tally
from dither_shared import Metric, parse_metrics
from server.collecting import METRICS_TOML, THEME, TODAY, VERSION, rows_of, upload

PLENTY = 1 << 20
DAYS = 5


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of labels of each estimate that was computed."""
    calls: list[int] = []

    def counting(mechanism: object, labels: tuple[str, ...], *more: object, **named: object) -> Estimate:
        calls.append(len(labels))
        return estimate(mechanism, labels, *more, **named)  # type: ignore[arg-type]

    monkeypatch.setattr("dither_server.reading.summaries.shares.estimate", counting)
    return calls


def add(store: Store, metric: Metric, count: int, day: date = TODAY, shard: bytes = b"s" * 16) -> None:
    store.commit([upload(metric, rows_of(metric, count))], day, shard)


def test_same_question_is_estimated_and_read_once(store: Store, computed: list[int], read: list[str]) -> None:
    reader = EstimateReader(store, AnswerCache(PLENTY))
    add(store, THEME, 50)
    first = reader.table(THEME, Query())
    assert reader.table(THEME, Query()).columns["frequency"] is first.columns["frequency"]
    assert next(reader.tables(THEME, Query(top=2))).columns["value"] is not None
    assert (computed, read) == ([4], ["theme"])
    assert reader.table(THEME, Query(forged=0.2)).columns["frequency"] is first.columns["frequency"]
    assert computed == [4]
    reader.table(THEME, Query(confidence=0.5))
    reader.table(THEME, Query(simultaneous=True))
    assert computed == [4] * 3


def test_every_kind_of_answer_is_cached(store: Store, computed: list[int], read: list[str]) -> None:
    reader = EstimateReader(store, AnswerCache(PLENTY))
    for number in range(DAYS):
        add(store, THEME, 20 + number, TODAY - timedelta(days=number))

    def ask() -> None:
        list(reader.tables(THEME, Query(by_day=True, top=1)))
        reader.compare(THEME, THEME, Comparison())
        reader.combine(THEME, [THEME], Combination())
        reader.estimate_view(THEME, Query(), EVERYONE, PageRequest("", 1, 12))

    ask()
    once, tallies = len(computed), len(read)
    ask()
    assert (len(computed), len(read)) == (once, tallies)


def test_new_reports_of_one_day_leave_cached_answers_of_the_others(store: Store, computed: list[int]) -> None:
    reader = EstimateReader(store, AnswerCache(PLENTY))
    for number in range(DAYS):
        add(store, THEME, 20, TODAY - timedelta(days=number))
    assert len(list(reader.tables(THEME, Query(by_day=True)))) == DAYS
    add(store, THEME, 1)
    assert [table.about["reports"] for table in reader.tables(THEME, Query(by_day=True))] == [20] * (DAYS - 1) + [21]
    assert len(computed) == DAYS + 1


def test_refusals_reports_of_other_processes_and_purges_change_cached_answers(
    store: Store, tmp_path: Path, computed: list[int]
) -> None:
    reader = EstimateReader(store, AnswerCache(PLENTY))
    add(store, THEME, 50)
    reader.table(THEME, Query())
    other = Store(f"sqlite:///{tmp_path}/dither.db")  # as another process would
    add(other, THEME, 7, shard=b"t" * 16)
    other.close()
    assert reader.table(THEME, Query()).about["reports"] == 57
    assert reader.table(THEME, Query()).about["refused"] == {}
    assert computed == [4] * 2
    store.add_refusals({Refusal("theme", TODAY, "malformed"): 3}, b"s" * 16)
    assert reader.table(THEME, Query()).about["refused"] == {"malformed": 3}
    store.days.purge(THEME.version, TODAY)
    rows = rows_of(THEME, 57, value="dark")
    store.commit([upload(THEME, rows)], TODAY, b"s" * 16)  # as many as were purged
    right = estimate(THEME.mechanism, THEME.labels, Tally.fold(THEME.mechanism, rows)).frequency
    assert np.array_equal(np.asarray(reader.table(THEME, Query()).columns["frequency"]), right)
    made = len(computed)
    store.definitions.disable("theme", None, TODAY)
    assert reader.table(THEME, Query()).about["reports"] == 57
    assert len(computed) == made, "disabling a version changes no number"


def test_closing_a_day_keeps_its_cached_answers(store: Store, computed: list[int]) -> None:
    reader = EstimateReader(store, AnswerCache(PLENTY))
    add(store, THEME, 50)
    first = reader.table(THEME, Query())
    store.days.close(THEME, TODAY)
    assert reader.table(THEME, Query()) == first
    assert computed == [4]


def test_other_candidates_are_other_answers(store: Store, computed: list[int]) -> None:
    reader = EstimateReader(store, AnswerCache(PLENTY))
    add(store, VERSION, 50)
    more = parse_metrics(METRICS_TOML.replace('["1.0", "2.0"]', '["1.0", "2.0", "3.0"]'))["version"]
    assert more.version == VERSION.version
    assert len(reader.table(VERSION, Query())) == 2
    assert len(reader.table(more, Query())) == 3
    assert len(reader.table(VERSION, Query(), ("1.0",))) == 1
    assert computed == [2, 3, 1]


def table(values: int) -> Table:
    return Table({}, {"frequency": np.zeros(values)})


def test_least_recently_used_answer_is_evicted() -> None:
    made: list[int] = []

    def compute(number: int) -> Table:
        made.append(number)
        return table(1_000)

    cache = AnswerCache(2 * (2_000 + 8_000))
    for number in (0, 1, 0, 2, 0, 1):  # the third replaces the second, which was used before the first
        cache.get(number, lambda number=number: compute(number))  # type: ignore[misc]
    assert made == [0, 1, 2, 1]
    cache.get("wide", lambda: table(10_000))  # larger than all that may be remembered
    assert cache.size == 2 * (2_000 + 8_000)


def test_answer_that_two_threads_compute_at_once_takes_the_room_of_one() -> None:
    cache, alone = AnswerCache(PLENTY), AnswerCache(PLENTY)
    alone.get("key", lambda: table(900))
    assert len(cache.get("key", lambda: cache.get("key", lambda: table(900)))) == 900
    assert cache.size == alone.size


def test_other_threads_wait_while_an_answer_is_found_and_while_it_is_kept() -> None:
    """An answer could else be evicted between two steps. Another thread has a moment, and needs less without a lock."""
    cache = AnswerCache(PLENTY)
    passed: list[bool] = []

    class Key:
        def __hash__(self) -> int:
            other = threading.Thread(target=cache.find, args=("other",))
            other.start()
            other.join(0.05)
            passed.append(not other.is_alive())
            return 0

    cache.get(Key(), lambda: table(1))
    assert passed == [False] * 3


def test_cache_takes_no_more_memory_than_it_counts(store: Store) -> None:
    estimates = estimate(THEME.mechanism, THEME.labels, Tally.fold(THEME.mechanism, rows_of(THEME, 9)))
    columns = [column for column in vars(estimates).values() if isinstance(column, np.ndarray)]
    assert estimates.size >= sum(column.nbytes for column in columns) + 8 * len(estimates.verdicts)
    number = parse_metrics('[metrics.x]\ntype = "number"\nlow = 0\nhigh = 60\nepsilon = 2.0\n')["x"]
    assert 5_000 < summary_of(number).estimate(number, (), Tally.zero(number.mechanism), 0.95, False).size < 20_000
    for day in range(20):  # the key of an answer depends on the reports of each of its days
        add(store, THEME, 1, TODAY - timedelta(days=day))
    cache = AnswerCache(1 << 30)
    reader = EstimateReader(store, cache)
    reader.estimate_view(THEME, Query(), EVERYONE, PageRequest("", 1, 12))
    before = cache.size
    tracemalloc.start()
    for turn in range(20):
        reader.table(THEME, Query(forged=0.01 + turn / 1000))
        reader.estimate_view(THEME, Query(), EVERYONE, PageRequest(f"{turn}" + "x" * 10_000, 1, 12))
    gc.collect()
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken < 2 * (cache.size - before)
