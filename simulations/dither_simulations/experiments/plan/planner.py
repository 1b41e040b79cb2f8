"""Plan a survey before anyone is asked: what each ε costs and tells, and the least ε at which the users suffice."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, ClassVar, Self

from dither_server.estimation.confidence import require_confidence
from dither_shared import Mechanism, ParameterError
from dither_shared.counted import counted
from dither_shared.privacy.wording import MEMOISATION

from ...options.common import given_fields
from ...output.tables import Column, value
from ...sweeps import Row

ADDING_UP = "Each report tells anew: ε adds up, report by report. --permanent-epsilon bounds it for a value."

_LEAST, _MOST = 0.01, 8.0
"""The range of ε: above the greatest, with odds of 3,000 to 1, a report hides hardly anything."""
_STEPS = 18
"""Halvings of the logarithm: to a part in 30,000, of which three digits are shown."""


@dataclass(frozen=True, kw_only=True)
class Planner(ABC):
    """What is wanted, at one or several ε of a report; ``users`` is the number of users, if it is known.

    Each user reports once on each of ``days`` days. A kind of question is a subclass.
    """

    epsilons: tuple[float, ...]
    permanent_epsilon: float | None = None
    users: int | None = None
    days: int = 30

    hint: ClassVar[str] = "Give the number of users (-n) to find the least ε that will do."

    @classmethod
    def asked(cls, given: Mapping[str, Any]) -> Self:
        """Return the plan that options ask for, by the names of its fields; raise ParameterError for what cannot be."""
        return cls(**given_fields(cls, given))

    @abstractmethod
    def rows(self) -> list[Row]:
        """Return what each ε costs and tells; raise ParameterError for an ε that no mechanism can have."""

    @abstractmethod
    def needed(self, epsilon: float) -> int:
        """Return how many users an ε takes; raise ParameterError if no mechanism can have it."""

    @abstractmethod
    def explain(self, rows: Sequence[Row]) -> str:
        """Return the results for a terminal."""

    def costs(self, mechanism: Mechanism) -> Row:
        """Return the columns that every plan has: what a mechanism costs."""
        return {
            "report_bytes": mechanism.row_bytes,
            "days": self.days,
            "epsilon_days": mechanism.epsilon_after(self.days),
            "epsilon_forever": mechanism.permanent_epsilon,
        }

    def reached(self, needed: int) -> bool | None:
        """Return whether the users suffice; None if their number is not known."""
        return None if self.users is None else self.users >= needed

    def least(self) -> float | None:
        """Return the least ε of a report at which the users suffice, rounded up to three digits.

        None if no ε suffices or the number of users is not known. A permanent ε bounds it from above.
        """
        low, high = _LEAST, self._most
        if not self._suffices(high):
            return None
        for _ in range(_STEPS):
            middle = (low * high) ** 0.5
            low, high = (low, middle) if self._suffices(middle) else (middle, high)
        return next(rounded for up in (0, 1) if self._suffices(rounded := _three_digits(high, up)))

    @property
    def _most(self) -> float:
        return min(_MOST, 0.999 * (self.permanent_epsilon or math.inf))

    def _suffices(self, epsilon: float) -> bool:
        try:
            return bool(self.reached(self.needed(epsilon)))
        except ParameterError:  # an ε so small that no mechanism can have it
            return False

    def answer(self) -> str:
        """Return a sentence on the least ε that will do."""
        if self.users is None:
            return self.hint
        users, least = counted(self.users, "user"), self.least()
        if least is None:
            return f"No: {users} cannot do it at any ε of a report up to {self._most:.3g}."
        return f"Yes: with {users} ε = {least:g} is the least that will do."

    def memory(self) -> str:
        """Return a sentence on what many reports of one value cost."""
        return ADDING_UP if self.permanent_epsilon is None else MEMOISATION

    def in_words(self) -> str:
        """Return the number of users, if it is known, before what is wanted."""
        return "" if self.users is None else f"{counted(self.users, 'user')}; "

    def loss_columns(self) -> list[Column]:
        """Return the columns of what all days cost."""
        days = value("epsilon_days", f"ε of {counted(self.days, 'day')}", ".4g")
        return [days] if self.permanent_epsilon is None else [days, value("epsilon_forever", "for ever", ".4g")]


@dataclass(frozen=True, kw_only=True)
class IntervalPlanner(Planner):
    """A plan for intervals of ± ``error`` at the level ``confidence``; raises ParameterError if there are none."""

    error: float = 0.01
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if not 0 < self.error < 1:
            raise ParameterError("error", f"{self.error!r} must lie strictly between 0 and 1")
        require_confidence(self.confidence)

    @property
    def quantile(self) -> float:
        """How many standard errors the half of an interval is."""
        return NormalDist().inv_cdf((1 + self.confidence) / 2)

    def users_of(self, variance: float) -> int:
        """Return how many users an interval takes, given n·Var of the estimate: z²·variance/error²."""
        return math.ceil(variance * (self.quantile / self.error) ** 2)


def percent(share: float, digits: int = 3) -> str:
    """Return a share in percent."""
    return f"{100 * share:.{digits}g} %"


def yes_or_no(name: str, head: str) -> Column:
    """Return a column of whether something is so; a dash where nobody knows."""
    return Column(head, lambda row: {True: "yes", False: "no", None: "-"}[row[name]])


def in_percent(name: str, head: str) -> Column:
    """Return a column of shares in percent; a dash for None."""
    return Column(head, lambda row: "-" if row[name] is None else percent(row[name]))


def _three_digits(number: float, up: int) -> float:
    digits = float(f"{number:.2e}")
    return float(f"{digits * (1 + 0.01 * up):.2e}")
