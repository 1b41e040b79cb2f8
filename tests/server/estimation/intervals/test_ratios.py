"""Fieller's set: its ends solve the equation, and it covers the true ratio as often as it says."""

from statistics import NormalDist

import numpy as np
import pytest

from dither_server.estimation.intervals.score import fieller

Z = NormalDist().inv_cdf(0.975)


def test_both_ends_lie_just_z_errors_away() -> None:
    x, y, v_x, v_y, v_xy = 0.12, 0.4, 1e-3, 2e-3, 5e-4
    found = fieller(x, y, v_x, v_y, v_xy, Z)
    assert found.ratio == pytest.approx(0.3)
    for r in (found.low, found.high):
        assert (x - r * y) ** 2 == pytest.approx(Z**2 * (v_x - 2 * r * v_xy + r**2 * v_y), rel=1e-9)
    assert found.low < found.ratio < found.high


def test_a_denominator_that_may_be_zero_or_is_negative_gives_no_number() -> None:
    found = fieller(np.array([0.1, 0.1]), np.array([0.05, -0.4]), 1e-3, 1e-3, 0.0, Z)
    assert np.isnan(found).all()


def test_the_ends_are_cut_to_what_a_share_can_be() -> None:
    found = fieller(np.array([0.001, 0.399]), np.full(2, 0.4), 1e-3, 1e-3, 1e-4, Z)
    assert found.low[0] == 0
    assert found.high[1] == 1


def test_ends_of_proportional_errors_are_numbers_although_rounding_makes_the_discriminant_negative() -> None:
    """Where x is exactly a share of y, the set is one point; here its discriminant comes out as -1.4e-17."""
    x, y, v_x, v_y, v_xy = (
        0.53286745557753,
        0.5606394622302311,
        0.0013030840442796328,
        0.0014424519675836178,
        0.0013709982288821435,
    )
    found = fieller(x, y, v_x, v_y, v_xy, 1.96)
    assert found.low == pytest.approx(x / y, abs=1e-7)
    assert found.high == pytest.approx(x / y, abs=1e-7)


def test_fieller_interval_covers_at_its_confidence() -> None:
    """Of 40,000 normal pairs, of which 95% are to be held; 0.0055 is 5 errors, of chance 6e-7."""
    covariance = np.array([[4e-4, 1.5e-4], [1.5e-4, 9e-4]])
    drawn = np.random.default_rng(7).multivariate_normal([0.2, 0.5], covariance, 40_000)
    found = fieller(drawn[:, 0], drawn[:, 1], covariance[0, 0], covariance[1, 1], covariance[0, 1], Z)
    held = (found.low <= 0.4) & (found.high >= 0.4)
    assert not np.isnan(found.ratio).any()
    assert held.mean() == pytest.approx(0.95, abs=0.0055)
