"""The course of a number: drifts that are there and that are not, whoever reports."""

from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dither_server.analysis.trend import TrendStep, finished
from dither_server.reading.summaries.numbers.trend import trend_steps
from dither_server.tally.tally import Tally
from dither_shared import Metric
from server.collecting import TODAY

from .surveys import LINEAR, LOG, PERMANENT, TABLE, bare, drawn, hill

RUNS, DAYS, PEOPLE = 60, 6, 300


def course(metric: Metric, tallies: list[Tally]) -> dict[str, Any]:
    days: list[date] = [TODAY + timedelta(days=number) for number in range(len(tallies))]
    steps = [TrendStep(day, day, bare(metric, (), tally, 0.95)) for day, tally in zip(days, tallies, strict=True)]
    return finished(trend_steps(metric, steps, 0.95)).whole()


def answered(metric: Metric, shares: np.ndarray, rng: np.random.Generator) -> list[tuple[int, int, int]]:
    """People with an answer; of those with a permanent part also their cohort and what they say for ever."""
    mechanism, people = metric.mechanism, []
    for point in rng.choice(len(shares), PEOPLE, p=shares):
        cohort = int(rng.integers(mechanism.cohorts))
        (cell,) = mechanism.marked(int(point), cohort)
        if mechanism.memoised and rng.random() > mechanism.permanent_truth:  # type: ignore[attr-defined]
            cell = (cell + int(rng.integers(1, mechanism.cells))) % mechanism.cells
        people.append((int(point), cohort, cell))
    return people


def reported(metric: Metric, people: list[tuple[int, int, int]], rng: np.random.Generator) -> Tally:
    """One report of each."""
    mechanism = metric.mechanism
    counts = np.zeros((mechanism.cohorts, mechanism.cells), dtype=np.int64)
    for point, of_theirs, cell in people:
        cohort, said = of_theirs, cell
        if not mechanism.memoised:
            cohort = int(rng.integers(mechanism.cohorts))
            (said,) = mechanism.marked(point, cohort)
        if rng.random() > mechanism.truth:  # type: ignore[attr-defined]
            said = (said + int(rng.integers(1, mechanism.cells))) % mechanism.cells
        counts[cohort, said] += 1
    return Tally(counts.sum(axis=1), counts)


@pytest.mark.parametrize("metric", [LOG, PERMANENT])
@pytest.mark.parametrize("crowds", [0, 1, 2])
def test_crowds_do_not_pass_for_drift(metric: Metric, crowds: int) -> None:
    """Other people each day; the same on all days; the same on the first half, and others on the second."""
    rng, shares = np.random.default_rng(11), hill(metric, 0.5, 2)
    drifts = 0
    for _ in range(RUNS):
        if crowds:
            known = [answered(metric, shares, rng) for _ in range(crowds)]
            tallies = [reported(metric, known[day * crowds // DAYS], rng) for day in range(DAYS)]
        else:
            tallies = [drawn(metric, shares, PEOPLE, rng) for _ in range(DAYS)]
        drifts += course(metric, tallies)["values"][0]["drift"]
    assert drifts <= stats.binom.isf(1e-7, RUNS, 0.05)


@pytest.mark.parametrize("metric", [LINEAR, TABLE, LOG])
def test_a_drift_is_seen_with_its_slope(metric: Metric) -> None:
    rng = np.random.default_rng(12)
    told = course(metric, [drawn(metric, hill(metric, 0.4 + 0.02 * day), 10**6, rng) for day in range(4)])
    mean, *quantiles = told["values"]
    width = np.log(1200) if metric is LOG else 10
    assert mean["drift"]
    assert mean["slope"] == pytest.approx(0.02 * width, rel=0.05)
    assert mean["adjusted"] == mean["p_value"] < 1e-6
    units = {LINEAR: "s per day", LOG: "logarithm per day", TABLE: "unit per day"}
    assert told["slope_unit"] == units[metric]
    assert [row["value"] for row in quantiles] == ["p50", "p95"]
    assert {(row["p_value"], row["drift"]) for row in quantiles} == {(None, False)}


@pytest.mark.parametrize("counts", [[], [1], [0, 0], [49, 10_000], [10_000, 1, 1]])
def test_few_steps_or_reports_are_shown_and_not_tested(counts: list[int]) -> None:
    rng = np.random.default_rng(13)
    told = course(LINEAR, [drawn(LINEAR, hill(LINEAR, 0.5), n, rng) for n in counts])
    assert [step["tested"] for step in told["steps"]] == [n >= 50 for n in counts]
    assert [(row["value"], row["slope"], row["drift"]) for row in told["values"]] == [
        ("mean", None, False),
        ("p50", None, False),
        ("p95", None, False),
    ]
    assert [len(row["points"]) for row in told["values"]] == [len(counts)] * 3
