"""Differences of two quantiles, with their intervals."""

import pytest

from dither_server.estimation.numeric.mean import each_side, quantile_difference


def test_a_difference_of_quantiles_is_what_both_intervals_allow() -> None:
    assert quantile_difference((5, 4, 7), (9, 6, 10)) == (4, None, -1, 6)
    assert each_side(0.95) == pytest.approx(0.975)
    assert each_side(1 - 1e-9) == pytest.approx(1 - 5e-10, abs=1e-14)
