"""Grids: map a number to its place between two of k points, and back.

The points v = 0..k - 1 go from ``low`` to ``high`` in even steps, or in even steps of the logarithm. A number x lies

    u = (k - 1) (x - low)/(high - low)     or     u = (k - 1) (ln x - ln low)/(ln high - ln low)

steps from the lowest point; one beyond an end counts as that end. A device reports the point ⌊u + w⌋, where w is
uniform on [0, 1): its expectation is u (Hermite's identity), whereas the nearest point may be off by half a step. The
law of a report is then a mixture of those of two points, and a ratio of mixtures is at most the largest ratio of their
parts, so that the privacy loss stays as it is.

``NumberAnswers.place`` splits u into ⌊u⌋ and an integer threshold, so that ⌊u + w⌋ is one exact draw. Doubles compute
u: their rounding acts before any noise, like the rounding in the app that took the number.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from ...encoding import NumberAnswers
from ...errors import ParameterError

_LEAST, _MOST = 1e-300, 1e300
"""Magnitudes of an end other than 0, such that no difference of two numbers between the ends overflows."""

_FINEST = 1e-9
"""The least step relative to the larger end, such that doubles still separate the points."""


@dataclass(frozen=True)
class Grid:
    """``points`` numbers from ``low`` to ``high``, evenly spaced, or evenly in their logarithms if ``log``.

    Raises ParameterError if an end is not a number, or not above 0 on a logarithmic grid, or if the points are too near
    one another for doubles.
    """

    low: float
    high: float
    log: bool
    points: int

    def __post_init__(self) -> None:
        if type(self.points) is not int or self.points < 2:
            raise ParameterError("points", f"{self.points!r} is not an integer from 2 up")
        low, high, steps = _end(self.low, "low"), _end(self.high, "high"), self.points - 1
        if low >= high:
            raise ParameterError("high", f"{self.high} is not above low, which is {self.low}")
        if self.log and low <= 0:
            raise ParameterError("low", f"{self.low} has no logarithm; a grid with log = true begins above 0")
        if high - low < steps * _FINEST * max(abs(low), abs(high)):
            raise ParameterError("high", f"{self.high} is too close to low, {self.low}, for {steps} steps between them")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def answers(self) -> NumberAnswers:
        """The reader of numbers that an app gives: their places between two points."""
        return NumberAnswers(self.low, self.high, self.log, self.points)

    def value(self, place: float) -> float:
        """Return the number at a place, in steps from the lowest point; at both ends, exactly the ends."""
        part = place / (self.points - 1)
        if part in {0, 1}:
            return self.high if part else self.low
        if self.log:
            return math.exp((1 - part) * math.log(self.low) + part * math.log(self.high))
        return (1 - part) * self.low + part * self.high


def _end(number: object, name: str) -> float:
    """Return an end of a grid as a double; raise ParameterError if it is not one."""
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise ParameterError(name, f"{number!r} is not a number")
    try:
        double = float(number)
    except OverflowError:
        double = math.inf
    if double and not _LEAST <= abs(double) <= _MOST:  # comparisons with NaN are false
        raise ParameterError(name, f"{double!r} is neither 0 nor of a magnitude from {_LEAST:g} to {_MOST:g}")
    if isinstance(number, int) and number != (shortest := Fraction(repr(double))):
        raise ParameterError(name, f"{number} has more digits than a double keeps; write {shortest}")
    return double
