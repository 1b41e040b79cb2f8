"""Questions that a number answers: a duration, a size, a count."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Self

from ..errors import ParameterError
from ..mechanism import NUMBERS, Items, Mechanism
from ..mechanisms import DitheredResponse
from ..privacy.wording import numeric_odds_sentence
from .fields import Fields
from .grid import Grid
from .plain import exact_number
from .question import Answers, Encoded, Question

__all__ = ["NumberQuestion"]


@dataclass(frozen=True)
class NumberQuestion(Question):
    """A number from ``low`` to ``high``: one beyond an end counts as that end, and what is no number as ``low``.

    With ``log`` the grid on which the number is placed is even in the logarithm, and the mean that is estimated is the
    geometric one. ``unit`` is for people, and no part of the version. Raises ParameterError for a range that has no
    grid (``Grid``).
    """

    kind: ClassVar[str] = "number"
    keys: ClassVar[frozenset[str]] = frozenset({"low", "high", "log", "unit"})
    items: ClassVar[Items] = NUMBERS

    low: float
    high: float
    log: bool = False
    unit: str = ""

    def __post_init__(self) -> None:
        ends = Grid(self.low, self.high, self.log, 2)
        object.__setattr__(self, "low", ends.low)  # one way to say the same question
        object.__setattr__(self, "high", ends.high)

    @classmethod
    def read(cls, fields: Fields) -> Self:
        """Return the question of ``low``, ``high``, ``log`` and ``unit``."""
        log = fields.truth("log", False)
        return cls(fields.number("low"), fields.number("high"), log, fields.string("unit", ""))

    @classmethod
    def family(cls, fields: Fields) -> type[Mechanism]:  # noqa: ARG003 - other kinds look
        """Return the dithered response."""
        return DitheredResponse

    def stored(self) -> dict[str, object]:
        """Return the range."""
        return {"low": self.low, "high": self.high, "log": self.log, "unit": self.unit}

    @property
    def domain_digest(self) -> object:
        """The range, as exact fractions."""
        return {"low": _exact(self.low), "high": _exact(self.high), "log": self.log}

    def grid(self, mechanism: Mechanism) -> Grid:
        """Return the points that the items of ``mechanism`` stand for."""
        if mechanism.size is None:
            raise ParameterError("mechanism", f"{mechanism.name} has no grid of numbers")
        return _grid(self.low, self.high, self.log, mechanism.size)

    def answers(self, mechanism: Mechanism) -> Answers:
        """Return how numbers are placed on the mechanism's grid."""
        return _Answers(self.grid(mechanism))

    def odds(self, mechanism: Mechanism, names: tuple[str, str] | None = None) -> str:
        """Return what a report says of the number, and how sure it can make anyone of anything about it."""
        return numeric_odds_sentence(mechanism)

    @property
    def words(self) -> str:
        """The range."""
        return f"a number from {self.low:g} to {self.high:g}{self.unit and ' ' + self.unit}"

    @property
    def example(self) -> object:
        """The lowest number."""
        return self.low


class _Answers(Answers):
    wanted = "give a number"

    def __init__(self, grid: Grid) -> None:
        self._grid = grid

    def encode(self, value: object) -> Encoded:
        """Return the nearest point; a number beyond an end is outside, and what is no number a mistake."""
        number = exact_number(value)
        if number is None:
            return Encoded(0, outside=True, mistake=True)
        point, side = self._grid.point(number)
        return Encoded(point, outside=side != 0)


@lru_cache(maxsize=1024)
def _grid(low: float, high: float, log: bool, points: int) -> Grid:
    """Return the one grid of its kind, for its thresholds are worked out when they are needed."""
    return Grid(low, high, log, points)


def _exact(end: float) -> str:
    """Return the decimal that a double is written as, as an exact fraction: 0.05 is 1/20."""
    return str(Fraction(repr(end)))
