from itertools import product

import numpy as np
import pytest

from dither_shared import ParameterError
from dither_simulations.choices import SPREADS, Spread
from dither_simulations.users.numbers import NumberColumn, NumberDistribution


def test_shares_of_points_are_a_distribution() -> None:
    for kind, points in product(SPREADS, (2, 9, 129, 1025)):
        shares = NumberDistribution(kind).shares(points)
        assert shares.shape == (points,)
        assert (shares >= 0).all(), (kind, points)
        assert shares.sum() == pytest.approx(1, abs=1e-12), (kind, points)


@pytest.mark.parametrize(
    ("source", "mean"),
    [
        (NumberDistribution("uniform"), 0.5),
        (NumberDistribution("normal", (0.4, 0.05)), 0.4),
        (NumberDistribution("lognormal", (0.05, 0.5)), 0.05 * np.exp(0.125)),
        (NumberDistribution("beta", (2, 5)), 2 / 7),
        (NumberDistribution("zero-inflated", (0.7, 0.05)), 0.3 * 0.05),
        (NumberDistribution("spikes", (3,)), (2 * 0.5 + 1) / 7),
    ],
)
def test_the_mean_is_that_of_the_distribution(source: NumberDistribution, mean: float) -> None:
    shares = source.shares(4097)
    assert np.linspace(0, 1, 4097) @ shares == pytest.approx(mean, rel=1e-3)
    assert source.name.split()[0] == source.kind


def test_number_beyond_an_end_counts_as_that_end_and_spikes_lie_on_grid_points() -> None:
    assert NumberDistribution("normal", (-0.5, 0.01)).shares(11)[0] == pytest.approx(1, abs=1e-6)
    assert NumberDistribution("normal", (2.0, 0.1)).shares(11)[-1] == pytest.approx(1)
    assert NumberDistribution("spikes", (3,)).shares(5) == pytest.approx([4 / 7, 0, 2 / 7, 0, 1 / 7])


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        ("uniform", (1.0,)),
        ("normal", (0.5, 0.0)),
        ("normal", (0.5, float("nan"))),
        ("lognormal", (-1.0, 1.0)),
        ("beta", (0.0, 1.0)),
        ("spikes", (1.0,)),
        ("zero-inflated", (1.5, 0.1)),
    ],
)
def test_parameters_that_do_not_fit_are_named(kind: Spread, shape: tuple[float, ...]) -> None:
    with pytest.raises(ParameterError, match=f"--shape: .*{kind}"):
        NumberDistribution(kind, shape)


def test_a_column_is_placed_on_the_grid_and_clipped() -> None:
    column = NumberColumn.of(("2", "7.6", "-3", "99", "none"), np.array([4, 3, 1, 1, 1]), 0, 10, False)
    assert column.users == 10
    assert column.shares(11).tolist() == pytest.approx([0.2, 0, 0.4, 0, 0, 0, 0, 0.12, 0.18, 0, 0.1])


def test_a_column_on_a_logarithmic_grid() -> None:
    column = NumberColumn.of(("1", "9", "100"), np.array([1, 1, 2]), 1, 100, True)
    assert column.shares(3).tolist() == pytest.approx([0.5 - np.log10(9) / 4, np.log10(9) / 4, 0.5])


def test_a_column_must_hold_numbers_and_a_range_have_a_grid() -> None:
    with pytest.raises(ParameterError, match="no number"):
        NumberColumn.of(("a", "b"), np.array([1, 1]), 0, 1, False)
    with pytest.raises(ParameterError, match="high"):
        NumberColumn.of(("1",), np.array([1]), 1, 0, False)
