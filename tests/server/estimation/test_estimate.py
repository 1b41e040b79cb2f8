"""Estimates: unbiased, covered, and honest about noise."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from dither_server.estimation.confidence import level_of_each, require_confidence
from dither_server.estimation.estimate import estimate
from dither_server.estimation.fit import onto_simplex, onto_subsimplex, onto_sums
from dither_server.tally.repeats import Repeats
from dither_server.tally.tally import Tally
from dither_shared import (
    BitFlip,
    CountMeanSketch,
    Mechanism,
    OptimizedUnary,
    ParameterError,
    ProjectiveSketch,
    RandomizedResponse,
    SetResponse,
)

SURVEY = RandomizedResponse(size=2, truth=Fraction(3, 4))
NAMES = ("no", "yes")


def tally_of(counts: list[int], reports: int) -> Tally:
    return Tally(np.array([reports]), np.array([counts]))


def test_textbook_survey_has_the_known_estimate_error_and_interval() -> None:
    """1,000 people, 400 say yes: (0.4 - 0.25)/0.5 = 30 in 100, give or take sqrt(.4·.6/1000)/.5."""
    answer = estimate(SURVEY, NAMES, tally_of([600, 400], 1000))
    assert answer.frequency.tolist() == pytest.approx([0.7, 0.3])
    assert answer.standard_error[1] == pytest.approx(np.sqrt(0.4 * 0.6 / 1000) / 0.5)
    exact = stats.binomtest(400, 1000).proportion_ci(0.95, method="exact")
    assert answer.low[1] == pytest.approx((exact.low - 0.25) / 0.5)
    assert answer.high[1] == pytest.approx((exact.high - 0.25) / 0.5)
    assert answer.consistent.tolist() == pytest.approx([0.7, 0.3])
    assert answer.count.tolist() == pytest.approx([700, 300])
    assert answer.verdicts == ("ok", "ok")


def test_a_survey_of_the_opposite_answer_gives_the_same() -> None:
    opposite = RandomizedResponse(size=2, truth=Fraction(1, 4))
    turned = estimate(opposite, NAMES, tally_of([400, 600], 1000))
    straight = estimate(SURVEY, NAMES, tally_of([600, 400], 1000))
    for column in ("frequency", "standard_error", "low", "high", "consistent"):
        assert getattr(turned, column) == pytest.approx(getattr(straight, column))


def test_raw_frequencies_are_not_clipped_and_intervals_stay_within() -> None:
    answer = estimate(SURVEY, NAMES, tally_of([900, 100], 1000))
    assert answer.frequency.tolist() == pytest.approx([1.3, -0.3])
    assert (answer.low[1], answer.noise_low[1]) == (0, 0)
    error = (0.25 * 0.75 / 1000) ** 0.5 / 0.5
    assert 0 < answer.high[1] < 0.15 * error  # 11 standard errors below 0; the interval still has a width
    assert answer.consistent.tolist() == pytest.approx([1.0, 0.0])
    assert answer.standard_error == pytest.approx([error, error])  # those of shares of 1 and of 0


@pytest.mark.parametrize(
    ("yes", "reports", "verdict"),
    [(300, 1000, "ok"), (260, 1000, "noise"), (10, 20, "ok"), (8, 20, "too-few"), (0, 0, "too-few"), (0, 1, "too-few")],
)
def test_verdict_follows_from_the_interval_and_the_reports(yes: int, reports: int, verdict: str) -> None:
    assert estimate(SURVEY, NAMES, tally_of([reports - yes, yes], reports)).verdicts[1] == verdict


def test_estimate_of_no_reports_is_unknown() -> None:
    answer = estimate(SURVEY, NAMES, Tally.zero(SURVEY))
    assert np.isnan(answer.frequency).all()
    assert (answer.low.tolist(), answer.high.tolist()) == ([0, 0], [1, 1])


@pytest.mark.parametrize("repeats", [Repeats(), Repeats((1, 1, 1))])
@pytest.mark.parametrize(
    "mechanism",
    [
        RandomizedResponse.calibrate(2, 1.2),  # of which two reports are enough
        OptimizedUnary.calibrate(4, 0.5),
        OptimizedUnary.calibrate(4, 0.5, 1.0),
        BitFlip.calibrate(6, 0.5, 3),
        ProjectiveSketch.calibrate(None, 0.5, buckets=64),
    ],
    ids=lambda m: m.name,
)
def test_shares_are_shown_once_the_error_separates_0_from_1(mechanism: Mechanism, repeats: Repeats) -> None:
    """In a one-sided test at 95%; a device's reports share their permanent draw, and no noise without one."""
    names = tuple("abcdef"[: mechanism.size or 2])

    def variance(p: Fraction, q: Fraction) -> float:
        return float(q * (1 - q) / (p - q) ** 2)

    shared, coverage = mechanism.permanent_stage, float(mechanism.coverage)
    once = variance(mechanism.p, mechanism.q) + (repeats.effect - 1) * (variance(shared.p, shared.q) if shared else 0)
    enough = int(np.ceil(once / coverage * stats.norm.ppf(0.95) ** 2 / mechanism.cohorts))
    assert enough > 1 or mechanism.cohorts > 1
    for reports in (enough - 1, enough):
        each = np.full(mechanism.cohorts, reports)
        tally = Tally(each, np.repeat(each[:, np.newaxis] // 2, mechanism.cells, axis=1), repeats)
        shown = np.isfinite(estimate(mechanism, names, tally).frequency)
        assert shown.tolist() == [reports == enough] * len(names)


def test_value_without_informative_reports_is_unknown_while_others_are_known() -> None:
    mechanism = BitFlip.calibrate(6, 4.0, 2)
    tally = Tally.zero(mechanism)
    tally.reports[0], tally.counts[0] = 1_000, 500
    answer = estimate(mechanism, tuple("abcdef"), tally)
    speaking = [bool(mechanism.supporting(value, 0)) for value in range(6)]
    assert sorted(set(speaking)) == [False, True]
    assert np.isfinite(answer.frequency).tolist() == speaking
    assert [*zip(answer.low == 0, answer.high == 1, strict=True)] == [(not known, not known) for known in speaking]


def test_size_of_an_estimate_is_about_that_of_its_columns() -> None:
    for labels in (2, 5):
        mechanism = RandomizedResponse.calibrate(labels, 1.0)
        answer = estimate(mechanism, tuple("abcde"[:labels]), tally_of([100] * labels, 100 * labels))
        held = sum(column.nbytes for column in vars(answer).values() if isinstance(column, np.ndarray))
        assert held < answer.size < 1.2 * held + 8


@pytest.mark.parametrize("confidence", [0.0, 1.0, -1.0, float("nan")])
def test_impossible_confidence_is_refused(confidence: float) -> None:
    with pytest.raises(ParameterError, match="confidence: "):
        estimate(SURVEY, NAMES, Tally.zero(SURVEY), confidence)


def test_confidences_are_refused_beyond_their_ends_and_split_over_many_intervals() -> None:
    for end, beyond in ((1e-6, 0.9e-6), (1 - 1e-9, 1 - 0.9e-9)):
        assert require_confidence(end) == end
        with pytest.raises(ParameterError, match="confidence: "):
            require_confidence(beyond)
    rule, each = level_of_each(OptimizedUnary.calibrate(4, 1.0), 20, 0.05)
    assert rule == "sidak"
    assert (1 - each) ** 20 == pytest.approx(0.95)
    assert level_of_each(SURVEY, 20, 0.05) == ("bonferroni", 0.05 / 20)


def test_labels_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ParameterError, match="labels: 3 given for a domain of 2"):
        estimate(SURVEY, ("a", "b", "c"), Tally.zero(SURVEY))
    with pytest.raises(ParameterError, match="candidates: none given"):
        estimate(SURVEY, (), Tally.zero(SURVEY))


def test_projection_is_the_closest_consistent_point() -> None:
    """No corner of the simplex lies on the raw point's side of the projection."""
    raw = np.random.default_rng(20261120).normal(0.1, 0.3, 8)
    projected = onto_simplex(raw)
    assert projected.sum() == pytest.approx(1)
    assert (projected >= 0).all()
    assert (raw - projected).max() <= (raw - projected) @ projected + 1e-9
    assert onto_subsimplex(np.array([0.2, -0.1, 0.3])).tolist() == [0.2, 0.0, 0.3]
    assert onto_subsimplex(np.array([0.9, 0.9])).tolist() == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("most", [1, 2, 5, 8])
def test_consistent_shares_are_the_closest_point_of_bounded_sets(most: int) -> None:
    """A point is closest if no corner (a set of at most ``most`` values) lies on the frequency's side of it."""
    rng = np.random.default_rng(most)
    for spread in (0.2, 1.0, 3.0):
        frequency = rng.normal(0.5, spread, 8)
        projected = onto_sums(frequency, 0, most)
        assert projected.min() >= 0
        assert projected.max() <= 1
        assert projected.sum() <= most + 1e-9
        away = frequency - projected
        farthest = np.maximum(np.sort(away)[::-1][:most], 0).sum()
        assert farthest <= away @ projected + 1e-9
    assert onto_sums(np.array([0.9, 0.8, 0.9]), 0, 2) == pytest.approx([0.7, 0.6, 0.7])
    assert onto_sums(np.array([-0.2, -0.1]), 0, most).tolist() == [0, 0]


def test_consistent_shares_of_bounded_sums_are_those_of_a_simplex_where_it_is_one() -> None:
    rng = np.random.default_rng(3)
    for size in (2, 30):
        for mean in (0.01, 1.0):
            frequency = rng.normal(mean, 0.3, size)
            assert np.array_equal(onto_sums(frequency, 1, 1), onto_simplex(frequency))
            assert np.array_equal(onto_sums(frequency, 0, 1), onto_subsimplex(frequency))
            assert np.array_equal(onto_sums(frequency, 0, size), np.clip(frequency, 0, 1))


def test_consistent_shares_keep_the_sum_of_their_kind() -> None:
    """Whether no report supports any value, or every report every value."""
    for mechanism, *sums in (
        (OptimizedUnary.calibrate(3, 1.0), 1, 1),
        (CountMeanSketch.calibrate(None, 1.0), 0, 1),
        (SetResponse.calibrate(3, 1.0, window=2), 0, 3),
    ):
        reports = np.full(mechanism.cohorts, 10_000)
        for supporting, total in zip((0, 10_000), sums, strict=True):
            tally = Tally(reports, np.full((mechanism.cohorts, mechanism.cells), supporting))
            assert estimate(mechanism, ("a", "b", "c"), tally).consistent.sum() == pytest.approx(total)


def test_consistent_shares_of_unknown_estimates_stay_unknown() -> None:
    assert np.isnan(onto_sums(np.full(3, np.nan), 0, 2)).all()
    assert onto_sums(np.zeros(0), 0, 2).shape == (0,)


def test_interval_of_people_who_report_again_contains_that_of_distinct_people() -> None:
    for count, days in product(range(0, 101, 5), ((99, 1), (50, 50), (97, 1, 1, 1))):
        tally = tally_of([count, 100 - count], 100)
        alone, again = estimate(SURVEY, NAMES, tally), estimate(SURVEY, NAMES, replace(tally, repeats=Repeats(days)))
        assert (again.low <= alone.low).all(), (count, days)
        assert (again.high >= alone.high).all(), (count, days)
