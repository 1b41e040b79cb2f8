"""Changes of a number between two surveys and over days: false alarms, coverage and power, from exact draws."""

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dither_server.analysis.trend import TrendStep
from dither_server.reading.query import Comparison
from dither_server.reading.summaries.number_changes import compared
from dither_server.reading.summaries.number_changes import trend as trend_table
from dither_server.reading.summaries.number_scale import Scale
from dither_server.tally.tally import Tally
from dither_shared import Metric, ParameterError
from server.collecting import TODAY

from .number_surveys import LINEAR, LOG, PERMANENT, TABLE, bare, drawn, hill, metric, nothing, survey

RUNS = 80
DAYS, PEOPLE = 6, 300


def comparison(
    number: Metric, first: Tally, second: Tally, *, change: float = 0.01, other: Metric | None = None
) -> list[dict[str, Any]]:
    first_side, second_side = survey(number, first, by=bare), survey(other or number, second, by=bare)
    return compared((first_side, second_side), Comparison(change=change)).rows()


def trend(number: Metric, tallies: list[Tally]) -> dict[str, Any]:
    days = [TODAY + timedelta(days=number) for number in range(len(tallies))]
    steps = [TrendStep(day, day, bare(number, (), tally, 0.95)) for day, tally in zip(days, tallies, strict=True)]
    return trend_table(number, steps, 0.95).whole()


def most(chance: float, runs: int = RUNS) -> int:
    """How many of the runs show what each shows with this chance, at most, with an error probability of 1e-7."""
    return int(stats.binom.isf(1e-7, runs, chance))


def test_comparison_of_the_same_people_is_seldom_a_change() -> None:
    for number, reports in ((PERMANENT, (50, 50)), (LOG, (60, 3000))):
        rng, shares = np.random.default_rng(5), hill(number, 0.2)
        rows = [comparison(number, *(drawn(number, shares, n, rng) for n in reports)) for _ in range(RUNS // 2)]
        assert all(mean["changed"] == (mean["adjusted"] < 0.05) for mean, *_ in rows), number
        changed = [[row["changed"] for row in run] for run in rows]
        assert sum(map(any, changed)) <= most(0.05, RUNS // 2), number
        assert (np.sum(changed, axis=0) <= most(0.05 / 3, RUNS // 2)).all(), number


def test_intervals_hold_the_true_difference() -> None:
    """The geometric mean too, of which one side is known badly."""
    for number, middles in ((LINEAR, (0.3, 0.5)), (LOG, (0.6, 0.3))):
        rng, scale, sides = np.random.default_rng(6), Scale.of(number), [hill(number, middle) for middle in middles]
        points = np.arange(len(sides[0])) / scale.last
        means = [scale.value(float(shares @ points)) for shares in sides]
        medians = [scale.at(int(np.searchsorted(np.cumsum(shares), 0.5))) for shares in sides]
        missed, differences, errors = 0, [], []
        for _ in range(RUNS):
            mean, median, _ = comparison(number, *(drawn(number, sides[n], (200, 20_000)[n], rng) for n in (0, 1)))
            missed += not mean["low"] <= means[1] - means[0] <= mean["high"]
            differences.append(mean["difference"])
            errors.append((mean["high"] - mean["low"]) / 2 / 1.96)
            assert median["low"] <= medians[1] - medians[0] <= median["high"]  # in far more than 95%
        assert missed <= most(0.06), number
        assert np.mean(errors) == pytest.approx(np.std(differences), rel=0.4), number


def test_reports_needed_see_the_change_with_the_stated_power() -> None:
    rng, scale = np.random.default_rng(7), Scale.of(LINEAR)
    sides = [hill(LINEAR, middle) for middle in (0.4, 0.44)]
    change = float((sides[1] - sides[0]) @ np.arange(scale.last + 1) / scale.last)
    some = drawn(LINEAR, sides[0], 10**6, rng)
    needed = comparison(LINEAR, some, some, change=change)[0]["reports_needed"]
    assert 5000 < needed < 50_000
    assert comparison(LINEAR, some, some, change=1e-300)[0]["reports_needed"] is None  # more than can be counted
    seen = sum(
        comparison(LINEAR, *(drawn(LINEAR, side, needed, rng) for side in sides))[0]["changed"] for _ in range(RUNS)
    )
    assert RUNS - most(0.2) <= seen <= most(0.8)


def test_large_change_is_seen_in_mean_and_quantiles() -> None:
    rng = np.random.default_rng(8)
    rows = comparison(LOG, *(drawn(LOG, hill(LOG, middle), 100_000, rng) for middle in (0.3, 0.6)))
    assert [(row["value"], row["changed"], row["reports_needed"]) for row in rows] == [
        ("geometric mean", True, None),
        ("p50", True, None),
        ("p95", True, None),
    ]
    assert all(0 < row["low"] < row["difference"] < row["high"] for row in rows)


@pytest.mark.parametrize("counts", [(0, 0), (0, 100), (100, 0), (1, 1), (49, 10**6)])
def test_comparison_of_few_reports_is_shown_and_not_tested(counts: tuple[int, int]) -> None:
    rng = np.random.default_rng(9)
    mean, *quantiles = comparison(LINEAR, *(drawn(LINEAR, hill(LINEAR, 0.5), n, rng) for n in counts))
    assert (mean["p_value"], mean["adjusted"], mean["changed"]) == (None, None, False)
    assert (mean["difference"] is None) == (0 in counts)
    if 0 in counts:
        assert not any(row["changed"] for row in quantiles)
        assert all(-10 <= row["low"] <= row["high"] <= 10 for row in quantiles)
    else:
        assert -10 <= mean["low"] <= mean["high"] <= 10


def test_people_beyond_a_narrower_range_are_no_change() -> None:
    """The same people, of whom half lie beyond the end of the first range."""
    wide = metric('low = 0.0\nhigh = 20.0\nunit = "s"\nepsilon = 1.0')
    rng, shares = np.random.default_rng(10), hill(wide, 0.6, 0.02)
    narrow = np.zeros(LINEAR.mechanism.size or 0)
    narrow[::2] = np.append(shares[:64], shares[64:].sum())
    rows = comparison(LINEAR, drawn(LINEAR, narrow, 10**6, rng), drawn(wide, shares, 10**6, rng), other=wide)
    assert [row["changed"] for row in rows] == [False] * 3
    assert (rows[0]["p_value"], rows[0]["reports_needed"]) == (None, None)
    assert rows[0]["first"] == pytest.approx(10, abs=0.1)
    assert rows[1]["low"] <= 0 <= rows[1]["high"]


def test_other_units_and_scales_are_not_compared() -> None:
    for keys in ('unit = "ms"', 'unit = "s"\nlog = true'):
        other = metric(f"low = 0.5\nhigh = 10.0\nepsilon = 1.0\n{keys}")
        with pytest.raises(ParameterError, match="different units, or only one is on a log scale"):
            comparison(LINEAR, nothing(LINEAR), nothing(other), other=other)


@pytest.mark.parametrize(("number", "least", "most"), [(LINEAR, 1.0, 1.1), (PERMANENT, 1.1, 1.2)])
def test_permanent_draws_widen_the_error_of_a_slope(number: Metric, least: float, most: float) -> None:
    """The same people may report on all days: a permanent draw adds the same error to each."""
    rng = np.random.default_rng(3)
    tallies = [drawn(number, hill(number, 0.5, 2), PEOPLE, rng) for _ in range(DAYS)]
    mean = trend(number, tallies)["values"][0]
    errors = [bare(number, (), tally, 0.95).mean.standard_error for tally in tallies]
    independent = Scale.of(number).width * np.sqrt(np.mean(np.square(errors)) / np.sum((np.arange(DAYS) - 2.5) ** 2))
    assert least <= mean["slope_error"] / independent < most
    assert not mean["drift"]


def test_drift_is_seen_with_its_slope() -> None:
    for number, width, unit in ((LINEAR, 10, "s"), (TABLE, 10, "unit"), (LOG, np.log(1200), "logarithm")):
        rng = np.random.default_rng(12)
        answer = trend(number, [drawn(number, hill(number, 0.4 + 0.02 * day), 10**6, rng) for day in range(4)])
        mean, *quantiles = answer["values"]
        assert mean["drift"], number
        assert mean["slope"] == pytest.approx(0.02 * width, rel=0.05)
        assert mean["adjusted"] == mean["p_value"] < 1e-6
        assert answer["slope_unit"] == f"{unit} per day"
        assert [(row["value"], row["p_value"], row["drift"]) for row in quantiles] == [
            ("p50", None, False),
            ("p95", None, False),
        ]


def test_few_steps_or_reports_are_shown_and_not_tested() -> None:
    for counts in ([], [1], [0, 0], [49, 10_000], [10_000, 1, 1]):
        rng = np.random.default_rng(13)
        answer = trend(LINEAR, [drawn(LINEAR, hill(LINEAR, 0.5), n, rng) for n in counts])
        assert [step["tested"] for step in answer["steps"]] == [n >= 50 for n in counts]
        assert [(row["slope"], row["drift"], len(row["points"])) for row in answer["values"]] == [
            (None, False, len(counts))
        ] * 3
