"""PrivSet: known variances, the best r, subset selection as its smallest case, and bad parameters."""

from fractions import Fraction
from math import comb

import pytest

from dither_shared import ParameterError, PrivSet, Shape
from dither_shared.primitives.probability import exp_below


def published(size: int, at_most: int, subset: int, epsilon: float) -> tuple[float, float]:
    """Return V(0) and its slope by the formulas of p and q with e^ε and binomials, without rounding."""
    odds, cells = exp_below(Fraction(epsilon)), size + at_most
    every, missing = comb(cells, subset), comb(size, subset)
    total = odds * (every - missing) + missing
    p = odds * comb(cells - 1, subset - 1) / total
    beside = comb(cells - at_most - 1, subset - 1)
    q = (odds * (comb(cells - 1, subset - 1) - beside) + beside) / total
    return float(q * (1 - q) / (p - q) ** 2), float((1 - p - q) / (p - q))


CLOSE = [(3, 1, 0.5), (7, 1, 0.25), (10, 3, 0.5), (11, 1, 2.0)]
"""Parameters at which one r has hardly less risk than the next."""


@pytest.mark.parametrize(
    ("size", "at_most", "epsilon"),
    [(2, 1, 1.0), (16, 3, 0.25), (1024, 300, 4.0), *CLOSE],
)
def test_the_subset_has_the_least_total_risk(size: int, at_most: int, epsilon: float) -> None:
    mechanism = PrivSet.calibrate(size, epsilon, at_most=at_most)
    constant, slope = published(size, at_most, mechanism.subset, epsilon)
    assert mechanism.variance(0.0) == pytest.approx(constant, rel=1e-9)
    assert mechanism.variance(1.0) - mechanism.variance(0.0) == pytest.approx(slope, rel=1e-9)
    assert mechanism.risk == pytest.approx(size * constant + at_most * slope, rel=1e-9)
    others = range(1, min(size, 30) + 1) if size < 100 else {1, mechanism.subset - 1, mechanism.subset + 1, size // 2}
    for subset in set(others) - {0, size}:
        constant, slope = published(size, at_most, subset, epsilon)
        assert mechanism.risk <= (size * constant + at_most * slope) * (1 + 1e-9)


def test_privset_pads_a_set_with_dummies() -> None:
    mechanism = PrivSet.calibrate(5, 1.0, at_most=3)
    assert mechanism.marked(0b00000) == (5, 6, 7)
    assert mechanism.marked(0b10010) == (1, 4, 5)
    assert mechanism.marked(0b10011) == (0, 1, 4)
    with pytest.raises(ParameterError, match="item: a set of more than 3 values"):
        mechanism.marked(0b01111)


def test_a_row_is_a_list_only_if_it_is_shorter_than_a_bit_per_cell() -> None:
    """17 and 32 cells take 5 bits each."""
    for size, longest in ((14, 3), (29, 6)):
        subsets = (1, longest, longest + 1)
        shapes = [PrivSet(size=size, at_most=3, subset=subset, inside=Fraction(9, 10)).shape for subset in subsets]
        assert shapes == [Shape.SYMBOL, Shape.LIST, Shape.BITS]


@pytest.mark.parametrize(("budget", "least"), [(1, 1), (33, 23), (64, 46), (1000, 80)])
def test_a_report_budget_costs_accuracy_and_no_privacy(budget: int, least: int) -> None:
    """1,027 cells: 11 bits each in a list."""
    mechanism = PrivSet.configure(1024, {"epsilon": 1.0, "at_most": 3, "report_budget": budget})
    assert mechanism.subset >= least
    assert mechanism.row_bytes <= max(budget, 2)  # one symbol takes 2 bytes, and there is nothing shorter
    assert mechanism.epsilon <= 1.0
    assert mechanism.risk >= PrivSet.calibrate(1024, 1.0, at_most=3).risk


@pytest.mark.parametrize(
    ("size", "parameters", "complaint"),
    [
        (8, {"epsilon": 1.0}, "at_most: missing; privset needs the maximum number of values in an answer"),
        (8, {"epsilon": 1.0, "at_most": 9}, "at_most: 9 is out of range; it must lie between 1 and 8"),
        (8, {"at_most": 2}, "epsilon: missing"),
        (8, {"epsilon": 1.0, "at_most": 2, "permanent_epsilon": 1.0}, "permanent_epsilon: 1 must exceed epsilon = 1"),
        (1 << 20, {"epsilon": 1.0, "at_most": 2}, "size: 1048576 values and 2 dummies are more than 1048576 cells"),
    ],
)
def test_impossible_privsets_are_refused(size: int, parameters: dict[str, float], complaint: str) -> None:
    with pytest.raises(ParameterError) as caught:
        PrivSet.configure(size, parameters)
    assert str(caught.value).startswith(complaint)


@pytest.mark.parametrize(
    ("inside", "permanent", "complaint"),
    [
        (Fraction(1, 5), None, "inside: 0.2 must lie between 0.2 (no information) and 1"),
        (Fraction(1), None, "inside: 1 must lie between"),
        (Fraction(1, 2), Fraction(1, 2), "permanent_inside: must exceed inside"),
        (Fraction(1, 2), Fraction(1), "permanent_inside: 1 must lie between"),
    ],
)
def test_probability_that_tells_all_or_nothing_is_refused(
    inside: Fraction, permanent: Fraction | None, complaint: str
) -> None:
    with pytest.raises(ParameterError) as caught:
        PrivSet(size=8, at_most=2, subset=1, inside=inside, permanent_inside=permanent)
    assert str(caught.value).startswith(complaint)
