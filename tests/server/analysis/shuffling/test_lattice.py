import math

import numpy as np
import pytest
from scipy.stats import binom

from dither_server.analysis.shuffling.blanket import StepLaw


@pytest.mark.parametrize("count", [1, 100, 10**6])
@pytest.mark.parametrize("far", [0.0, 5.0])
def test_a_sum_of_coins_is_binomial_far_out_in_its_tail(count: int, far: float) -> None:
    steps = StepLaw(np.array([0.0, 1.0]), np.array([0.7, 0.3]))
    centre = min(0.95, 0.3 + far * math.sqrt(0.21 / count))
    found = steps.sum_of(count, steps.tilt_to(centre))
    place = round(centre * count)
    mass = found.masses[found.places == place][0]
    known = binom.logpmf(place, count, 0.3)
    assert found.log_scale - found.tilt * place + math.log(mass) == pytest.approx(known, abs=1e-7)
    assert found.masses.sum() == pytest.approx(1, abs=1e-6)


def test_what_is_said_to_be_wrong_covers_a_billion_steps() -> None:
    """Steps of ±1 have but even sums, so every odd one is an error; a float's phase turns a billion times there."""
    steps = StepLaw(np.array([-1.0, 1.0]), np.array([0.5, 0.5]))
    found = steps.sum_of(10**9, 0.0)
    odd = found.masses[found.places % 2 == 1]
    assert len(odd) > 10**5
    assert odd.max() <= found.wrong < 1e-3 * found.masses.max()


def test_the_tilt_leads_to_the_mean_that_is_asked_for() -> None:
    steps = StepLaw(np.array([-3.0, 0.0, 2.0]), np.array([0.5, 0.4, 0.1]))
    for mean in (-2.5, -1.3, 0.0, 1.9):
        assert steps.moments(steps.tilt_to(mean))[0] == pytest.approx(mean, abs=1e-6)
