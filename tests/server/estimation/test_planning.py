"""Plans of surveys: half-widths and numbers of users against the intervals that surveys have, by enumeration."""

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from scipy import special, stats

from dither_server.estimation.fit import FALSE_DISCOVERIES
from dither_server.estimation.intervals.exact import exact_interval
from dither_server.estimation.planning import (
    _bars,
    _both,
    half_width,
    planned_scores,
    reach,
    reports_for,
    users_for,
    worst_share,
)
from dither_server.estimation.strings.cells import SLACK
from dither_shared import BitFlip, OptimizedUnary, PrefixSketch, ProjectiveSketch, RandomizedResponse
from dither_shared.mechanisms.prefix_levels import CONFIRMING, KEPT, WEIGHT

SEEN_BY_HALF = BitFlip.calibrate(6, 3.0, 3)


@pytest.mark.parametrize(("share", "confidence"), [(None, 0.95), (None, 0.999), (0.02, 0.5), (0.6, 0.999)])
def test_the_interval_reaches_no_further_than_planned(share: float | None, confidence: float) -> None:
    """By enumeration, the promised part of surveys has the truth within the error, and an interval as narrow."""
    for mechanism in (RandomizedResponse.calibrate(2, 3.0), OptimizedUnary.calibrate(8, 1.0)):
        truth = worst_share(mechanism) if share is None else share
        p, q = float(mechanism.p), float(mechanism.q)
        for error in (0.08, 0.2):
            users = users_for(lambda many, law=mechanism: half_width(law, many, confidence, share), error) or 0  # type: ignore[misc]
            seen = np.arange(users + 1)
            low, high = exact_interval(mechanism, seen, np.full(users + 1, users), 1 - confidence)
            law = stats.binom.pmf(seen, users, q + truth * (p - q))
            assert law[np.abs((seen / users - q) / (p - q) - truth) <= error].sum() >= confidence
            assert law[(high - low) / 2 <= error].sum() >= confidence


class Chances(NamedTuple):
    """The chances that a report supports a value, of people who hold it and of others."""

    p: Fraction
    q: Fraction
    coverage: Fraction = Fraction(1)


@pytest.mark.parametrize(
    ("p", "q", "worst"),
    [("3/4", "1/4", 1 / 2), ("2/3", "1/3", 1 / 2), ("2/5", "1/5", 1), ("9/10", "2/5", 1 / 5), ("9/10", "3/5", 0)],
)
def test_worst_share_is_the_one_of_which_half_of_all_reports_tell(p: str, q: str, worst: float) -> None:
    """Or the nearest to it."""
    assert worst_share(Chances(Fraction(p), Fraction(q))) == pytest.approx(worst)


def test_error_and_width_together_are_missed_no_oftener_than_planned() -> None:
    """By the normal law, if both are independent: each is missed with a part of 1 - confidence."""
    for confidence in (0.5, 0.8, 0.95, 0.999):
        width, error = planned_scores(confidence)
        assert stats.norm.sf(width) + 2 * stats.norm.sf(error) == pytest.approx(1 - confidence)
    assert planned_scores(0.2, varies=False) == pytest.approx((0, stats.norm.isf(0.4)))


@pytest.mark.parametrize(("share", "confidence"), [(0.3, 0.95), (0.9, 0.8), (0.6, 0.999), (None, 0.95)])
def test_half_width_is_what_error_and_reach_stay_within_in_the_promised_part_of_surveys(
    share: float | None, confidence: float
) -> None:
    """By enumeration, to within 1%; if the number of reports about a value varies, at most 7% further."""
    for mechanism, users, spare in ((RandomizedResponse.calibrate(2, 3.0), 3_000, 1.01), (SEEN_BY_HALF, 400, 1.07)):
        p, q, coverage = float(mechanism.p), float(mechanism.q), float(mechanism.coverage)
        truth = worst_share(mechanism) if share is None else share
        all_trials = np.arange(users // 3 if coverage < 1 else users, users + 1)
        trials, seen = (axis.ravel() for axis in np.meshgrid(all_trials, np.arange(users + 1)))
        law = stats.binom.pmf(trials, users, coverage) * stats.binom.pmf(seen, trials, q + truth * (p - q))
        likely = law > 1e-12
        law, trials, seen = law[likely], trials[likely], seen[likely]
        low, high = exact_interval(mechanism, seen, trials, 1 - confidence)
        estimate = (seen / trials - q) / (p - q)
        off = np.max([estimate - low, high - estimate, np.abs(estimate - truth)], axis=0)
        order = np.argsort(off)
        within = off[order][np.searchsorted(np.cumsum(law[order]), confidence)]
        found = half_width(mechanism, np.array([users]), confidence, share).item()
        assert 0.99 * within < found < spare * within


@pytest.mark.parametrize("users", [1, 2, 3, 4, 100, 6_610, 11_111_112, 10**15])
def test_number_of_users_is_the_least_whose_margin_is_small_enough(users: int) -> None:
    assert users_for(lambda many: np.where(many < users, 1.0, 0.5), 0.5) == users
    assert users_for(lambda many: np.where(many <= 10**15, 1.0, 0.5), 0.5) is None


def test_rows_of_a_string_agree_as_often_as_two_normal_numbers_with_sum_and_least_above_bounds() -> None:
    for excess, slack in ((0.3, 0.2), (-1.0, 0.2), (1.5, 0.5)):
        least = -excess / 2**0.5 - slack
        x, step = np.linspace(least, 10, 20_001, retstep=True)
        other = special.ndtr(-np.maximum(least, -(2**0.5) * excess - x))
        exact = float((stats.norm.pdf(x) * other).sum() * step - stats.norm.pdf(least) * other[0] * step / 2)
        assert _both(np.array([excess]), np.array([slack])).item() == pytest.approx(exact, abs=1e-6)


def test_bar_is_the_least_count_that_nobodys_string_reaches_seldom_enough() -> None:
    users, q = np.array([1.0, 50.0, 10.0**6]), 0.2
    bars = _bars(q, users, np.full(3, 0.01))
    least = bars * np.sqrt(users * q * (1 - q)) + users * q
    assert least[:2] == pytest.approx([2, 18])  # P[Bin(50, 0.2) >= 18] = 0.006, and 0.014 from 17 on
    assert bars[2] == pytest.approx(special.ndtri(0.99), rel=2e-3)


def test_half_of_the_strings_that_a_survey_just_reaches_pass_the_test_of_their_two_rows() -> None:
    """Others have shares as small, and their collisions a variance of f (1 - f) per bucket and row."""
    sketch, users = ProjectiveSketch.calibrate(None, 2.0, buckets=1 << 8), np.array([3_000, 10**6])
    p, q, share = float(sketch.p), float(sketch.q), reach(sketch, users, 400)
    success = q + share * (p - q)
    noise = success * (1 - success) / (p - q) ** 2 / users
    spread = np.sqrt(noise + share * (1 - share) * sketch.collision_variance)
    bars = _bars(q, users.astype(np.float64), np.full(2, FALSE_DISCOVERIES / 400))
    assert _both(share / spread - bars, SLACK * np.ones(2)) == pytest.approx([0.5, 0.5], abs=1e-6)


def test_half_of_the_strings_that_a_discovery_just_reaches_pass_the_tests_of_all_levels() -> None:
    """The last level asks for errors of a string of this share, the others for those of one that nobody holds."""
    sketch = PrefixSketch.calibrate(None, 3.0, characters=26, length=8, buckets=1 << 12)
    share, passed, q, gap = reach(sketch, 300_000).item(), 1.0, float(sketch.q), float(sketch.p - sketch.q)
    for level, weight in enumerate(sketch.weights, start=1):
        users, last = 300_000 * weight / WEIGHT, level == len(sketch.weights)
        spread, nobody = (
            (chance * (1 - chance) / gap**2 / users + share * (1 - share) * sketch.collision_variance) ** 0.5
            for chance in (q + share * gap, q)
        )
        likely = special.ndtr(1 - (float(CONFIRMING) + 1) * (weight / sketch.weights[-1]) ** 0.5)
        bars = _bars(q, np.array([users]), np.array([FALSE_DISCOVERIES / KEPT if last else likely]))
        unit = (spread if last else nobody) / spread
        passed *= _both(share / spread - bars * unit, np.array([SLACK * unit])).item()
    assert passed == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize(("share", "digits"), [(0.9, 2), (0.05, 3)])
def test_number_of_reports_is_rounded_up_to_two_digits(share: float, digits: int) -> None:
    sketch = ProjectiveSketch.calibrate(None, 6.0)
    needed, step = reports_for(sketch, share, 10) or 0, 10 ** (digits - 2)
    assert (len(str(needed)), needed % step) == (digits, 0)
    assert reach(sketch, needed, 10) <= share < reach(sketch, needed - step, 10)
