"""Shares below any place, between the points of the grid too, and quantiles from their intervals."""

from dataclasses import replace

import numpy as np
import pytest

from dither_server.estimation.numeric.estimate import QUANTILES, quantiles_of
from dither_server.estimation.numeric.law import Cuts
from dither_shared import ParameterError

CUTS = Cuts.between(
    np.array([0.2, 0.6, 0.5]),
    np.array([0.03, 0.04, 0.05]),
    np.array([0.06, 0.08, 0.1]),
    np.array([0.1, 0.4, 0.3]),
    np.array([0.3, 0.9, 0.7]),
    repeated=0.002,
)
CURVE = np.array([0.2, 0.3, 0.1, 0.4])


def test_cuts_at_both_ends_of_the_grid_are_known_exactly() -> None:
    assert (CUTS.points, TEN.repeated) == (4, 0)
    for column, end in ((CUTS.frequency, 1), (CUTS.standard_error, 0), (CUTS.low, 1), (CUTS.high, 1)):
        assert (column[0], column[-1]) == (0, end)


def test_interval_at_a_grid_point_spans_the_shares_below_it_and_up_to_it() -> None:
    assert (CUTS.below(1, CURVE).low, CUTS.below(1, CURVE).high) == (0.1, 0.9)
    assert (CUTS.below(2, CURVE).low, CUTS.below(2, CURVE).high) == (0.4, 0.7)


def test_half_a_step_above_a_point_the_next_cut_is_the_estimate() -> None:
    for next_one in (0.5, np.nan):
        cuts = replace(CUTS, frequency=np.array([0, 0.2, 0.6, next_one, 1]))
        assert cuts.below(1.5, CURVE) == pytest.approx((0.6, 0.04, 0.08, 0.1, 0.7, 0.5))


def test_between_two_points_the_interval_reaches_over_all_answers_that_may_be_rounded() -> None:
    found = CUTS.below(1.25, CURVE)
    assert found.frequency == pytest.approx(0.25 * 0.2 + 0.75 * 0.6)
    assert found.noise_error == pytest.approx(np.hypot(0.25 * 0.03, 0.75 * 0.04))
    variance = (0.25 * 0.06) ** 2 + (0.75 * 0.08) ** 2 + 2 * 0.25 * 0.75 * 0.002 * 0.5 * 0.5  # the share is 1/2
    assert found.standard_error == pytest.approx(variance**0.5)
    assert (found.low, found.high) == (0.1, 0.7)
    assert found.consistent == pytest.approx(0.2 + 0.75 * 0.3)
    for outside in (-0.3, 1.2):  # nobody's share or everyone's, of which repeated reports do not vary
        moved = replace(CUTS, frequency=np.full(5, outside)).below(1.25, CURVE)
        assert moved.standard_error == pytest.approx(np.hypot(0.25 * 0.06, 0.75 * 0.08))


def test_cuts_are_defined_on_the_whole_grid_and_nowhere_else() -> None:
    assert (CUTS.below(0, CURVE).low, CUTS.below(0, CURVE).high) == (0, 0.3)
    assert (CUTS.below(3, CURVE).low, CUTS.below(3, CURVE).high) == (0.3, 1)
    assert CUTS.below(3, np.array([0.5, 0.5 + 3e-16, 0, 0])).consistent == 1  # whatever is rounded
    for place in (-0.1, 3.1, float("nan")):
        with pytest.raises(ParameterError, match="from 0 to 3"):
            CUTS.below(place, CURVE)


def test_drawn_intervals_are_monotone_and_wider() -> None:
    low, high = CUTS.drawn()
    assert low.tolist() == [0, 0.1, 0.3, 0.3, 1]
    assert high.tolist() == [0, 0.3, 0.9, 0.9, 1]


def cuts(low: list[float], high: list[float]) -> Cuts:
    unknown = np.full(len(low), np.nan)
    return Cuts.between(unknown, unknown, unknown, np.array(low), np.array(high))


TEN = cuts([0.0, 0.0, 0.1, 0.3, 0.55, 0.5, 0.8, 0.9, 0.95], [0.04, 0.1, 0.3, 0.5, 0.7, 0.8, 0.95, 1.0, 1.0])
TEN_CURVE = np.diff([0, 0.01, 0.05, 0.2, 0.4, 0.6, 0.7, 0.9, 0.97, 0.99, 1])


def test_an_interval_is_from_the_first_point_that_may_to_the_last_that_must() -> None:
    median = quantiles_of(TEN, TEN_CURVE, [0.5])[0]
    # high[4] = 0.5 first reaches a half: point 3; low stays below a half up to cut 4, and 0.5 at cut 6 is not below
    assert (median.low, median.point, median.high, median.verdict) == (3, 4, 4, "ok")
    third = quantiles_of(TEN, TEN_CURVE, [0.52])[0]
    assert (third.low, third.high) == (4, 6)  # low[6] = 0.5 < 0.52, though low[5] is above it


def test_quantile_interval_that_reaches_an_end_is_marked_edge() -> None:
    found = [(one.low, one.high, one.verdict) for one in quantiles_of(TEN, TEN_CURVE, [0.03, 0.05, 0.2, 0.94, 0.97])]
    assert found == [(0, 2, "edge"), (1, 2, "edge"), (2, 3, "ok"), (6, 8, "edge"), (7, 9, "edge")]


def test_quantile_interval_over_half_of_the_range_is_too_few() -> None:
    wide = cuts([0.0] * 9, [0.01] * 3 + [1.0] * 6)
    assert quantiles_of(wide, TEN_CURVE, [0.5])[0].verdict == "too-few"
    assert quantiles_of(cuts([0.0, 0.0, 0.0, 0.6], [0.0, 1.0, 1.0, 1.0]), TEN_CURVE[:5], [0.5])[0].verdict == "too-few"
    nothing = cuts([0.0] * 9, [1.0] * 9)
    assert {quantile.verdict for quantile in quantiles_of(nothing, TEN_CURVE)} == {"too-few"}
    assert [quantile.share for quantile in quantiles_of(nothing, TEN_CURVE)] == list(QUANTILES)


def test_quantile_estimate_lies_in_its_interval() -> None:
    low, high = np.zeros(10), np.zeros(10)
    low[0] = high[-1] = 1
    assert [quantiles_of(TEN, curve, [0.5])[0].point for curve in (low, high)] == [3, 4]


def test_quantile_interval_whose_ends_cross_covers_the_values_between() -> None:
    crossed = cuts([0.0, 0.6, 0.6], [0.1, 0.1, 1.0])
    found = quantiles_of(crossed, np.full(4, 0.25), [0.5])[0]
    assert found.low <= found.point <= found.high


@pytest.mark.parametrize("share", [0.0, 1.0, -1.0, float("nan")])
def test_only_shares_between_0_and_1_have_quantiles(share: float) -> None:
    with pytest.raises(ParameterError, match="strictly between"):
        quantiles_of(TEN, TEN_CURVE, [share])
