"""The exponential mechanism: its law, and that it spends all of epsilon and no more."""

import math

import pytest

from dither_shared.mechanisms.decaying import Exponential


def made(epsilon: float, **parameters: float) -> Exponential:
    return Exponential.configure(None, {"epsilon": epsilon, **parameters})


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("steps", [1, 10, 64])
def test_the_law_is_that_of_the_distance_with_its_normaliser(epsilon: float, steps: int) -> None:
    mechanism, r = made(epsilon, resolution=steps), math.exp(-epsilon / steps)
    for x in {0, steps // 3, steps}:
        normaliser = (1 + r - r ** (x + 1) - r ** (steps - x + 1)) / (1 - r)
        expected = [r ** abs(x - y) / normaliser for y in range(steps + 1)]
        assert [float(chance) for chance in mechanism.cell_law(x)] == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 1.0, 10.0, 25.0])
@pytest.mark.parametrize("steps", [1, 2, 63, 128])
def test_the_exact_loss_is_all_of_epsilon_and_no_more(epsilon: float, steps: int) -> None:
    mechanism = made(epsilon, resolution=steps)
    assert mechanism.epsilon <= epsilon
    assert mechanism.epsilon == pytest.approx(epsilon, rel=1e-5 if epsilon > 20 else 1e-11)
