"""Consistent shares are the closest ones that can be, whatever their sum may be."""

import numpy as np
import pytest

from dither_server.estimation.fit import onto_simplex, onto_subsimplex, onto_sums
from dither_shared.mechanism import LISTED, SETS, STRINGS


@pytest.mark.parametrize("most", [1, 2, 5, 8])
def test_consistent_shares_are_the_closest_point_of_bounded_sets(most: int) -> None:
    """It is that if no corner, a set of at most so many values, lies on the frequency's side of it."""
    rng = np.random.default_rng(most)
    for spread in (0.2, 1.0, 3.0):
        frequency = rng.normal(0.5, spread, 8)
        found = onto_sums(frequency, 0, most)
        assert found.min() >= 0
        assert found.max() <= 1
        assert found.sum() <= most + 1e-9
        away = frequency - found
        farthest = np.maximum(np.sort(away)[::-1][:most], 0).sum()
        assert farthest <= away @ found + 1e-9


def test_each_kind_of_items_has_its_sums() -> None:
    rng = np.random.default_rng(3)
    for size in (2, 30):
        for mean in (0.01, 1.0):
            frequency = rng.normal(mean, 0.3, size)
            assert np.array_equal(onto_sums(frequency, *LISTED.sums(size)), onto_simplex(frequency))
            assert np.array_equal(onto_sums(frequency, *STRINGS.sums(size)), onto_subsimplex(frequency))
            assert np.array_equal(onto_sums(frequency, *SETS.sums(size)), np.clip(frequency, 0, 1))


def test_consistent_shares_of_unknown_estimates_stay_unknown() -> None:
    assert np.isnan(onto_sums(np.full(3, np.nan), 0, 2)).all()
    assert onto_sums(np.zeros(0), 0, 2).shape == (0,)


def test_a_thousand_values_of_which_three_may_be_chosen() -> None:
    frequency = np.random.default_rng(1).normal(0.01, 0.05, 1024)
    found = onto_sums(frequency, 0, 3)
    assert found.sum() == pytest.approx(3)
    kept = found > 0
    assert np.ptp((frequency - found)[kept]) < 1e-12, "one number is subtracted from all"
