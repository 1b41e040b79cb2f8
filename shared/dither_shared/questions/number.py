"""Questions whose answers are numbers (a duration, a size, a count), and the grids on which the numbers are placed.

The points v = 0..k - 1 of a grid go from ``low`` to ``high`` in even steps, or in even steps of the logarithm. A number
x lies

    u = (k - 1) (x - low)/(high - low)     or     u = (k - 1) (ln x - ln low)/(ln high - ln low)

steps from the lowest point; one beyond an end counts as that end. A device reports the point ⌊u + w⌋, where w is
uniform on [0, 1): its expectation is u (Hermite's identity), whereas the nearest point may be off by half a step. The
law of a report is then a mixture of those of two points, and a ratio of mixtures is at most the largest ratio of their
parts, so that the privacy loss stays as it is.

``NumberAnswers.place`` splits u into ⌊u⌋ and an integer threshold, so that ⌊u + w⌋ is one exact draw. Doubles compute
u: their rounding acts before any noise, like the rounding in the app that took the number.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import ClassVar, Self

from ..encoding import Answers, NumberAnswers
from ..errors import ParameterError
from ..languages import ENGLISH, Language
from ..mechanism import NUMBERS, Items, Mechanism
from ..mechanisms import MECHANISMS
from ..privacy.wording import in_a_hundred, numeric_odds_sentence
from ..wire import Report
from .fields import Fields
from .question import Question

_FEW = 15
"""Width of a range whose whole numbers are better listed: subset selection is more precise up to 16 answers."""

_WIDE, _USUAL = 100.0, 10.0
"""The ratio of high to low above which a log scale is advised; and the low end assumed if low is 0."""

_LONGEST_UNIT = 32

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


@dataclass(frozen=True)
class NumberQuestion(Question):
    """A number from ``low`` to ``high``: one beyond an end counts as that end, and anything but a number as ``low``.

    A device rounds it at random to one of the two neighbouring points, so that its expectation is the number
    (``Grid``). With ``log`` the grid is even in the logarithm, and the estimated mean is the geometric one. ``unit`` is
    for people, and not part of the version. Raises ParameterError for a range that has no grid (``Grid``).
    """

    kind: ClassVar[str] = "number"
    keys: ClassVar[frozenset[str]] = frozenset({"low", "high", "log", "unit"})
    items: ClassVar[Items] = NUMBERS

    low: float
    high: float
    log: bool = False
    unit: str = ""

    def __post_init__(self) -> None:
        if len(self.unit) > _LONGEST_UNIT or not self.unit.isprintable():
            raise ParameterError("unit", f"not a word of at most {_LONGEST_UNIT} characters, such as s or MiB")
        ends = Grid(self.low, self.high, self.log, 2)
        object.__setattr__(self, "low", ends.low)  # canonical: only one way to write the same question
        object.__setattr__(self, "high", ends.high)

    @classmethod
    def read(cls, fields: Fields) -> Self:
        """Return the question of ``low``, ``high``, ``log`` and ``unit``."""
        log = fields.truth("log", False)
        return cls(fields.number("low"), fields.number("high"), log, fields.string("unit", ""))

    @classmethod
    def family(cls, fields: Fields) -> type[Mechanism]:  # noqa: ARG003 - other kinds look
        """Return the dithered response."""
        return MECHANISMS["dithered-response"]

    def stored(self) -> dict[str, object]:
        """Return the range."""
        return {"low": self.low, "high": self.high, "log": self.log, "unit": self.unit}

    @property
    def domain_digest(self) -> object:
        """The range, as exact fractions, and how a number becomes a point."""
        return {"low": _exact(self.low), "high": _exact(self.high), "log": self.log, "rounding": "random"}

    def grid(self, mechanism: Mechanism) -> Grid:
        """Return the points that the items of ``mechanism`` stand for."""
        if mechanism.size is None:
            raise ParameterError("mechanism", f"{mechanism.name} has no grid of numbers")
        return Grid(self.low, self.high, self.log, mechanism.size)

    def answers(self, mechanism: Mechanism) -> Answers:
        """Return how numbers are placed on the mechanism's grid."""
        return self.grid(mechanism).answers

    def compiled(self, mechanism: Mechanism) -> Mapping[str, object]:
        """Return the grid, from which a number's place follows."""
        return {"kind": self.kind} | asdict(self.grid(mechanism))

    def odds(self, mechanism: Mechanism, names: tuple[str, str] | None = None, say: Language = ENGLISH) -> str:
        """Return what a report says about the number, and how sure it can make anyone of anything about it."""
        return numeric_odds_sentence(mechanism, say)

    def reading(self, mechanism: Mechanism, report: Report, say: Language = ENGLISH) -> str:
        """Return the range that a report names, or where it has moved the number, in words."""
        (cell,) = report.cells(mechanism)
        grid = self.grid(mechanism)
        points = [point for point in range(grid.points) if cell in mechanism.marked(point, report.cohort)]
        if mechanism.cohorts > 1:
            others = in_a_hundred(float(1 - mechanism.a), say)
            return say("number.reads", range=self._between(grid, points, say), others=others)
        if points:
            return say("number.reads.moved", range=self._between(grid, points, say))
        below = cell < mechanism.marked(0, report.cohort)[0]
        end = self._with_unit(say.number(f"{self.low if below else self.high:.15g}"))
        beyond = say("number.below", high=end) if below else say("number.above", low=end)
        return say("number.reads.moved", range=beyond)

    def _between(self, grid: Grid, points: Sequence[int], say: Language) -> str:
        """Return the numbers that may be rounded to neighbouring ``points``, in words."""
        first, last = points[0], points[-1]
        low, high = grid.value(max(first - 1, 0)), grid.value(min(last + 1, grid.points - 1))
        lower, upper = (say.number(_brief(end, end if self.log else high - low)) for end in (low, high))
        if not first:
            return say("number.below", high=self._with_unit(upper))
        if last == grid.points - 1:
            return say("number.from", low=self._with_unit(lower))
        return say("number.between", low=lower, high=self._with_unit(upper))

    def _with_unit(self, text: str) -> str:
        return f"{text} {self.unit}".rstrip()

    def advice(self, mechanism: Mechanism) -> Sequence[str]:
        """Return what is missing, and which other question would give more precise answers."""
        advice = [] if self.unit else ['unit: missing; what the number counts, for example unit = "s"']
        whole = self.low.is_integer() and self.high.is_integer() and not self.log
        if whole and self.high - self.low <= _FEW:
            advice.append(
                'type: number; at most 16 whole numbers are estimated better if type = "choice" lists them as values, '
                'and the share beyond one threshold, fixed beforehand, if type = "boolean" asks for it'
            )
        elif not self.log and self.low >= 0 and self.high > _WIDE * (self.low or _USUAL):
            advice.append(
                "log: false; the range is wide, and the error of a mean grows with it; set log = true with low above "
                "0, or a high that few answers exceed"
            )
        return advice

    def words(self, say: Language = ENGLISH) -> str:
        """Return the range."""
        low, high = (say.number(f"{end:.15g}") for end in (self.low, self.high))
        return say("number.words", low=low, high=self._with_unit(high))

    @property
    def example(self) -> object:
        """The lowest number."""
        return self.low


def _brief(number: float, width: float) -> str:
    """Return a range border, rounded to two digits of ``width``."""
    digits = 1 - math.floor(math.log10(width))
    return f"{round(number, digits):.15g}"


def _exact(end: float) -> str:
    """Return the shortest decimal of a double as an exact fraction: 0.05 is 1/20."""
    return str(Fraction(repr(end)))


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
