"""Tabulated laws draw with the written probabilities, and their privacy loss is computed exactly."""

from fractions import Fraction

import pytest

from dither_shared import KeyedEntropy, ParameterError
from dither_shared.primitives.probability import ONE
from dither_shared.primitives.tabulated import TabulatedLaw, divergence, worst_ratio

QUARTER = ONE // 4


def test_tabulated_law_has_the_written_probabilities() -> None:
    law = TabulatedLaw((QUARTER, 0, 3 * QUARTER - 1, 1))
    assert list(law.probabilities) == [Fraction(1, 4), 0, Fraction(3, 4) - Fraction(1, ONE), Fraction(1, ONE)]
    assert law.cumulative == (QUARTER, QUARTER, ONE - 1, ONE)
    entropy = KeyedEntropy(b"tabulated")
    drawn = [law.draw(entropy) for _ in range(4000)]
    assert set(drawn) == {0, 2}
    assert abs(drawn.count(0) - 1000) < 5 * (4000 * 3 / 16) ** 0.5  # a miss has a probability below 1e-6


@pytest.mark.parametrize("weights", [(), (ONE - 1,), (ONE, 1), (ONE + 1, -1)])
def test_weights_that_make_no_law_are_refused(weights: tuple[int, ...]) -> None:
    with pytest.raises(ParameterError, match="weights: "):
        TabulatedLaw(weights)


@pytest.mark.parametrize("weights", [[1, 1, 1], [7, 3, 1, 1], [1, 10**30, 2], [5, 5]])
def test_rounding_a_tabulated_law_raises_all_weights_but_the_peak_by_less_than_one(weights: list[int]) -> None:
    peak = weights.index(max(weights))
    row = TabulatedLaw.rounded(weights, peak).weights
    for place, (weight, whole) in enumerate(zip(weights, row, strict=True)):
        exact = Fraction(weight * ONE, sum(weights))
        assert exact - len(weights) < whole <= exact if place == peak else exact <= whole < exact + 1
    assert sum(row) == ONE


def test_worst_ratio_is_the_maximum_over_outcomes_and_pairs() -> None:
    laws = [TabulatedLaw((QUARTER, 3 * QUARTER, 0)), TabulatedLaw((2 * QUARTER, 2 * QUARTER, 0))]
    assert worst_ratio(laws) == 2
    assert worst_ratio(laws[:1]) == 1
    with pytest.raises(ParameterError, match="only some inputs"):
        worst_ratio([*laws, TabulatedLaw((QUARTER, QUARTER, 2 * QUARTER))])


def test_divergence_is_the_excess_over_the_ratio() -> None:
    first, second = (3 * QUARTER, QUARTER, 0), (QUARTER, QUARTER, 2 * QUARTER)
    assert divergence(first, second, Fraction(1)) == Fraction(1, 2)
    assert divergence(first, second, Fraction(2)) == Fraction(1, 4)
    assert divergence(first, second, Fraction(3)) == 0
    assert divergence(second, first, Fraction(1000)) == Fraction(1, 2)  # an outcome that only the second law has
    assert divergence(first, second, Fraction(7, 3)) == Fraction(3, 4) - Fraction(7, 12)
