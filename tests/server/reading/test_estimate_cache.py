"""Estimates are computed once for a tally, whoever counted it, while there is room."""

import threading
from datetime import date

import numpy as np
import pytest

from dither_server.estimation.estimate import Estimate, estimate
from dither_server.reading import estimate_cache as module
from dither_server.reading.estimate_cache import EstimateCache
from dither_server.reading.estimates import EstimateReader
from dither_server.reading.query import Query
from dither_server.store import Store
from dither_server.tally.tally import Tally
from dither_shared import Metric, parse_metrics
from server.collecting import METRICS_TOML, THEME, TODAY, VERSION, rows_of, upload

PLENTY = 1 << 20


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many labels were estimated, each time that any were."""
    calls: list[int] = []

    def counting(mechanism: object, labels: tuple[str, ...], *more: object, **named: object) -> Estimate:
        calls.append(len(labels))
        return estimate(mechanism, labels, *more, **named)  # type: ignore[arg-type]

    monkeypatch.setattr("dither_server.reading.summaries.shares.estimate", counting)
    return calls


def add(store: Store, metric: Metric, count: int, day: date = TODAY, shard: bytes = b"s" * 16) -> None:
    store.commit([upload(metric, rows_of(metric, count))], day, shard)


def test_a_tally_is_estimated_once(store: Store, computed: list[int]) -> None:
    reader = EstimateReader(store, EstimateCache(PLENTY))
    add(store, THEME, 50)
    first = reader.table(THEME, Query())
    assert reader.table(THEME, Query(forged=0.2)).columns["frequency"] is first.columns["frequency"]
    assert next(reader.tables(THEME, Query(by_day=True))).columns["frequency"] is first.columns["frequency"]
    assert computed == [4]
    reader.table(THEME, Query(confidence=0.5))
    reader.table(THEME, Query(simultaneous=True))
    assert computed == [4] * 3


def test_reports_of_any_process_make_another_tally(store: Store, tmp_path: str, computed: list[int]) -> None:
    reader = EstimateReader(store, EstimateCache(PLENTY))
    add(store, THEME, 50)
    reader.table(THEME, Query())
    other = Store(f"sqlite:///{tmp_path}/dither.db")  # as another process would
    add(other, THEME, 7, shard=b"t" * 16)
    other.close()
    assert reader.table(THEME, Query()).about["reports"] == 57
    with store._transaction(write=True) as connection:  # and as many others in their place
        connection.exec_driver_sql("DELETE FROM tallies")
    store.commit([upload(THEME, rows_of(THEME, 57, value="dark"))], TODAY, b"s" * 16)
    table = reader.table(THEME, Query())
    tally = Tally.fold(THEME.mechanism, rows_of(THEME, 57, value="dark"))
    assert table.columns["frequency"].tolist() == estimate(THEME.mechanism, THEME.labels, tally).frequency.tolist()  # type: ignore[union-attr]
    store.disable("theme", None, TODAY)
    assert reader.table(THEME, Query()).about["reports"] == 57
    assert computed == [4] * 3


def test_other_candidates_are_other_estimates(store: Store, computed: list[int]) -> None:
    reader = EstimateReader(store, EstimateCache(PLENTY))
    add(store, VERSION, 50)
    more = parse_metrics(METRICS_TOML.replace('["1.0", "2.0"]', '["1.0", "2.0", "3.0"]'))["version"]
    assert more.version == VERSION.version
    assert len(reader.table(VERSION, Query())) == 2
    assert len(reader.table(more, Query())) == 3
    assert len(reader.table(VERSION, Query(), ("1.0",))) == 1
    assert computed == [2, 3, 1]


def test_what_was_not_used_for_longest_is_forgotten(computed: list[int]) -> None:
    cache = EstimateCache(2 * (1_000 + 73 * len(THEME.labels)))
    tallies = [Tally.fold(THEME.mechanism, rows_of(THEME, count)) for count in (1, 2, 3)]
    for number in (0, 1, 0, 2, 0, 1):  # the third takes the place of the second, which was used before the first
        cache.estimate(THEME, THEME.labels, tallies[number], 0.95)
    assert computed == [4] * 4
    assert cache._bytes <= cache._limit


def test_an_estimate_takes_no_more_than_it_is_said_to() -> None:
    found = estimate(THEME.mechanism, THEME.labels, Tally.fold(THEME.mechanism, rows_of(THEME, 9)))
    columns = [one for one in vars(found).values() if isinstance(one, np.ndarray)]
    assert found.size >= sum(one.nbytes for one in columns) + 8 * len(found.verdicts)


def test_many_threads_use_one(store: Store) -> None:
    cache = EstimateCache(3_000)
    tallies = [Tally.fold(THEME.mechanism, rows_of(THEME, count)) for count in range(1, 9)]
    wrong: list[int] = []

    def use(first: int) -> None:
        for turn in range(100):
            tally = tallies[(first + turn) % len(tallies)]
            if cache.estimate(THEME, THEME.labels, tally, 0.95).reports != tally.total:
                wrong.append(turn)

    threads = [threading.Thread(target=use, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert cache._bytes == sum(module._size(found) for found in cache._known.values()) <= 3_000
