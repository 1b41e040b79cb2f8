"""Estimates of days are computed once, while they are true and there is room."""

from datetime import timedelta

import pytest

from dither_server.dashboard import daily as module
from dither_server.dashboard.daily import DailyEstimates
from dither_server.estimate import Estimate, estimate
from dither_server.store import Store
from dither_shared import Metric, parse_metrics
from server.collecting import METRICS_TOML, THEME, TODAY, VERSION, rows_of, upload


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many labels were estimated, each time that any were."""
    calls: list[int] = []

    def counting(mechanism: object, labels: tuple[str, ...], *more: object) -> Estimate:
        calls.append(len(labels))
        return estimate(mechanism, labels, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "estimate", counting)
    return calls


def add(store: Store, metric: Metric, count: int, day: int = 0) -> None:
    store.commit([upload(metric, rows_of(metric, count))], TODAY + timedelta(days=day), b"s" * 16)


def test_a_day_is_estimated_once_until_it_grows(store: Store, computed: list[int]) -> None:
    daily = DailyEstimates(store)
    add(store, THEME, 50)
    first = daily.of(THEME, TODAY, 50, 0.95)
    assert daily.of(THEME, TODAY, 50, 0.95) is first
    assert daily.of(THEME, TODAY, 50, 0.5).confidence == 0.5
    add(store, THEME, 7)
    assert daily.of(THEME, TODAY, 57, 0.95).reports == 57
    assert computed == [4, 4, 4]


def test_other_candidates_are_other_estimates(store: Store, computed: list[int]) -> None:
    daily = DailyEstimates(store)
    add(store, VERSION, 50)
    more = parse_metrics(METRICS_TOML.replace('["1.0", "2.0"]', '["1.0", "2.0", "3.0"]'))["version"]
    assert len(daily.of(VERSION, TODAY, 50, 0.95).labels) == 2
    assert len(daily.of(more, TODAY, 50, 0.95).labels) == 3
    assert computed == [2, 3]


def test_what_was_not_used_for_longest_is_forgotten(store: Store, computed: list[int]) -> None:
    daily = DailyEstimates(store, room=2 * len(THEME.labels))
    for day in (0, 1, 0, 2, 0, 1):  # the third takes the place of the second, which was used before the first
        daily.of(THEME, TODAY + timedelta(days=day), 0, 0.95)
    assert computed == [4] * 4
