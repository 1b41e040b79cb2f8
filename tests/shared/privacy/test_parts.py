"""Parts of what one person is asked."""

import math
from fractions import Fraction

import pytest

from dither_shared import ParameterError
from dither_shared.privacy.parts import LEAST_EPSILON, Part


def test_a_part_adds_up() -> None:
    part = Part(Fraction("0.1"), 365, Fraction("1e-9"))
    assert part.total == Fraction("36.5")
    assert part.total_delta == Fraction("3.65e-7")


def test_a_group_multiplies_epsilon_and_lets_delta_grow() -> None:
    """δ · (1 + e^ε + e^2ε) for three, and three times δ where ε is 0."""
    exact = 1 + math.e + math.e**2
    three = Part(Fraction(1), 7, Fraction("1e-9")).of_group(3)
    assert three.epsilon == 3
    assert three.reports == 7
    assert float(three.delta) == pytest.approx(1e-9 * exact, rel=1e-14)
    assert Part(Fraction(0), 1, Fraction("1e-9")).of_group(3) == Part(Fraction(0), 1, Fraction("3e-9"))
    assert Part(Fraction(2), 5).of_group(3) == Part(Fraction(6), 5)
    assert Part(LEAST_EPSILON, 1, Fraction("1e-9")).of_group(2).delta >= Fraction("2e-9")
    part = Part(Fraction(1), 7, Fraction("1e-9"))
    assert part.of_group(1).delta == pytest.approx(part.delta)
    assert part.of_group(1).delta >= part.delta


@pytest.mark.parametrize(
    ("epsilon", "reports", "delta", "named"),
    [
        ("-1", 1, "0", "epsilon: -1 is not from 1e-30 to 10,000"),
        ("1e-31", 1, "0", "epsilon"),
        ("10001", 1, "0", "epsilon"),
        ("1", 0, "0", "reports: 0 is not from 1 to 1,000,000,000"),
        ("1", 10**9 + 1, "0", "reports"),
        ("1", 1, "1", "delta"),
        ("1", 1, "-0.1", "delta"),
    ],
)
def test_impossible_parts_are_refused(epsilon: str, reports: int, delta: str, named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        Part(Fraction(epsilon), reports, Fraction(delta))


def test_impossible_groups_are_refused() -> None:
    with pytest.raises(ParameterError, match="people: 0"):
        Part(Fraction(1)).of_group(0)
    with pytest.raises(ParameterError, match="epsilon: 20000"):
        Part(Fraction(1), 1, Fraction("1e-9")).of_group(20_000)
    with pytest.raises(ParameterError, match=r"delta: .* promises nothing"):
        Part(Fraction(1), 1, Fraction("1e-9")).of_group(30)
