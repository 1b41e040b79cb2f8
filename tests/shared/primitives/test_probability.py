"""Directed rounding and the epsilon of exact ratios."""

import math
import subprocess
import sys
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from dither_shared import ParameterError
from dither_shared.primitives.probability import (
    MAX_EPSILON,
    MIN_EPSILON,
    ONE,
    as_probability,
    checked_epsilon,
    epsilon_of,
    exp_above,
    exp_below,
    float_above,
    log_above,
    threshold_down,
    threshold_up,
    toward,
)

RATIOS = [Fraction(3), Fraction(10**30 + 1, 10**30), Fraction(271828, 100000), Fraction(2**640, 3**100)]


def test_epsilon_is_the_smallest_float_that_bounds_the_logarithm() -> None:
    for ratio in RATIOS:
        epsilon = epsilon_of(ratio)
        with localcontext(prec=200):
            exact = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
            assert Decimal(math.nextafter(epsilon, 0)) < exact <= Decimal(epsilon)
    assert epsilon_of(Fraction(1)) == 0
    with pytest.raises(ParameterError, match="ratio"):
        epsilon_of(Fraction(1, 2))


@pytest.mark.parametrize("ratio", [*RATIOS, *(1 / ratio for ratio in RATIOS), Fraction(1)])
def test_log_is_bounded_from_above_to_a_hundred_digits(ratio: Fraction) -> None:
    with localcontext(prec=200):
        exact = Fraction((Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln())
    assert 0 <= log_above(ratio) - exact <= Fraction(1, 10**100)


@pytest.mark.parametrize("size", [Fraction(1, 3), Fraction(1), Fraction(25), Fraction(0.1), Fraction(10_000)])
@pytest.mark.parametrize("sign", [1, -1])
def test_exp_is_bounded_from_both_sides_to_a_hundred_digits(size: Fraction, sign: int) -> None:
    exponent = sign * size
    with localcontext(prec=200):
        exact = Fraction((Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp())
    assert 0 < exact - exp_below(exponent) < exact / 10**100
    assert 0 < exp_above(exponent) - exact < exact / 10**100


@pytest.mark.parametrize(
    "exact", [Fraction(1, 3), Fraction(2, 3), Fraction(1, 10), Fraction(7), Fraction(0), Fraction(-2, 3)]
)
def test_float_above_is_the_least_float_not_below(exact: Fraction) -> None:
    above = float_above(exact)
    assert Fraction(math.nextafter(above, -math.inf)) < exact <= Fraction(above)


def test_float_above_the_largest_is_infinity() -> None:
    assert float_above(Fraction(10**400)) == math.inf


def test_thresholds_round_each_its_way_and_toward_the_centre() -> None:
    third = Fraction(1, 3)
    assert threshold_up(third) == threshold_down(third) + 1
    assert Fraction(threshold_down(third), ONE) < third < Fraction(threshold_up(third), ONE)
    assert toward(Fraction(1, 2), third) > third
    assert toward(Fraction(1, 4), third) < third
    assert toward(Fraction(1, 2), Fraction(3, 4)) == Fraction(3, 4)


@pytest.mark.parametrize("wrong", [0, -1.0, 1e-300, 1e-17, 9e-5, -math.inf, math.inf, math.nan, 25.1, True, "1"])
def test_impossible_epsilon_is_refused(wrong: object) -> None:
    with pytest.raises(ParameterError, match="epsilon: "):
        checked_epsilon(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("end", [MIN_EPSILON, MAX_EPSILON])
def test_epsilon_up_to_both_ends(end: float) -> None:
    assert checked_epsilon(end) == Fraction(end)
    beyond = math.nextafter(end, 0.0 if end < 1 else math.inf)
    with pytest.raises(ParameterError, match="at which"):
        checked_epsilon(beyond)


@pytest.mark.parametrize("end", [0, 1, 0.0, 1.0, Fraction(1)])
def test_certainty_is_a_probability(end: float) -> None:
    assert as_probability(end, "truth") == end


@pytest.mark.parametrize("wrong", [-0.1, 1.1, math.nan, False, None])
def test_number_that_is_no_probability_is_refused(wrong: object) -> None:
    with pytest.raises(ParameterError, match="truth: "):
        as_probability(wrong, "truth")  # type: ignore[arg-type]


def test_decimal_context_of_the_app_changes_no_number() -> None:
    """Run in a separate process, because a changed default context would affect every later import."""
    code = """
import decimal
decimal.DefaultContext.Emax, decimal.DefaultContext.prec = 1, 3
decimal.DefaultContext.traps[decimal.Inexact] = True
decimal.setcontext(decimal.DefaultContext)
import dither_shared
metrics = dither_shared.parse_metrics('[metrics.a]\\ntype = "boolean"\\nepsilon = 5.0\\npermanent_epsilon = 6.0')
print(metrics["a"].version, metrics["a"].mechanism.epsilon)
"""
    run = [sys.executable, "-c"]
    changed = subprocess.check_output([*run, code], text=True)
    usual = subprocess.check_output(
        [*run, "import dither_shared" + code.partition("import dither_shared")[2]], text=True
    )
    assert changed == usual
