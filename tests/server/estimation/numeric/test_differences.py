"""Differences of two means and of two quantiles, with their intervals."""

import math

import pytest

from dither_server.estimation.numeric.mean import each_side, mean_difference, mean_of, quantile_difference

from .small_laws import expected_tally, small_law

LAW = small_law(4, 2)
FIRST, SECOND = mean_of(LAW, expected_tally(LAW, [1, 2] * 40)), mean_of(LAW, expected_tally(LAW, [5, 2] * 40))


def test_variances_of_two_means_add() -> None:
    found = mean_difference(FIRST, SECOND, 0.9)
    assert found.difference == pytest.approx(1 / 4)
    error = math.hypot(FIRST.standard_error, SECOND.standard_error)
    assert found.standard_error == pytest.approx(error)
    assert (found.low, found.high) == pytest.approx((0.25 - 1.644854 * error, 0.25 + 1.644854 * error))


def test_difference_of_means_is_cut_to_the_range() -> None:
    wide = mean_difference(FIRST, SECOND, 1 - 1e-9)
    assert -1 <= wide.low <= wide.high <= 1
    nothing = mean_of(LAW, expected_tally(LAW, []))
    found = mean_difference(nothing, SECOND)
    assert math.isnan(found.difference)
    assert (found.low, found.high) == (-1, 1)


def test_a_difference_of_quantiles_is_what_both_intervals_allow() -> None:
    assert quantile_difference((5, 4, 7), (9, 6, 10)) == (4, None, -1, 6)
    assert each_side(0.95) == pytest.approx(0.975)
    assert each_side(1 - 1e-9) == pytest.approx(1 - 5e-10, abs=1e-14)
