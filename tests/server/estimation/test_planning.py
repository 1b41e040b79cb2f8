"""Plans of surveys: half-widths and numbers of users against the intervals that surveys have, by enumeration."""

import numpy as np
import pytest
from scipy import special, stats

from dither_server.estimation.intervals.exact import exact_interval
from dither_server.estimation.planning import _bars, _both, half_width, planned_scores, users_for, worst_share
from dither_shared import BitFlip, OptimizedUnary, RandomizedResponse

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


def test_error_and_width_together_are_missed_no_oftener_than_planned() -> None:
    """By the normal law, if both are independent: each is missed with a part of 1 - confidence."""
    for confidence in (0.5, 0.8, 0.95, 0.999):
        width, error = planned_scores(confidence)
        assert stats.norm.sf(width) + 2 * stats.norm.sf(error) == pytest.approx(1 - confidence)


@pytest.mark.parametrize(("share", "confidence"), [(0.3, 0.95), (0.9, 0.8), (0.6, 0.999), (None, 0.95)])
def test_half_width_is_what_error_and_reach_stay_within_in_the_promised_part_of_surveys(
    share: float | None, confidence: float
) -> None:
    """By enumeration, to within 1%; if the number of reports about a value varies, at most 7% further."""
    for mechanism, users, spare in ((RandomizedResponse.calibrate(2, 3.0), 3_000, 1.01), (SEEN_BY_HALF, 400, 1.07)):
        p, q, coverage = float(mechanism.p), float(mechanism.q), float(mechanism.coverage)
        truth = worst_share(mechanism) if share is None else share
        trials, seen = np.meshgrid(np.arange(users // 3 if coverage < 1 else users, users + 1), np.arange(users + 1))
        law = stats.binom.pmf(trials, users, coverage) * stats.binom.pmf(seen, trials, q + truth * (p - q))
        law, trials, seen = (column[law > 1e-12] for column in (law, trials, seen))
        low, high = exact_interval(mechanism, seen, trials, 1 - confidence)
        estimate = (seen / trials - q) / (p - q)
        off = np.max([estimate - low, high - estimate, np.abs(estimate - truth)], axis=0)
        order = np.argsort(off)
        within = off[order][np.searchsorted(np.cumsum(law[order]), confidence)]
        found = half_width(mechanism, np.array([users]), confidence, share).item()
        assert 0.99 * within < found < spare * within


@pytest.mark.parametrize("users", [1, 2, 3, 4, 100, 6_610, 11_111_112])
def test_number_of_users_is_the_least_whose_margin_is_small_enough(users: int) -> None:
    assert users_for(lambda many: 1 / np.sqrt(many), (users - 0.5) ** -0.5) == users
    assert users_for(lambda many: 1 / np.sqrt(many), 1e-8) is None


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
