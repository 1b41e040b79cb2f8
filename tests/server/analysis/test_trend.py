"""Drift is reported if there is some and hardly ever if there is none, whether or not people report again."""

from datetime import date, timedelta
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dither_server.analysis.trend import TrendStep, contrasts, together, worst_variance
from dither_server.analysis.trend import trend as trend_table
from dither_server.app import collector_of, create_app
from dither_server.estimation.estimate import Estimate, debiased
from dither_server.estimation.intervals.score import noise_law, shared_variance, third_moment
from dither_server.tally.tally import Tally
from dither_shared import Metric, RandomizedResponse, parse_metrics
from dither_shared.mechanisms.randomized_response import symbol_chain
from dither_simulations.samplers import sample_tally
from dither_simulations.users.populations import Population
from server.collecting import THEME, config, problem, rows_of, upload

FIRST = date(2026, 11, 2)  # a Monday
FRESH, MEMOISED, CHOICE = parse_metrics(
    """
[metrics.fresh]
type = "boolean"
epsilon = 1.0
[metrics.memoised]
type = "boolean"
epsilon = 1.0
permanent_epsilon = 2.0
[metrics.choice]
type = "choice"
mechanism = "optimized-unary"
values = ["a", "b", "c", "d"]
epsilon = 1.0
"""
).values()
PEOPLE = 1_000


def trend(metric: Metric, stretches: list[TrendStep[Estimate]], confidence: float = 0.95) -> dict[str, Any]:
    return trend_table(metric, len(stretches), stretches, confidence).whole()


def on_days(metric: Metric, tallies: list[Tally]) -> list[TrendStep[Estimate]]:
    """Estimate each day without intervals, which a test that makes thousands of estimates can do without."""
    days = [FIRST + timedelta(days=number) for number in range(len(tallies))]
    return [TrendStep(day, day, bare(metric, tally)) for day, tally in zip(days, tallies, strict=True)]


def bare(metric: Metric, tally: Tally) -> Estimate:
    frequency = debiased(metric.mechanism, metric.labels, tally).frequency
    error = noise_law(metric.mechanism).sampled().error(np.clip(frequency, 0, 1), np.array([tally.total]))
    columns = (frequency, error, frequency, frequency, error, frequency, frequency, frequency)
    return Estimate(metric.labels, tally.total, 0.95, None, *columns, (), None, None, 1.0)


def strangers(metric: Metric, shares: list[list[float]], rng: np.random.Generator, people: int = PEOPLE) -> list[Tally]:
    """Draw different people with these shares on each day."""
    return [
        sample_tally(metric.mechanism, Population(metric.labels, rng.multinomial(people, row)), rng) for row in shares
    ]


def crowds(metric: Metric, days: list[int], rng: np.random.Generator) -> list[Tally]:
    """Crowds who keep their answer (3 in 10 yes) and their permanent draw; each crowd reports on its days."""
    mechanism = metric.mechanism
    assert isinstance(mechanism, RandomizedResponse)
    chain = symbol_chain(2, mechanism.truth, mechanism.permanent_truth)
    truth, tallies = float(chain.instant.truth), list[Tally]()
    for length in days:
        yes = rng.binomial(PEOPLE, 0.3)
        if mechanism.permanent_truth is not None:
            first = float(mechanism.permanent_truth)
            yes = rng.binomial(yes, first) + rng.binomial(PEOPLE - yes, 1 - first)
        for _ in range(length):
            said = rng.binomial(yes, truth) + rng.binomial(PEOPLE - yes, 1 - truth)
            tallies.append(Tally(np.array([PEOPLE]), np.array([[PEOPLE - said, said]])))
    return tallies


def flagged(metric: Metric, shares: list[list[float]], surveys: int, people: int) -> int:
    """Return the number of surveys of different people on each day in which any value drifts."""
    rng = np.random.default_rng(20261120)
    days = (on_days(metric, strangers(metric, shares, rng, people)) for _ in range(surveys))
    return sum(any(course["drift"] for course in trend(metric, of_survey)["values"]) for of_survey in days)


def rare(size: int) -> Metric:
    values = ", ".join(f'"{number}"' for number in range(size - 1))
    kind = f'type = "choice"\nmechanism = "optimized-unary"\nvalues = [{values}]\nepsilon = 5.0\n'
    return parse_metrics(f"[metrics.x]\n{kind}")["x"]


def test_rise_of_a_rare_value_is_flagged_as_drift() -> None:
    """None of 100 a day, and then 20: support is expected of 0.7 and then of 10, 11 standard deviations more."""
    metric, rng = rare(3), np.random.default_rng(5)
    shares = [[0.9, 0.0, 0.1]] * 20 + [[0.7, 0.2, 0.1]]
    answer = trend(metric, on_days(metric, strangers(metric, shares, rng, 100)))
    assert [course["drift"] for course in answer["values"]][1]


@pytest.mark.parametrize(
    "shares",
    [[0.2 + 0.02 * day for day in range(10)], [0.2] * 9 + [0.5], [0.2] * 5 + [0.45] * 5],
    ids=["slope", "spike", "step"],
)
def test_trend_reports_slope_spike_and_step_as_drift(shares: list[float]) -> None:
    """Each of these is many standard errors: the least z is 7, so that it is missed with a probability below 1e-3."""
    rng = np.random.default_rng(2)
    answer = trend(FRESH, on_days(FRESH, strangers(FRESH, [[1 - share, share] for share in shares], rng, 20_000)))
    assert all(one["drift"] for one in answer["values"])
    course = answer["values"][1]
    assert (course["slope"] or 0) > 0
    if shares[1] == 0.22:
        yes = [point["frequency"] for point in course["points"]]
        assert course["slope"] == pytest.approx(np.polyfit(np.arange(10), yes, 1)[0])
        p, q = float(FRESH.mechanism.p), float(FRESH.mechanism.q)
        supported = q + float(np.mean(yes)) * (p - q)
        error = (supported * (1 - supported) / 20_000) ** 0.5 / (p - q) / np.sqrt(82.5)
        assert error < course["slope_error"] < 1.3 * error  # shared people may add a little


RAPPOR = parse_metrics(
    '[metrics.x]\ntype = "string"\nmechanism = "rappor"\nbits = 16\nhashes = 2\ncohorts = 2\nf = 0.5\np = 0.5\n'
    'q = 0.75\ncandidates = ["a", "b"]\n'
)["x"]


@pytest.mark.parametrize(
    ("metric", "low"),
    [(FRESH, 0.02), (FRESH, -0.2), (FRESH, 0.4), (MEMOISED, 0.02), (RAPPOR, 0.02)],
    ids=["fresh", "negative", "less-noise-than-people", "memoised", "regression"],
)
def test_slope_and_steps_are_tested_by_their_worst_variance_and_skewness_under_no_change(
    metric: Metric, low: float
) -> None:
    """Three weeks with unequally many reports, of which people gave up to 10, 20 and 30; the last is shorter.

    The noise is the mean over weeks; what people share adds up in those with one sign. Of a regression all is shared.
    """
    mechanism, reports, repeats = metric.mechanism, np.array([1_000.0, 400.0, 2_000.0]), np.array([10.0, 20.0, 30.0])
    frequency, errors = low + np.array([0.0, 0.06, 0.14]), np.array([0.05, 0.08, 0.04])
    weeks = []
    for place, days in enumerate((7, 7, 3)):
        since = FIRST + timedelta(days=7 * place)
        share, error = np.array([frequency[place], 1 - frequency[place]]), np.full(2, errors[place])
        columns = (share, error, share, share, error, share, share, share)
        known = Estimate(metric.labels, int(reports[place]), 0.9, None, *columns, (), None, None, repeats[place])
        weeks.append(TrendStep(since, since + timedelta(days=days - 1), known))
    table = trend_table(metric, 3, weeks, 0.9)
    row, opposite = table.rows()
    assert list(chain(*table.chunks())) == [row, opposite]
    assert trend_table(metric, 3, weeks, 0.9, np.array([1])).rows() == [opposite]
    overall = reports @ frequency / reports.sum()
    shared, third = reports**2 @ errors**2 / reports.sum() / reports, np.zeros(3)
    if mechanism.pure:
        at, each = np.array([max(overall, 0.0)]), list(zip(reports, repeats, strict=True))
        shared = np.array([d * shared_variance(mechanism, at, n)[0] for n, d in each])
        third = np.array([third_moment(mechanism, at, np.array([n]), d, sampled=True)[0] for n, d in each])
    noise = max(float(reports**2 @ (errors**2 - shared)), 0.0) / reports.sum() / reports
    p_values = []
    for weights in contrasts(np.array([3.0, 10.0, 15.0]), reports):
        summed = [sum(w * s**0.5 for w, s in zip(weights, shared, strict=True) if w * side > 0) for side in (1, -1)]
        spread = float(weights**2 @ noise + np.square(summed).sum()) ** 0.5
        law = stats.pearson3(weights**3 @ third / spread**3)
        score = weights @ frequency / spread
        p_values.append(2 * min(law.cdf(score), law.sf(score)))
        if len(p_values) == 1:
            assert row["slope"] == pytest.approx(weights @ frequency)
            assert row["slope_error"] == pytest.approx(spread)
    assert row["p_value"] == pytest.approx(min(1, 2 * p_values[0], 6 * min(p_values[1:])))
    assert (opposite["slope"], opposite["p_value"]) == pytest.approx((-row["slope"], row["p_value"]))


def test_small_steps_are_shown_and_not_tested() -> None:
    rng = np.random.default_rng(1)
    enough, few = (strangers(FRESH, [[0.7, 0.3]], rng, people) for people in (50, 49))
    answer = trend(FRESH, on_days(FRESH, enough + few))
    assert [step["tested"] for step in answer["steps"]] == [True, False]
    assert [len(course["points"]) for course in answer["values"]] == [2, 2]
    assert [(course["p_value"], course["drift"]) for course in answer["values"]] == [(None, False)] * 2
    assert trend(FRESH, [])["steps"] == []
    assert len(list(trend_table(FRESH, 0, [], 0.95).chunks())) == 1
    chunks = list(trend_table(FRESH, 300, on_days(FRESH, few) * 300, 0.95).chunks())
    assert [len(rows) for rows in chunks] == [1, 1], "one row with so many points is written at a time"
    assert [course["points"] for course in trend(FRESH, [])["values"]] == [[], []]


def test_route_shows_steps_of_days_and_weeks_with_drift_and_slope(tmp_path: Path) -> None:
    app = create_app(config(tmp_path))
    store, client = collector_of(app).store, app.test_client()
    for number in (0, 1, 7, 8, 9):
        value = "light" if number < 7 else "dark"
        day = FIRST + timedelta(days=number)
        store.commit([upload(THEME, rows_of(THEME, 200, str(number).encode(), value))], day, b"s" * 16)
    days = client.get("/v1/metrics/theme/trend").json
    weeks = client.get("/v1/metrics/theme/trend?step=week&since=2026-11-03&confidence=0.9").json
    assert days is not None
    assert weeks is not None
    assert [step["since"] for step in days["steps"]] == [f"2026-11-{day:02}" for day in (2, 3, 9, 10, 11)]
    assert [(step["since"], step["until"], step["reports"]) for step in weeks["steps"]] == [
        ("2026-11-03", "2026-11-08", 200),
        ("2026-11-09", "2026-11-15", 600),
    ]
    rows = {course["value"]: course for course in days["values"]}
    assert rows["dark"]["drift"]
    assert rows["light"]["slope"] < -0.05
    assert not rows["other"]["drift"]
    assert weeks["confidence"] == 0.9
    assert days["slope_unit"] == weeks["slope_unit"] == "share per day"
    for course in weeks["values"]:  # from the middle of 3 to 8 November to that of 9 to 15 November
        first, last = (point["frequency"] for point in course["points"])
        assert course["slope"] == pytest.approx((last - first) / 6.5)
    assert problem(client.get("/v1/metrics/theme/trend?step=year")) == (400, "parameter")
    collector_of(app).close()


@pytest.mark.parametrize("steps", [2, 3, 10])
def test_contrasts_ignore_the_level_and_the_first_is_the_slope(steps: int) -> None:
    rng = np.random.default_rng(1)
    when, reports = np.sort(rng.uniform(0, 100, steps)), rng.uniform(1, 100, steps)
    weights = contrasts(when, reports)
    assert weights.shape == (1 if steps == 2 else steps + 1, steps)
    assert weights.sum(axis=1) == pytest.approx(0, abs=1e-12)
    assert weights[0] @ (3 + 0.25 * when) == pytest.approx(0.25)
    fitted = np.polyfit(when, np.arange(steps) ** 2.0, 1, w=np.sqrt(reports))[0]
    assert weights[0] @ np.arange(steps) ** 2.0 == pytest.approx(fitted)
    for place, row in enumerate(weights[1:]):
        others = np.delete(np.arange(steps), place)
        assert row[place] == 1
        assert row[others] == pytest.approx(-reports[others] / reports[others].sum())


def test_the_worst_variance_is_that_of_a_crowd_that_comes_when_weights_are_positive() -> None:
    weights = np.array([[0.5, -1.0, 0.5]])
    shared, noise = 0.04, 0.01
    columns = np.full((3, 1), shared + noise), np.full((3, 1), shared)
    together_ = (0.5 + 0.5) ** 2 * shared + shared  # the first and the third are the same people, the second are others
    expected = together_ + noise * (0.25 + 1 + 0.25)
    assert worst_variance(weights, *columns) == pytest.approx(np.array([[expected]]))
    alone = worst_variance(weights, columns[0], 0 * columns[1])
    assert alone == pytest.approx(weights**2 @ columns[0])
    assert worst_variance(weights, 0 * columns[0], columns[1]) == pytest.approx(np.array([[together_]]))


def test_half_of_the_error_is_for_the_slope_and_half_for_all_steps() -> None:
    assert together(np.array([[0.01, 0.4], [0.5, 0.001], [0.6, 0.9]])) == pytest.approx([0.02, 0.004])
    assert together(np.array([[0.03]])) == pytest.approx([0.03])
    assert together(np.array([[0.9], [0.9], [0.9]])) == pytest.approx([1.0])


@pytest.mark.parametrize(
    ("metric", "shares", "surveys"),
    [(FRESH, [0.7, 0.3], 250), (CHOICE, [0.6, 0.3, 0.1, 0, 0], 60)],
    ids=["two", "many"],
)
def test_days_of_different_people_are_flagged_at_most_as_often_as_stated(
    metric: Metric, shares: list[float], surveys: int
) -> None:
    """Courses of ten days: flagged at most as often as 1 in 20, by a binomial law with a probability of 1e-6."""
    assert flagged(metric, [shares] * 10, surveys, PEOPLE) <= stats.binom.isf(1e-6, surveys, 0.05)


def test_rare_values_are_flagged_at_most_as_often_as_stated() -> None:
    """A day of 100 people has less than one report that supports a value: 30 days, by a binomial law at 1e-6.

    With normal tails about 28 of 100 such surveys have a value that drifts, and 18 may.
    """
    assert flagged(rare(128), [[1.0, *[0.0] * 127]] * 30, 100, 100) <= 18


@pytest.mark.parametrize("metric", [FRESH, MEMOISED], ids=["fresh", "memoised"])
def test_people_who_report_again_are_flagged_at_most_as_often_as_stated(metric: Metric) -> None:
    """One crowd after another: neither shared errors nor the end of a crowd is flagged.

    Of 150 courses 23 may be flagged, by a binomial law of 5% at 1e-6.
    """
    rng = np.random.default_rng(7)
    courses = (trend(metric, on_days(metric, crowds(metric, [5, 5], rng)))["values"] for _ in range(150))
    assert sum(any(course["drift"] for course in values) for values in courses) <= 23
