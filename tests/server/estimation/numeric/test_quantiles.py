"""Quantiles from intervals of shares: by hand, and at the edges."""

import numpy as np
import pytest

from dither_server.estimation.numeric.estimate import QUANTILES, quantiles_of
from dither_server.estimation.numeric.law import Cuts
from dither_shared import ParameterError


def cuts(low: list[float], high: list[float]) -> Cuts:
    unknown = np.full(len(low), np.nan)
    return Cuts.between(unknown, unknown, unknown, np.array(low), np.array(high))


TEN = cuts([0.0, 0.0, 0.1, 0.3, 0.55, 0.5, 0.8, 0.9, 0.95], [0.04, 0.1, 0.3, 0.5, 0.7, 0.8, 0.95, 1.0, 1.0])
CURVE = np.diff([0, 0.01, 0.05, 0.2, 0.4, 0.6, 0.7, 0.9, 0.97, 0.99, 1])


def test_an_interval_is_from_the_first_point_that_may_to_the_last_that_must() -> None:
    median = quantiles_of(TEN, CURVE, [0.5])[0]
    # high[4] = 0.5 first reaches a half: point 3; low stays below a half up to cut 4, and 0.5 at cut 6 is not below
    assert (median.low, median.point, median.high, median.verdict) == (3, 4, 4, "ok")
    third = quantiles_of(TEN, CURVE, [0.52])[0]
    assert (third.low, third.high) == (4, 6)  # low[6] = 0.5 < 0.52, though low[5] is above it


def test_an_interval_that_reaches_an_end_is_an_edge() -> None:
    assert [one.verdict for one in quantiles_of(TEN, CURVE, [0.03, 0.05, 0.97])] == ["edge", "ok", "edge"]
    assert quantiles_of(TEN, CURVE, [0.97])[0].high == 9


def test_quantile_interval_over_half_of_the_range_is_too_few() -> None:
    wide = cuts([0.0] * 9, [0.01] * 3 + [1.0] * 6)
    assert quantiles_of(wide, CURVE, [0.5])[0].verdict == "too-few"
    assert quantiles_of(cuts([0.0, 0.0, 0.0, 0.6], [0.0, 1.0, 1.0, 1.0]), CURVE[:5], [0.5])[0].verdict == "too-few"
    nothing = cuts([0.0] * 9, [1.0] * 9)
    assert {one.verdict for one in quantiles_of(nothing, CURVE)} == {"too-few"}
    assert [one.share for one in quantiles_of(nothing, CURVE)] == list(QUANTILES)


def test_the_point_is_in_the_interval() -> None:
    low, high = np.zeros(10), np.zeros(10)
    low[0] = high[-1] = 1
    assert [quantiles_of(TEN, curve, [0.5])[0].point for curve in (low, high)] == [3, 4]


def test_ends_that_cross_hold_what_lies_between() -> None:
    crossed = cuts([0.0, 0.6, 0.6], [0.1, 0.1, 1.0])
    found = quantiles_of(crossed, np.full(4, 0.25), [0.5])[0]
    assert found.low <= found.point <= found.high


@pytest.mark.parametrize("share", [0.0, 1.0, -1.0, float("nan")])
def test_only_shares_between_0_and_1_have_quantiles(share: float) -> None:
    with pytest.raises(ParameterError, match="strictly between"):
        quantiles_of(TEN, CURVE, [share])
