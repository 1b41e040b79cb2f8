"""Grids: from a number to the nearest of k points, exactly, and back.

The points v = 0..n, n = k - 1, go from ``low`` to ``high`` in even steps, or in even steps of the logarithm:

- linear: point v is low + (high - low) v/n, and the boundary of v and v + 1 is low + (high - low) (2v + 1)/(2n);
- logarithmic: point v is low (high/low)^(v/n), and the boundary is low (high/low)^((2v + 1)/(2n)).

A number x has the point v that is the count of boundaries b with b <= x. So the nearest point wins, a number on a
boundary belongs to the upper one, and what is beyond an end has the point of that end. The comparison is one of exact
numbers: with integers alone it reads, on a logarithmic grid, (x/low)^(2n) >= (high/low)^(2v + 1).

``low`` and ``high`` are decimals: a double stands for the shortest decimal that reads as it, so 0.05 is 1/20. That is
what ``repr`` writes in Python and ``String`` in JavaScript. An answer stands for its exact binary value.

To be quick, each boundary is kept as the least double that reaches it, and a double is looked up among these by
bisection. Such a threshold is computed when it is first needed, from bounds on the boundary that are narrowed until
both have the same one: no logarithm of the platform takes part.
"""

import decimal
import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple, Protocol, TypeVar

from ...errors import ParameterError

_T = TypeVar("_T")

_LEAST, _MOST = 1e-300, 1e300
"""Magnitudes of an end other than 0: far enough from where doubles end that no point comes near."""

_FINEST = Fraction(1, 10**9)
"""The least step as a part of the larger end: doubles still separate the points and their boundaries."""

_DIGITS = 40
"""Digits of the first bounds on a point of a logarithmic grid: one double in 10^17 needs more."""


class Placed(NamedTuple):
    """The position of a number on a grid."""

    point: int
    outside: int
    """-1 for a number below the grid, 1 for one above, 0 for one on it."""


@dataclass(frozen=True)
class Grid:
    """``points`` numbers from ``low`` to ``high``, evenly spaced, or evenly in their logarithms if ``log``.

    Raises ParameterError if an end is no number, is 0 on a logarithmic grid or below, or if the points are too near
    one another for doubles.
    """

    low: float
    high: float
    log: bool
    points: int
    _scale: "_Scale" = field(init=False, repr=False, compare=False)
    _thresholds: list[float | None] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if type(self.points) is not int or self.points < 2:
            raise ParameterError("points", f"{self.points!r} is not an integer from 2 up")
        steps = self.points - 1
        low, high = _end(self.low, "low"), _end(self.high, "high")
        if low >= high:
            raise ParameterError("high", f"{self.high} is not above low, which is {self.low}")
        if self.log and low <= 0:
            raise ParameterError("low", f"{self.low} has no logarithm; a grid with log = true begins above 0")
        if high - low < steps * _FINEST * max(abs(low), abs(high)):
            raise ParameterError("high", f"{self.high} is too near low, {self.low}, for {steps} steps between them")
        object.__setattr__(self, "low", float(self.low))
        object.__setattr__(self, "high", float(self.high))
        scale = _Logarithmic(low, high / low, 2 * steps) if self.log else _Linear(low, high - low, 2 * steps)
        object.__setattr__(self, "_scale", scale)
        object.__setattr__(self, "_thresholds", [None] * steps)

    def point(self, value: float | Fraction) -> Placed:
        """Return the nearest point of a number, the upper of two that are as near, and whether it is outside.

        An infinite value is beyond the end; NaN is not allowed. The ends are not outside, nor is a number that as a
        double is an end. Takes microseconds, the first call up to half a millisecond, and never raises.
        """
        near = _nearest(value)
        point = self._count(near)
        if near != value:  # it is no double: a boundary may lie between it and the double that is nearest
            beside = self._count(math.nextafter(near, math.inf if near < value else -math.inf))
            if beside != point:
                lower = min(point, beside)
                point = lower + self._scale.settle(2 * lower + 1, lambda boundary: value >= boundary)
        return Placed(point, (near > self.high) - (near < self.low))

    def value(self, point: int) -> float:
        """Return the double nearest to a point; of two that are as near, the one with an even significand."""
        return self._scale.settle(2 * point, float)

    def fraction(self, point: int) -> Fraction:
        """Return which part of the way from ``low`` to ``high`` a point is, or of the logarithm's way."""
        return Fraction(point, self.points - 1)

    def _count(self, double: float) -> int:
        """Return how many boundaries are at a double or below it."""
        return bisect_right(range(self.points - 1), double, key=self.border)

    def border(self, point: int) -> float:
        """Return the least double that belongs to the next point."""
        found = self._thresholds[point]
        if found is None:
            found = self._thresholds[point] = self._scale.settle(2 * point + 1, _double_from)
        return found


class _Scale(Protocol):
    """The real numbers at every half step of a grid: the even ones are its points, the odd ones the boundaries."""

    def settle(self, half: int, rule: Callable[[Fraction], _T]) -> _T:
        """Return ``rule`` of the number at a half step; ``rule`` is monotone, and jumps at rational numbers only."""


@dataclass(frozen=True)
class _Linear:
    """``low`` and as many half steps, evenly over ``width``."""

    low: Fraction
    width: Fraction
    halves: int

    def settle(self, half: int, rule: Callable[[Fraction], _T]) -> _T:
        return rule(self.low + self.width * half / self.halves)


@dataclass(frozen=True)
class _Logarithmic:
    """``low`` times ``ratio`` to the power of even parts of 1."""

    low: Fraction
    ratio: Fraction
    halves: int

    def settle(self, half: int, rule: Callable[[Fraction], _T]) -> _T:
        digits = _DIGITS
        while True:  # it ends: an irrational number is no place where a rule jumps, and bounds leave such a place alone
            below, above = power_bounds(self.low, self.ratio, half, self.halves, digits)
            if (found := rule(below)) == rule(above):
                return found
            if (exact := self._rational(half)) is not None:
                return rule(exact)
            digits *= 2

    def _rational(self, half: int) -> Fraction | None:
        """Return the number exactly if it is rational: if both terms of the ratio have integer roots."""
        shared = math.gcd(half, self.halves)
        above, below = (_root(term, self.halves // shared) for term in self.ratio.as_integer_ratio())
        return self.low * Fraction(above, below) ** (half // shared) if above and below else None


def power_bounds(low: Fraction, ratio: Fraction, half: int, halves: int, digits: int) -> tuple[Fraction, Fraction]:
    """Return a number below and one above low ratio^(half/halves), each by 10^(6 - digits) of it.

    An operation is off by at most 10^(1 - digits) of its result, ln and exp too. The exponent is below 1,400, so exp's
    argument is off by 5,000 of these at most, and the result by less than half of the distance.
    """
    context = _context(digits)
    exponent = context.divide(context.multiply(_logarithm(ratio, digits), half), halves)
    number = context.divide(context.multiply(context.exp(exponent), low.numerator), low.denominator)
    slack = context.scaleb(number, 6 - digits)
    return Fraction(context.subtract(number, slack)), Fraction(context.add(number, slack))


def _root(number: int, degree: int) -> int:
    """Return the integer whose power is ``number``, or 0 if there is none, for number >= 1."""
    context = _context(number.bit_length() // (3 * degree) + 20)
    root = round(context.exp(context.divide(context.ln(context.create_decimal(number)), degree)))
    return root if root**degree == number else 0


@lru_cache(maxsize=64)
def _logarithm(ratio: Fraction, digits: int) -> Decimal:
    context = _context(digits)
    return context.ln(context.divide(ratio.numerator, ratio.denominator))


def _context(digits: int) -> decimal.Context:
    """Return a context of our own in all respects: an app may change the defaults of decimal."""
    return decimal.Context(digits, decimal.ROUND_HALF_EVEN, decimal.MIN_EMIN, decimal.MAX_EMAX, 1, 0, [], [])


def _double_from(number: Fraction) -> float:
    """Return the least double that is not below a number."""
    nearest = float(number)
    return nearest if nearest >= number else math.nextafter(nearest, math.inf)


def _nearest(value: float | Fraction) -> float:
    """Return the double nearest to a number, infinite for one beyond all doubles."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _end(number: object, place: str) -> Fraction:
    """Return the decimal that an end of a grid is; raise ParameterError if it is none."""
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise ParameterError(place, f"{number!r} is not a number")
    double = _nearest(number)
    if double and not _LEAST <= abs(double) <= _MOST:
        raise ParameterError(place, f"{double!r} is neither 0 nor of a magnitude from {_LEAST:g} to {_MOST:g}")
    shortest = Fraction(repr(double))
    if isinstance(number, int) and number != shortest:
        raise ParameterError(place, f"{number} has more digits than a double keeps; write {shortest}")
    return shortest
