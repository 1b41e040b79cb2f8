import math

import numpy as np
import pytest

from dither_simulations.trials.mechanism_by_name import NUMERIC, named_numeric
from dither_simulations.trials.number_theory import (
    cut_mse,
    expected_numbers,
    least_mean_mse,
    least_variance,
    spread_in,
    worst_least_variance,
)
from dither_simulations.users.numbers import Numbers

EVEN = np.array([0.5, *[1.0] * 63, 0.5]) / 64


@pytest.mark.parametrize(
    ("epsilon", "worst", "average"),
    [(0.5, 16.00, 16.00), (1, 3.991, 3.886), (4, 0.127, 0.105)],
)
def test_the_least_variance_is_that_of_larger_programmes(epsilon: float, worst: float, average: float) -> None:
    """On [-1, 1]; of 41 to 81 answers and 161 to 221 scores, to three digits."""
    assert 4 * worst_least_variance(epsilon) == pytest.approx(worst, rel=5e-3)
    assert 4 * least_variance(epsilon, EVEN) == pytest.approx(average, rel=5e-3)


@pytest.mark.parametrize("name", [name for name in NUMERIC if name != "discrete-gaussian"])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_no_mechanism_is_better_than_the_least_variance(name: str, epsilon: float) -> None:
    """But for the size of the programme: one in a thousand."""
    mechanism = named_numeric(name, epsilon)
    assert float(mechanism.worst_mean_variance) > 0.999 * worst_least_variance(epsilon)
    assert float(mechanism.average_mean_variance) > 0.999 * least_variance(epsilon, EVEN)


@pytest.mark.parametrize("point", [0, 20, 32])
def test_of_people_who_all_agree_the_least_variance_is_at_most_the_worst(point: int) -> None:
    """To the rounding of the solver; and not 0, for the mechanism must be right about others too."""
    alone = np.eye(1, 65, point)[0]
    assert 0.01 < least_variance(1.0, alone) < 1.001 * worst_least_variance(1.0)


def test_the_mean_is_expected_to_err_by_noise_and_by_who_was_asked() -> None:
    """V + Var x: at ε = 1 with one step e/(e-1)² + 1/12 whatever the answers (64 phases: 1/12 less 1/(12·64²))."""
    mechanism, shares = named_numeric("dithered-response-mean", 1.0), Numbers("beta").shares(65)
    told = expected_numbers(mechanism, shares, 1000, 0.95)
    noise = math.e / (math.e - 1) ** 2 + 1 / 12 - 1 / (12 * 64**2)
    assert told.mean_mse == pytest.approx((noise + spread_in(shares)) / 1000, rel=1e-12)
    assert told.width == pytest.approx(2 * 1.959964 * math.sqrt(told.mean_mse), rel=1e-6)
    assert 0 < least_mean_mse(1.0, shares, 1000) <= told.mean_mse
    assert spread_in(shares) == pytest.approx(2 * 5 / (49 * 8), rel=1e-2)


def test_raw_shares_below_are_told_by_one_phase_alone() -> None:
    """m = 1 and nobody above 0: σ = p in every phase, so d p(1-p)/(p-q)²/n at every cut."""
    mechanism, shares = named_numeric("dithered-response-mean", 1.0), np.eye(1, 65)[0]
    p = float(mechanism.p)
    assert cut_mse(mechanism, shares, 500) == pytest.approx(64 * p * (1 - p) / (2 * p - 1) ** 2 / 500)
    assert cut_mse(named_numeric("exponential", 1.0), shares, 500) is None
