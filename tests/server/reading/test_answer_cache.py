"""Answers are computed once for what was collected, whoever counted it, while there is room."""

import gc
import threading
import tracemalloc
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest

from dither_server.analysis.columns import Table
from dither_server.estimation.estimate import Estimate, estimate
from dither_server.reading.answer_cache import AnswerCache
from dither_server.reading.estimates import EstimateReader
from dither_server.reading.query import Comparison, Query
from dither_server.reading.strata import EVERYONE
from dither_server.reading.summaries.window import Look
from dither_server.store import Refusal, Store
from dither_server.tally.tally import Tally
from dither_shared import Metric, parse_metrics
from server.collecting import METRICS_TOML, THEME, TODAY, VERSION, rows_of, upload

PLENTY = 1 << 20
DAYS = 5


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many labels were estimated, each time that any were."""
    calls: list[int] = []

    def counting(mechanism: object, labels: tuple[str, ...], *more: object, **named: object) -> Estimate:
        calls.append(len(labels))
        return estimate(mechanism, labels, *more, **named)  # type: ignore[arg-type]

    monkeypatch.setattr("dither_server.reading.summaries.shares.summary.estimate", counting)
    return calls


def add(store: Store, metric: Metric, count: int, day: date = TODAY, shard: bytes = b"s" * 16) -> None:
    store.commit([upload(metric, rows_of(metric, count))], day, shard)


def test_what_was_collected_is_estimated_once_and_read_once(store: Store, computed: list[int], read: list[str]) -> None:
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


def test_each_kind_of_answer_is_remembered(store: Store, computed: list[int], read: list[str]) -> None:
    reader = EstimateReader(store, AnswerCache(PLENTY))
    for number in range(DAYS):
        add(store, THEME, 20 + number, TODAY - timedelta(days=number))

    def ask() -> None:
        list(reader.tables(THEME, Query(by_day=True, top=1)))
        reader.compare(THEME, THEME, Comparison())
        reader.combine(THEME, [THEME], Query())
        reader.exhibit(THEME, Query(), EVERYONE, Look("", 1, 12))

    ask()
    once, tallies = len(computed), len(read)
    ask()
    assert (len(computed), len(read)) == (once, tallies)


def test_new_reports_of_one_day_leave_the_answers_of_the_others(store: Store, computed: list[int]) -> None:
    reader = EstimateReader(store, AnswerCache(PLENTY))
    for number in range(DAYS):
        add(store, THEME, 20, TODAY - timedelta(days=number))
    assert len(list(reader.tables(THEME, Query(by_day=True)))) == DAYS
    add(store, THEME, 1)
    assert [table.about["reports"] for table in reader.tables(THEME, Query(by_day=True))] == [20] * (DAYS - 1) + [21]
    assert len(computed) == DAYS + 1


def test_refused_batches_are_counted_in_a_remembered_answer(store: Store) -> None:
    reader = EstimateReader(store, AnswerCache(PLENTY))
    add(store, THEME, 50)
    assert reader.table(THEME, Query()).about["refused"] == {}
    store.add_refusals({Refusal("theme", TODAY, "malformed"): 3}, b"s" * 16)
    assert reader.table(THEME, Query()).about["refused"] == {"malformed": 3}


def test_reports_of_any_process_make_another_answer(store: Store, tmp_path: Path, computed: list[int]) -> None:
    reader = EstimateReader(store, AnswerCache(PLENTY))
    add(store, THEME, 50)
    reader.table(THEME, Query())
    other = Store(f"sqlite:///{tmp_path}/dither.db")  # as another process would
    add(other, THEME, 7, shard=b"t" * 16)
    other.close()
    assert reader.table(THEME, Query()).about["reports"] == 57
    store.disable("theme", None, TODAY)
    assert reader.table(THEME, Query()).about["reports"] == 57
    assert computed == [4] * 2


def test_as_many_reports_in_the_place_of_those_purged_make_another_answer(store: Store) -> None:
    reader = EstimateReader(store, AnswerCache(PLENTY))
    add(store, THEME, 57)
    reader.table(THEME, Query())
    store.days.purge(THEME.version, TODAY)
    rows = rows_of(THEME, 57, value="dark")
    store.commit([upload(THEME, rows)], TODAY, b"s" * 16)
    right = estimate(THEME.mechanism, THEME.labels, Tally.fold(THEME.mechanism, rows)).frequency
    assert np.array_equal(np.asarray(reader.table(THEME, Query()).columns["frequency"]), right)


def test_a_day_that_is_closed_keeps_its_answers(store: Store, computed: list[int]) -> None:
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


def test_what_was_not_used_for_longest_is_forgotten() -> None:
    made: list[int] = []

    def compute(number: int) -> Table:
        made.append(number)
        return table(1_000)

    cache = AnswerCache(2 * (2_000 + 8_000))
    for number in (0, 1, 0, 2, 0, 1):  # the third takes the place of the second, which was used before the first
        cache.get(number, lambda number=number: compute(number))  # type: ignore[misc]
    assert made == [0, 1, 2, 1]
    cache.get("wide", lambda: table(10_000))  # larger than all that may be remembered
    assert cache.size == 2 * (2_000 + 8_000)


def test_an_estimate_takes_no_more_than_it_is_said_to() -> None:
    found = estimate(THEME.mechanism, THEME.labels, Tally.fold(THEME.mechanism, rows_of(THEME, 9)))
    columns = [one for one in vars(found).values() if isinstance(one, np.ndarray)]
    assert found.size >= sum(one.nbytes for one in columns) + 8 * len(found.verdicts)


def test_what_is_remembered_of_many_days_takes_no_more_than_it_is_said_to(store: Store) -> None:
    """An answer is found by what was collected on each of its days, which once took ten times its own room."""
    for number in range(400):
        add(store, THEME, 1, TODAY - timedelta(days=number))
    cache = AnswerCache(1 << 30)
    reader = EstimateReader(store, cache)
    reader.exhibit(THEME, Query(), EVERYONE, Look("", 1, 12))
    before = cache.size
    tracemalloc.start()
    for number in range(20):
        reader.table(THEME, Query(forged=0.01 + number / 1000))
        reader.exhibit(THEME, Query(), EVERYONE, Look(f"{number}" + "x" * 10_000, 1, 12))
    gc.collect()
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken < 2 * (cache.size - before)


def test_many_threads_use_one() -> None:
    cache = AnswerCache(2 * 10_000)
    wrong: list[int] = []

    def use(first: int) -> None:
        for turn in range(100):
            number = (first + turn) % 8
            if len(cache.get(number, lambda number=number: table(900 + number))) != 900 + number:  # type: ignore[misc]
                wrong.append(turn)

    threads = [threading.Thread(target=use, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert 0 < cache.size <= 2 * 10_000
