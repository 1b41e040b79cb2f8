"""Exact probabilities: multiples of 2^-64, rounded toward privacy, and the resulting epsilon.

A device never asks "is a float below a float". A probability is an integer threshold t over 2^64 and an event
happens if a uniform 64-bit word is below t, so its probability is t/2^64 exactly. Where a target such as e^ε/(e^ε+1)
is irrational, exp is taken to 110 digits with directed rounding and the threshold is rounded to the private
side; the epsilon that is declared is then the logarithm of an exact rational, rounded up.
"""

import decimal
import math
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from ..errors import ParameterError
from .entropy import ONE as ONE  # noqa: PLC0414 - probabilities are over it

MIN_EPSILON = 1e-4
"""Below this, the error of a share is 0.6 even from a billion reports, and e^ε - 1 nears the grid of 2^-64."""

MAX_EPSILON = 25.0
"""Above this, e^-ε nears the grid of 2^-64, and there is practically no privacy left."""

_DIGITS = 110


def checked_epsilon(epsilon: float | Fraction, place: str = "epsilon") -> Fraction:
    """Return ``epsilon`` as the exact rational that the float is.

    Raises ParameterError unless it is a number, finite, positive, and from ``MIN_EPSILON`` to ``MAX_EPSILON``.
    """
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float | Fraction):
        raise ParameterError(place, f"{epsilon!r} is not a number")
    if not math.isfinite(epsilon):
        raise ParameterError(place, f"{epsilon!r} is not finite")
    if epsilon <= 0:
        raise ParameterError(place, f"{epsilon!r} is not positive")
    if epsilon < MIN_EPSILON:
        raise ParameterError(
            place, f"{float(epsilon)!r} is below {MIN_EPSILON:g}, at which even a billion reports carry no information"
        )
    if epsilon > MAX_EPSILON:
        raise ParameterError(place, f"{epsilon!r} is above {MAX_EPSILON:g}, at which nothing is private any more")
    return Fraction(epsilon)


def as_probability(value: float | Fraction, place: str) -> Fraction:
    """Return ``value`` as an exact rational in [0, 1]; raise ParameterError otherwise."""
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        raise ParameterError(place, f"{value!r} is not a number")
    if not 0 <= value <= 1:  # comparisons with NaN are false
        raise ParameterError(place, f"{value!r} is not a probability; it must lie in [0, 1]")
    return Fraction(value)


def _context(rounding: str) -> decimal.Context:
    """Return a context independent of ``decimal.DefaultContext``, which the app may have changed."""
    return decimal.Context(_DIGITS, rounding, decimal.MIN_EMIN, decimal.MAX_EMAX, 1, 0, [], [])


@lru_cache(maxsize=256)  # every mechanism that is tried for an epsilon needs the same few values
def exp_below(exponent: Fraction) -> Fraction:
    """Return a rational just below e^exponent; relative distance under 1e-100, if ``exponent`` is under 10^8."""
    context = _context(decimal.ROUND_FLOOR)
    low = context.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))
    # Decimal.exp rounds to nearest whatever the context says: one step down is certainly below.
    return Fraction(context.next_minus(context.exp(low)))


def exp_above(exponent: Fraction) -> Fraction:
    """Return a rational just above e^exponent, with the accuracy of ``exp_below``."""
    return 1 / exp_below(-exponent)


def log_above(ratio: Fraction) -> Fraction:
    """Return a rational that is ln(ratio) or just above it, for ratio > 0."""
    if ratio == 1:
        return Fraction(0)
    context = _context(decimal.ROUND_CEILING)
    high = context.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    # Decimal.ln rounds to nearest whatever the context says: one step up is certainly above.
    return Fraction(context.next_plus(context.ln(high)))


def float_above(exact: Fraction) -> float:
    """Return the least float that is not below ``exact``; it may be infinite."""
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def epsilon_of(ratio: Fraction) -> float:
    """Return ln(ratio) rounded up to a float: an upper bound on the privacy loss, for ratio >= 1."""
    if ratio < 1:
        raise ParameterError("ratio", f"{ratio} is below 1")
    return float_above(log_above(ratio))


def threshold_down(probability: Fraction) -> int:
    """Return the largest t with t/2^64 <= probability."""
    return math.floor(probability * ONE)


def threshold_up(probability: Fraction) -> int:
    """Return the smallest t with t/2^64 >= probability."""
    return math.ceil(probability * ONE)


def threshold_text(probability: Fraction) -> str:
    """Return a multiple of 2^-64 below 1 as the 16 hex digits of its threshold."""
    return f"{int(probability * ONE):016x}"


def toward(centre: Fraction, probability: Fraction) -> Fraction:
    """Return the multiple of 2^-64 nearest to ``probability`` on the side of ``centre``.

    Moving the probability of the truth toward that of pure chance can only lower the privacy loss.
    """
    threshold = threshold_up(probability) if probability < centre else threshold_down(probability)
    return Fraction(threshold, ONE)
