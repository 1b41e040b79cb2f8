"""Exact bounds against the binomial law, also for trials of unequal chances."""

import numpy as np
import pytest
from scipy import special

from dither_server.estimation.numeric.dithered import approximate_upper_bounds, poisson_binomial_level, upper_bounds


@pytest.mark.parametrize("alpha", [0.25, 0.005, 1e-10])
@pytest.mark.parametrize("trials", [1, 2, 300, 10**9])
def test_the_bound_is_where_as_few_successes_have_that_chance(trials: int, alpha: float) -> None:
    successes = np.unique([0, trials // 3, trials - 1 - trials // 50]).astype(np.float64)
    bound = upper_bounds(successes, np.full(len(successes), float(trials)), alpha)
    chance = special.betainc(trials - successes, successes + 1, 1 - bound)  # P[Bin(trials, bound) <= successes]
    assert chance == pytest.approx(alpha, rel=1e-4)
    assert upper_bounds(np.array([float(trials)]), np.array([float(trials)]), alpha).item() == 1
    assert upper_bounds(np.zeros(1), np.zeros(1), alpha).item() == 1


def test_approximate_bound_is_within_5_percent_of_the_exact_one() -> None:
    trials = np.array([40.0, 1000.0, 1e6])
    successes = np.floor(trials * 0.3)
    exact = upper_bounds(successes, trials, 0.005)
    assert approximate_upper_bounds(successes, trials, 0.005) - successes / trials == pytest.approx(
        exact - successes / trials, rel=0.05
    )
    assert np.isfinite(approximate_upper_bounds(np.zeros(1), np.zeros(1), 0.005)).all()


def test_unequal_chances_are_missed_no_oftener_than_is_said() -> None:
    """Two trials of chances 1 and 0.98 have a failure oftener than two of 0.99 each."""
    alpha = 1 - 0.99**2 + 5e-5
    one_failure = np.array([1.0]), np.array([2.0])
    assert upper_bounds(*one_failure, alpha).item() < 0.99  # a miss, of chance 0.02
    assert alpha < 0.02
    assert upper_bounds(*one_failure, poisson_binomial_level(alpha)).item() >= 0.99
    chances = np.concatenate([np.linspace(0.5, 1, 30), np.full(10, 0.97)])
    law = np.ones(1)
    for chance in chances:
        law = np.convolve(law, [1 - chance, chance])
    for alpha in (0.25, 0.05, 0.005):
        bounds = upper_bounds(np.arange(41.0), np.full(41, 40.0), poisson_binomial_level(alpha))
        assert law[bounds < chances.mean()].sum() <= alpha
    assert poisson_binomial_level(1e-12) == pytest.approx(1e-12, rel=1e-9)
