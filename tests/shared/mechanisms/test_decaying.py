"""Noise that decays with distance: the laws of discrete Laplace and the exponential mechanism, at the usual size."""

import math
from collections.abc import Callable
from fractions import Fraction

import pytest

from dither_shared import DiscreteLaplace, Exponential, ParameterError
from dither_shared.mechanisms.numeric import MAX_RESOLUTION

Law = Callable[[float, int, int], list[float]]


def folded(r: float, x: int, last: int) -> list[float]:
    """Return the two-sided geometric law around x, with the mass beyond an end added to that end."""
    inside = [r ** abs(x - y) * (1 - r) / (1 + r) for y in range(1, last)]
    return [r**x / (1 + r), *inside, r ** (last - x) / (1 + r)]


def normalised(r: float, x: int, last: int) -> list[float]:
    """Return the normalized law of the distance from x."""
    normaliser = (1 + r - r ** (x + 1) - r ** (last - x + 1)) / (1 - r)
    return [r ** abs(x - y) / normaliser for y in range(last + 1)]


@pytest.mark.parametrize(("family", "law"), [(DiscreteLaplace, folded), (Exponential, normalised)])
@pytest.mark.parametrize(("epsilon", "steps"), [(0.1, 10), (1.0, 64), (4.0, 1)])
def test_decaying_noise_has_the_law_of_its_formula(
    family: type[DiscreteLaplace | Exponential], law: Law, epsilon: float, steps: int
) -> None:
    mechanism, r = family.configure(None, {"epsilon": epsilon, "resolution": steps}), math.exp(-epsilon / steps)
    for x in {0, steps // 3, steps}:
        assert [float(chance) for chance in mechanism.cell_law(x)] == pytest.approx(law(r, x, steps), rel=1e-11)


@pytest.mark.parametrize("family", [DiscreteLaplace, Exponential])
@pytest.mark.parametrize(("epsilon", "steps"), [(1e-4, MAX_RESOLUTION), (1.0, 63), (25.0, 1), (25.0, MAX_RESOLUTION)])
def test_decaying_noise_loses_exactly_epsilon(
    family: type[DiscreteLaplace | Exponential], epsilon: float, steps: int
) -> None:
    mechanism = family.configure(None, {"epsilon": epsilon, "resolution": steps})
    assert mechanism.epsilon <= epsilon
    assert mechanism.epsilon == pytest.approx(epsilon, rel=1e-5 if epsilon > 20 else 1e-11)
    assert mechanism.row_bytes == 1


@pytest.mark.parametrize(
    ("parameters", "place"),
    [
        ({}, "epsilon"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": 1.0, "resolution": "fine"}, "resolution"),
    ],
)
def test_bad_parameters_are_refused_by_name(parameters: dict[str, float | str], place: str) -> None:
    with pytest.raises(ParameterError) as raised:
        DiscreteLaplace.configure(None, parameters)
    assert raised.value.place == place


def test_discrete_laplace_of_impossible_parameters_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"size: .* its grid follows"):
        DiscreteLaplace.configure(65, {"epsilon": 1.0})
    for size in (1, MAX_RESOLUTION + 2):
        with pytest.raises(ParameterError, match="size: "):
            DiscreteLaplace(size=size, decay=Fraction(1, 2))
    for decay in (Fraction(0), Fraction(1), Fraction(2), 1 - Fraction(1, 1 << 70)):
        with pytest.raises(ParameterError, match="decay: "):
            DiscreteLaplace(size=5, decay=decay)
    for wrong in (-1, 65, b"1"):
        with pytest.raises(ParameterError, match="item: "):
            DiscreteLaplace.configure(None, {"epsilon": 1.0}).marked(wrong)
