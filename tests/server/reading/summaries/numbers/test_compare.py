"""Whether a number differs: false alarms, coverage and power by exact draws, and what is not compared."""

import math

import numpy as np
import pytest
from scipy import stats

from dither_server.reading.query import Comparison
from dither_server.reading.summaries.numbers.compare import compared
from dither_server.reading.summaries.numbers.scale import Scale
from dither_server.tally.tally import Tally
from dither_shared import Metric, ParameterError

from .surveys import LINEAR, LOG, PERMANENT, TABLE, bare, drawn, hill, metric, nothing, survey

RUNS = 150


def rows(one: Metric, first: Tally, second: Tally, *, change: float = 0.01, other: Metric | None = None) -> list[dict]:  # type: ignore[type-arg]
    sides = survey(one, first), survey(other or one, second)
    return compared(sides, Comparison(change=change), bare).rows()


def few(chance: float, runs: int = RUNS) -> int:
    """At most so many of the runs have what each has with ``chance``, but for one in ten million."""
    return int(stats.binom.isf(1e-7, runs, chance))


@pytest.mark.parametrize("one", [LINEAR, LOG, PERMANENT, TABLE])
@pytest.mark.parametrize("reports", [(50, 50), (60, 3000)])
def test_where_nothing_changes_a_change_is_seldom_seen(one: Metric, reports: tuple[int, int]) -> None:
    rng, shares = np.random.default_rng(5), hill(one, 0.2)
    seen = [[row["changed"] for row in rows(one, *(drawn(one, shares, n, rng) for n in reports))] for _ in range(RUNS)]
    assert sum(map(any, seen)) <= few(0.05)
    assert (np.sum(seen, axis=0) <= few(0.05 / 3)).all()


@pytest.mark.parametrize(("one", "middles"), [(LINEAR, (0.3, 0.5)), (LOG, (0.6, 0.3)), (LOG, (0.3, 0.6))])
def test_intervals_hold_the_difference(one: Metric, middles: tuple[float, float]) -> None:
    """Also of geometric means that differ much, the first of which is known badly."""
    rng, scale, sides = np.random.default_rng(6), Scale.of(one), [hill(one, middle) for middle in middles]
    points = np.arange(len(sides[0])) / scale.last
    means = [scale.value(float(shares @ points)) for shares in sides]
    medians = [scale.at(int(np.searchsorted(np.cumsum(shares), 0.5))) for shares in sides]
    missed, mean, errors = 0, [], []
    for _ in range(RUNS):
        row, median, _ = rows(one, drawn(one, sides[0], 200, rng), drawn(one, sides[1], 20_000, rng))
        missed += not row["low"] <= means[1] - means[0] <= row["high"]
        mean.append(row["difference"])
        errors.append(row["standard_error"])
        assert median["low"] <= medians[1] - medians[0] <= median["high"]  # in far more than 95%
    assert missed <= few(0.06)
    assert np.mean(errors) == pytest.approx(np.std(mean), rel=0.35)


def test_so_many_reports_see_the_change_with_the_power_that_is_said() -> None:
    rng, scale = np.random.default_rng(7), Scale.of(LINEAR)
    sides = [hill(LINEAR, middle) for middle in (0.4, 0.44)]
    change = float((sides[1] - sides[0]) @ np.arange(scale.last + 1) / scale.last)
    some = drawn(LINEAR, sides[0], 10**6, rng)
    needed = rows(LINEAR, some, some, change=change)[0]["reports_needed"]
    assert 5000 < needed < 50_000
    seen = sum(rows(LINEAR, *(drawn(LINEAR, one, needed, rng) for one in sides))[0]["changed"] for _ in range(RUNS))
    assert RUNS - few(0.2) <= seen <= few(0.8)


def test_a_great_change_is_seen_by_all_three() -> None:
    rng = np.random.default_rng(8)
    seen = rows(LOG, *(drawn(LOG, hill(LOG, middle), 100_000, rng) for middle in (0.3, 0.6)))
    assert [(row["value"], row["changed"], row["reports_needed"]) for row in seen] == [
        ("mean", True, None),
        ("p50", True, None),
        ("p95", True, None),
    ]
    assert all(0 < row["low"] < row["difference"] < row["high"] for row in seen)


@pytest.mark.parametrize("counts", [(0, 0), (0, 100), (100, 0), (1, 1), (49, 10**6)])
def test_few_reports_are_shown_and_not_tested(counts: tuple[int, int]) -> None:
    rng = np.random.default_rng(9)
    mean, *quantiles = rows(LINEAR, *(drawn(LINEAR, hill(LINEAR, 0.5), n, rng) for n in counts))
    assert (mean["p_value"], mean["adjusted"], mean["changed"]) == (None, None, False)
    assert (mean["difference"] is None) == (0 in counts)
    if 0 in counts:
        assert not any(row["changed"] for row in quantiles)
        assert all(-10 <= row["low"] <= row["high"] <= 10 for row in quantiles)
    else:
        assert -10 <= mean["low"] <= mean["high"] <= 10


def test_what_two_ranges_cut_off_does_not_pass_for_a_change() -> None:
    """The same people, of whom half are beyond the end of the first range."""
    wide = metric('low = 0.0\nhigh = 20.0\nunit = "s"\nepsilon = 1.0')
    rng = np.random.default_rng(10)
    folded = np.append(hill(wide, 0.6, 0.02)[:64], hill(wide, 0.6, 0.02)[64:].sum())
    narrow = np.zeros(LINEAR.mechanism.size or 0)
    narrow[::2] = folded
    seen = rows(LINEAR, drawn(LINEAR, narrow, 10**6, rng), drawn(wide, hill(wide, 0.6, 0.02), 10**6, rng), other=wide)
    assert [row["changed"] for row in seen] == [False] * 3
    assert (seen[0]["p_value"], seen[0]["reports_needed"]) == (None, None)
    assert seen[0]["first"] == pytest.approx(10, abs=0.1)
    assert seen[1]["low"] <= 0 <= seen[1]["high"]


@pytest.mark.parametrize("keys", ['unit = "ms"', 'unit = "s"\nlog = true'])
def test_other_units_and_scales_are_not_compared(keys: str) -> None:
    other = metric(f"low = 0.5\nhigh = 10.0\nepsilon = 1.0\n{keys}")
    with pytest.raises(ParameterError, match="other units, or only one is on a log scale"):
        rows(LINEAR, nothing(LINEAR), nothing(other), other=other)


def test_a_mean_beyond_all_doubles_is_none() -> None:
    huge = metric("low = 1e-300\nhigh = 1e300\nlog = true\nepsilon = 0.01")
    counts = nothing(huge).counts.copy()
    counts[0, -1] = 1
    row = rows(huge, nothing(huge), Tally(counts.sum(axis=1), counts))[0]
    assert (row["first"], row["second"], row["difference"]) == (None, None, None)
    assert all(number is None or math.isfinite(number) for number in row.values() if not isinstance(number, str))
