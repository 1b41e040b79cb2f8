"""Plan a survey before it starts: compute the precision of its answers, and the users or the ε that an aim needs."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from typing import Any, ClassVar, Self

import numpy as np

from dither_server.analysis.composition import rounded_up
from dither_server.analysis.shuffling.amplified import CONDITIONS, amplified, local_epsilon
from dither_server.estimation.confidence import require_confidence
from dither_server.estimation.planning import users_for
from dither_server.tally.arrays import Counts, Floats
from dither_shared import Mechanism, ParameterError
from dither_shared.counted import counted
from dither_shared.metrics.definition import MOST_MIXED
from dither_shared.privacy.wording import MEMOISATION, odds_sentence

from ...options import given_fields
from ...sweeps import Row
from ...tables import ResultColumn, results_table, value

ADDING_UP = "Privacy losses add up, report by report. --permanent-epsilon bounds their sum for one value."

_LEAST, _MOST = 0.01, 8.0
"""The range of ε: above the maximum, with odds of 3,000 to 1, a report hides hardly anything."""
_STEPS = 18
"""Bisections of log ε: they are precise to a part in 30,000, of which three digits are shown."""


@dataclass(frozen=True, kw_only=True)
class Planner(ABC):
    """An aim, and the ε of a report for which it is planned; ``users`` is the number of users, if known.

    Every kind of question has a ``margin``, which falls with the number of users, and an ``aim`` for it. Each user
    reports once on each of ``days`` days.
    """

    epsilons: tuple[float, ...]
    permanent_epsilon: float | None = None
    users: int | None = None
    days: int = 30

    reach: ClassVar[str] = "± reached"
    """The header of the column of the margin."""

    @classmethod
    def asked(cls, given: Mapping[str, Any]) -> Self:
        """Return the plan for the given options, keyed by field; raise ParameterError for an invalid one."""
        return cls(**given_fields(cls, given))

    @property
    @abstractmethod
    def aim(self) -> float:
        """The largest margin of error that is acceptable."""

    @property
    @abstractmethod
    def wanted(self) -> str:
        """The aim in words."""

    @abstractmethod
    def mechanisms(self, epsilon: float) -> Sequence[Mechanism]:
        """Return the mechanisms to compare at an ε, the recommended one first; raise ParameterError without any."""

    @abstractmethod
    def margin(self, mechanism: Mechanism, users: Counts) -> Floats:
        """Return the margin of a mechanism for each number of users."""

    def more(self, mechanism: Mechanism) -> Row:
        """Return the further columns of a mechanism's row."""
        return {}

    def more_columns(self, rows: Sequence[Row]) -> list[ResultColumn]:
        """Return the formats of the further columns, which follow the mechanism's name."""
        return []

    def notes(self, rows: Sequence[Row]) -> list[str]:
        """Return lines of text on other ways to ask the question."""
        return []

    def odds(self, mechanism: Mechanism) -> str:
        """Return what a report reveals, in words for the person who is asked."""
        return odds_sentence(mechanism)

    def needed(self, mechanism: Mechanism) -> int | None:
        """Return how many users the aim needs; None if no number of users reaches it."""
        return users_for(partial(self.margin, mechanism), self.aim)

    def rows(self) -> list[Row]:
        """Return a row for each ε and mechanism, the recommended one first.

        - ``users_needed``: the users that the aim needs, None if no number of users reaches it;
        - ``margin``: the margin for the given number of users; ``reached``: whether it reaches the aim; both None if
          the number is not known;
        - ``epsilon_days``, ``epsilon_forever``: the privacy loss of a report on each of ``days``, and of all reports of
          one value (None without a permanent part).
        """
        return [
            self._row(epsilon, mechanism, place == 0)
            for epsilon in self.epsilons
            for place, mechanism in enumerate(self.mechanisms(epsilon))
        ]

    def _row(self, asked: float, mechanism: Mechanism, chosen: bool) -> Row:
        margin = None if self.users is None else float(self.margin(mechanism, np.array([self.users]))[0])
        return {
            "mechanism": mechanism.name,
            "asked": asked,
            "epsilon": mechanism.epsilon,
            "chosen": chosen,
            "report_bytes": mechanism.row_bytes,
            "users_needed": self.needed(mechanism),
            "margin": margin,
            "reached": None if margin is None else margin <= self.aim,
            "days": self.days,
            "epsilon_days": mechanism.epsilon_after(self.days),
            "epsilon_forever": mechanism.permanent_epsilon,
            **self.more(mechanism),
        }

    def least(self) -> float | None:
        """Return the least ε of a report for which the users suffice, rounded up to three digits.

        None if no ε suffices or the number of users is not known. A permanent ε bounds it from above.
        """
        low, high = _LEAST, self._most
        if not self._suffices(high):
            return None
        for _ in range(_STEPS):
            middle = (low * high) ** 0.5
            low, high = (low, middle) if self._suffices(middle) else (middle, high)
        return next(rounded for up in (0, 1, 2) if self._suffices(rounded := _three_digits(high, up)))

    @property
    def _most(self) -> float:
        return min(_MOST, 0.999 * (self.permanent_epsilon or math.inf))

    def _suffices(self, epsilon: float) -> bool:
        if self.users is None:
            return False
        try:
            return bool(self.margin(self.mechanisms(epsilon)[0], np.array([self.users]))[0] <= self.aim)
        except ParameterError:  # no mechanism supports an ε this small
            return False

    def answer(self) -> str:
        """Return a sentence about the least sufficient ε."""
        if self.users is None:
            return "Give the number of users (-n) to find the smallest ε that is enough."
        users, least = counted(self.users, "user"), self.least()
        if least is None:
            return f"No: {users} are not enough at any ε of a report up to {self._most:.3g}."
        return f"Yes: with {users} ε = {least:g} is the smallest that is enough."

    def explain(self, rows: Sequence[Row]) -> str:
        """Return the aim, a table of the rows, and the conclusions, as text for a terminal."""
        users = "" if self.users is None else f"{counted(self.users, 'user')}; "
        epsilon = f"ε = {self.epsilons[0]:g} a report; " if len(self.epsilons) == 1 else ""
        spoken = [(each, self.mechanisms(each)[0]) for each in self.epsilons]
        star = ["* is used if no mechanism is named."] if len(rows) > len(self.epsilons) else []
        return "\n".join(
            (
                f"{users}{epsilon}wanted: {self.wanted}",
                "",
                results_table(self._columns(rows), rows, words=min(2, len(self.epsilons))),
                "",
                self.answer(),
                *star,
                *self.notes(rows),
                *(f"  ε = {each:g}, to a person: {self.odds(mechanism)}." for each, mechanism in spoken),
                ADDING_UP if self.permanent_epsilon is None else MEMOISATION,
            )
        )

    def _columns(self, rows: Sequence[Row]) -> list[ResultColumn]:
        several = len(rows) > len(self.epsilons)
        there = [in_percent("margin", self.reach), yes_or_no("reached", "enough")]
        forever = [] if self.permanent_epsilon is None else [value("epsilon_forever", "for ever", ".4g")]
        return [
            *([value("asked", "ε", "g")] if len(self.epsilons) > 1 else []),
            ResultColumn("mechanism", lambda row: row["mechanism"] + " *" * (several and row["chosen"])),
            *self.more_columns(rows),
            value("report_bytes", "bytes a day", ","),
            value("users_needed", "users", ","),
            *([] if self.users is None else there),
            value("epsilon_days", f"ε of {counted(self.days, 'day')}", ".4g"),
            *forever,
        ]


@dataclass(frozen=True, kw_only=True)
class IntervalPlanner(Planner):
    """A plan for estimates within ± ``error`` in a part ``confidence`` of all surveys; raises ParameterError if wrong.

    The interval is that of the population: it allows for noise and sampling.
    """

    error: float = 0.01
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if not 0 < self.error < 1:
            raise ParameterError("error", f"{self.error!r} must lie strictly between 0 and 1")
        require_confidence(self.confidence)

    @property
    def aim(self) -> float:
        """The error."""
        return self.error

    @property
    def quantile(self) -> float:
        """The half-width of a normal interval in standard errors."""
        return NormalDist().inv_cdf((1 + self.confidence) / 2)

    @property
    def within(self) -> str:
        """The error and the confidence in words."""
        return f"± {percent(self.error)} at {100 * self.confidence:.4g} %"


def percent(share: float, digits: int = 3) -> str:
    """Return a share in percent."""
    return f"{100 * share:.{digits}g} %"


def users_text(number: int | None) -> str:
    """Return a number of users in words; None means that no number is enough."""
    return "more users than there are" if number is None else counted(number, "user")


def yes_or_no(name: str, head: str) -> ResultColumn:
    """Return a column for a condition, shown as yes or no; a dash for None."""
    return ResultColumn(head, lambda row: {True: "yes", False: "no", None: "-"}[row[name]])


def in_percent(name: str, head: str) -> ResultColumn:
    """Return a column for shares in percent; a dash for None."""
    return ResultColumn(head, lambda row: "-" if row[name] is None else percent(row[name]))


def _three_digits(number: float, up: int) -> float:
    digits = float(f"{number:.2e}")
    return float(f"{digits * (1 + 0.01 * up):.2e}")


_MOST_REPORTS = 10**8
"""Maximum reports of a batch that a definition may require."""


@dataclass(frozen=True)
class RelayPlan:
    """A plan whose ``epsilons`` are those of a report in a complete batch, with ``delta``.

    Raises ParameterError if it has permanent draws, or an ε so large that a report may have it without a batch.
    """

    plan: Planner
    delta: float

    def __post_init__(self) -> None:
        if self.plan.permanent_epsilon is not None:
            raise ParameterError("--permanent-epsilon", "a permanent draw links reports, so mixing adds nothing")
        if max(self.plan.epsilons) >= MOST_MIXED:
            raise ParameterError("--epsilon", f"must be below {MOST_MIXED:g} with --relay; a report alone may have it")

    def rows(self) -> list[Row]:
        """Return a row for each ε of a batch.

        - ``local``, ``mechanism``: the ε of a report alone, which holds even if relay and collector collude;
        - ``least``: the least batch that reaches the aim and keeps ε, None if 10^8 reports do not suffice;
        - ``users_local``: the users that the aim needs without a relay, at that ε of a report;
        - ``epsilon_days``, ``delta_days``: the privacy loss of one report in each of ``days`` batches.
        """
        return [self._row(epsilon) for epsilon in self.plan.epsilons]

    def _row(self, epsilon: float) -> Row:
        least = self._least(epsilon)
        local, mechanism = self._at(epsilon, _MOST_REPORTS if least is None else least)
        after, delta = amplified(mechanism, least or _MOST_REPORTS, self.delta).after(self.plan.days)
        return {
            "asked": epsilon,
            "delta": self.delta,
            "local": local,
            "mechanism": mechanism.name,
            "report_bytes": mechanism.row_bytes,
            "least": least,
            "users_local": self.plan.needed(self.plan.mechanisms(epsilon)[0]),
            "days": self.plan.days,
            "epsilon_days": after,
            "delta_days": delta,
        }

    def _at(self, epsilon: float, least: int) -> tuple[float, Mechanism]:
        """Return the largest ε of a report for batches of ``least`` reports, and its mechanism."""
        return local_epsilon(lambda local: self.plan.mechanisms(local)[0], epsilon, least, self.delta)

    def _least(self, epsilon: float) -> int | None:
        """Return the least batch that reaches the aim, by bisection: larger batches never allow only a smaller ε."""

        def reached(reports: int) -> bool:
            mechanism = self._at(epsilon, reports)[1]
            return bool(self.plan.margin(mechanism, np.array([reports]))[0] <= self.plan.aim)

        low, high = 1, 2
        while not reached(high):
            low, high = high, 4 * high
            if high > _MOST_REPORTS:
                return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if reached(middle) else (middle, high)
        return high

    def explain(self, rows: Sequence[Row]) -> str:
        """Return the aim, a table of the rows, the lines of a definition, and the conditions, for a terminal."""
        return "\n".join(
            (
                f"wanted: {self.plan.wanted}; ε of a report in a batch, with δ = {self.delta:g}",
                "",
                results_table(self._columns(), rows),
                "",
                *(line for row in rows for line in self._advice(row)),
                "ε of a batch is true only if",
                *(f"- {condition};" for condition in CONDITIONS[:-1]),
                "- a device has one report in each batch, as a pool has reports of one period.",
                "If relay and collector work together, a report costs the ε of a report.",
            )
        )

    def _columns(self) -> list[ResultColumn]:
        return [
            value("asked", "ε of a batch", "g"),
            value("local", "ε of a report", "g"),
            value("mechanism", "mechanism"),
            ResultColumn("people", lambda row: "-" if row["least"] is None else format(row["least"], ",")),
            value("users_local", "without a relay", ","),
            ResultColumn(
                f"ε of {counted(self.plan.days, 'batch', 'batches')}", lambda row: rounded_up(row["epsilon_days"], 4)
            ),
        ]

    def _advice(self, row: Row) -> list[str]:
        least, asked = row["least"], f"{row['asked']:g}"
        if least is None:
            return [f"At ε = {asked} even {_MOST_REPORTS:,} reports of a batch are not enough."]
        delta = "" if self.delta == 1e-6 else f", delta = {self.delta:g}"
        return [
            f"  epsilon = {row['local']:g}",
            f"  mixed = {{epsilon = {asked}, least = {least}{delta}}}",
            *self._waiting(least),
        ]

    def _waiting(self, least: int) -> list[str]:
        """Return the time until a batch is complete, if the number of people who report in each period is known."""
        users = self.plan.users
        if users is None:
            return []
        if users >= least:
            return [f"  {users_text(users)} in each period fill a batch each period."]
        periods = counted(-(-least // users), "period")
        return [
            f"  {users_text(users)} in each period never fill a batch, because it has reports of one period. Ask in",
            f'  longer periods, or once (period = "once": full after {periods} of different people).',
        ]
