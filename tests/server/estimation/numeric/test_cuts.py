"""Shares below any place, between the points of the grid too."""

from fractions import Fraction
from itertools import accumulate, combinations_with_replacement

import numpy as np
import pytest

from dither_server.estimation.numeric.law import Cuts
from dither_shared import ParameterError

CUTS = Cuts.between(
    np.array([0.2, 0.6, 0.5]),
    np.array([0.03, 0.04, 0.05]),
    np.array([0.06, 0.08, 0.1]),
    np.array([0.1, 0.4, 0.3]),
    np.array([0.3, 0.9, 0.7]),
)
CURVE = np.array([0.2, 0.3, 0.1, 0.4])


def test_cuts_at_both_ends_of_the_grid_are_known_exactly() -> None:
    assert CUTS.points == 4
    for column, end in ((CUTS.frequency, 1), (CUTS.standard_error, 0), (CUTS.low, 1), (CUTS.high, 1)):
        assert (column[0], column[-1]) == (0, end)


def test_at_a_point_the_interval_reaches_from_less_to_no_more() -> None:
    assert (CUTS.below(1, CURVE).low, CUTS.below(1, CURVE).high) == (0.1, 0.9)
    assert (CUTS.below(2, CURVE).low, CUTS.below(2, CURVE).high) == (0.4, 0.7)


def test_half_a_step_above_a_point_the_next_cut_is_the_estimate() -> None:
    assert CUTS.below(1.5, CURVE) == pytest.approx((0.6, 0.04, 0.08, 0.1, 0.7, 0.5))


def test_between_two_points_the_interval_reaches_over_all_answers_that_may_be_rounded() -> None:
    found = CUTS.below(1.25, CURVE)
    assert found.frequency == pytest.approx(0.25 * 0.2 + 0.75 * 0.6)
    assert found.noise_error == pytest.approx(np.hypot(0.25 * 0.03, 0.75 * 0.04))
    assert found.standard_error == pytest.approx(np.hypot(0.25 * 0.06, 0.75 * 0.08))
    assert (found.low, found.high) == (0.1, 0.7)
    assert found.consistent == pytest.approx(0.2 + 0.75 * 0.3)


def test_the_whole_grid_can_be_asked_about_and_nothing_else() -> None:
    assert (CUTS.below(0, CURVE).low, CUTS.below(0, CURVE).high) == (0, 0.3)
    assert (CUTS.below(3, CURVE).low, CUTS.below(3, CURVE).high) == (0.3, 1)
    for place in (-0.1, 3.1, float("nan")):
        with pytest.raises(ParameterError, match="from 0 to 3"):
            CUTS.below(place, CURVE)


def test_drawn_intervals_are_monotone_and_wider() -> None:
    low, high = CUTS.drawn()
    assert low.tolist() == [0, 0.1, 0.3, 0.3, 1]
    assert high.tolist() == [0, 0.3, 0.9, 0.9, 1]


def test_whatever_the_answers_their_shares_lie_between_those_of_their_points() -> None:
    """P[u < i - 1] <= F(i) <= P[u < i], by exact fractions, for three people at or between four points."""
    for places in combinations_with_replacement([Fraction(n, 4) for n in range(13)], 3):
        shares = [Fraction(0)] * 5
        for place in places:
            point = int(place)
            shares[point] += 1 - (place - point)
            shares[point + 1] += place - point
        below = [Fraction(0), *accumulate(shares[:4])]
        for cut in range(1, 5):
            assert sum(place < cut - 1 for place in places) <= below[cut] <= sum(place < cut for place in places)
