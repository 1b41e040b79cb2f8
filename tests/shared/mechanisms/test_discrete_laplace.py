"""The discrete Laplace mechanism: its law, its variance and its scores, at the usual size."""

import math
from fractions import Fraction

import pytest

from dither_shared import ParameterError
from dither_shared.mechanisms.decaying import DiscreteLaplace
from dither_shared.mechanisms.numeric import MAX_RESOLUTION


def made(epsilon: float, **parameters: float) -> DiscreteLaplace:
    return DiscreteLaplace.configure(None, {"epsilon": epsilon, **parameters})


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("steps", [1, 10, 64])
def test_the_law_is_two_sided_geometric_folded_into_the_range(epsilon: float, steps: int) -> None:
    mechanism, r = made(epsilon, resolution=steps), math.exp(-epsilon / steps)
    for x in {0, steps // 3, steps}:
        law = [float(chance) for chance in mechanism.cell_law(x)]
        inside = [r ** abs(x - y) * (1 - r) / (1 + r) for y in range(1, steps)]
        assert law == pytest.approx([r**x / (1 + r), *inside, r ** (steps - x) / (1 + r)], rel=1e-11)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_scores_and_variances_are_those_of_the_formulas(epsilon: float) -> None:
    mechanism, m, r = made(epsilon), 64, math.exp(-epsilon / 64)
    beyond = r / (1 - r)
    scores = [float(mechanism.mean_score(y)) for y in range(65)]
    assert scores == pytest.approx([-beyond / m, *(y / m for y in range(1, 64)), 1 + beyond / m], abs=1e-9)
    unfolded = 2 * r / (1 - r) ** 2
    for x in range(65):
        saved = r * (r**x + r ** (m - x)) / ((1 + r) * (1 - r) ** 2)
        assert float(mechanism.mean_variance(x)) == pytest.approx((unfolded - saved) / m**2, rel=1e-9)
    assert mechanism.worst_mean_variance < unfolded / m**2 < 2 / epsilon**2


def test_the_finest_grid_and_the_extremes_of_epsilon_are_within_what_is_declared() -> None:
    for epsilon in (1e-4, 25.0):
        for steps in (1, MAX_RESOLUTION):
            mechanism = made(epsilon, resolution=steps)
            assert mechanism.epsilon <= epsilon
            assert mechanism.epsilon == pytest.approx(epsilon, rel=1e-5)
            assert mechanism.row_bytes == 1


@pytest.mark.parametrize(
    ("parameters", "place"),
    [
        ({}, "epsilon"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": 1.0, "resolution": 0}, "resolution"),
        ({"epsilon": 1.0, "resolution": 12.0}, "resolution"),
        ({"epsilon": 1.0, "resolution": MAX_RESOLUTION + 1}, "resolution"),
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
            made(1.0).marked(wrong)
