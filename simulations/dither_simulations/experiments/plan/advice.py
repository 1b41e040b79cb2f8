"""Plan a survey: compute what each mechanism would cost and tell, before anyone is asked."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from dither_server.estimation.confidence import require_confidence
from dither_shared import Mechanism, ParameterError
from dither_shared.counted import counted
from dither_shared.mechanism import LISTED, Items
from dither_shared.mechanisms.auto import DEFAULT_BUDGET, candidates, choose
from dither_shared.privacy.wording import MEMOISATION, odds_sentence

from ...output.tables import render
from ...trials.mechanism_by_name import ALONE, named_selection

ADDING_UP = "Each report tells anew: ε adds up, report by report. --permanent-epsilon bounds it for a value."


@dataclass(frozen=True)
class Question:
    """The survey that is wanted: for ``size`` values, at ``epsilon`` a report, intervals of ± ``error``.

    ``confidence`` is the level of the intervals, ``users`` the number of users, if it is known; ``budget`` the most
    bytes of a report; ``days`` the number of days on which each user reports once. ``items`` says whether an answer is
    a value or a set of them, with ``at_most`` so many in a set.
    Raises ParameterError for an error not strictly between 0 and 1, or a confidence that no interval can have.
    """

    size: int
    epsilon: float
    permanent_epsilon: float | None = None
    budget: int = DEFAULT_BUDGET
    users: int | None = None
    error: float = 0.01
    confidence: float = 0.95
    days: int = 30
    items: Items = LISTED
    at_most: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.error < 1:
            raise ParameterError("error", f"{self.error!r} must lie strictly between 0 and 1")
        if self.at_most is not None and self.at_most > self.size:
            raise ParameterError("--at-most", f"{self.at_most} is more than the {self.size} items")
        require_confidence(self.confidence)

    @property
    def share(self) -> float:
        """The share for which it is planned: of sets that of the widest interval, of values that of most of them."""
        return 0.5 if self.items.sets else 0.0

    @property
    def whose(self) -> str:
        """That share in words."""
        return "an item that half of all have" if self.items.sets else "a value that hardly anyone has"

    @property
    def size_in_words(self) -> str:
        """How many values there are or, of items, how many a person may have."""
        if not self.items.sets:
            return counted(self.size, "value")
        return (
            f"any of {counted(self.size, 'item')}"
            if self.at_most is None
            else f"at most {self.at_most} of {counted(self.size, 'item')}"
        )

    @property
    def asked(self) -> dict[str, Any]:
        """What a choice of mechanisms depends on, beside size and ε."""
        promises = {} if self.at_most is None else {"at_most": self.at_most}
        return {"items": self.items, "promises": promises}

    def users_for(self, variance: float) -> int:
        """Return how many users an interval of ± ``error`` takes, given n·Var of the noise; who is asked adds to it."""
        return math.ceil((variance + self.share * (1 - self.share)) * (self.quantile / self.error) ** 2)

    @property
    def quantile(self) -> float:
        """How many standard errors the half of an interval is."""
        return NormalDist().inv_cdf((1 + self.confidence) / 2)


@dataclass(frozen=True)
class Candidate:
    """A mechanism that could serve.

    - ``relative_risk``: its total squared error over the least that any ε-LDP mechanism has, or any here of sets;
    - ``epsilon``, ``epsilon_10``, ``epsilon_100``, ``epsilon_forever``: the privacy loss of so many reports of one
      value (the last is None where every report tells anew);
    - ``epsilon_days``: the loss of a report on each of ``days`` days;
    - ``standard_error``, ``margin``: of the frequency of a value that hardly anyone has (of sets, of an item that half
      of all have), and half of its interval at the confidence asked for, among the users there are; None if their
      number was not given;
    - ``users_needed``: for the margin to be at most the error asked for.
    """

    mechanism: str
    chosen: bool
    relative_risk: float
    report_bytes: int
    fits: bool
    epsilon: float
    epsilon_10: float
    epsilon_100: float
    epsilon_forever: float | None
    days: int
    epsilon_days: float
    standard_error: float | None
    margin: float | None
    users_needed: int


@dataclass(frozen=True)
class Advice:
    """Every candidate, best first, and which of them is chosen."""

    question: Question
    choices: tuple[Candidate, ...]
    mechanism: Mechanism

    @property
    def chosen(self) -> Candidate:
        """The candidate that ``auto`` takes."""
        return next(choice for choice in self.choices if choice.chosen)

    @property
    def reached(self) -> bool | None:
        """Whether the users there are suffice, or None if their number was not given."""
        users = self.question.users
        return None if users is None else users >= self.chosen.users_needed


def advise(question: Question) -> Advice:
    """Return the candidates; raise ParameterError for a question that no mechanism can serve."""
    mechanism = choose(question.size, question.epsilon, question.permanent_epsilon, question.budget, **question.asked)
    ranked = candidates(question.size, question.epsilon, question.permanent_epsilon, **question.asked)
    choices = tuple(_choice(question, each.mechanism, each.relative_risk, mechanism) for each in ranked)
    return Advice(question, choices, mechanism)


def _choice(question: Question, mechanism: Mechanism, relative_risk: float, chosen: Mechanism) -> Candidate:
    variance, share = mechanism.variance(question.share), question.share
    error = None if question.users is None else math.sqrt((variance + share * (1 - share)) / question.users)
    return Candidate(
        mechanism=mechanism.name,
        chosen=mechanism == chosen,
        relative_risk=relative_risk,
        report_bytes=mechanism.row_bytes,
        fits=mechanism.row_bytes <= question.budget,
        epsilon=mechanism.epsilon,
        epsilon_10=mechanism.epsilon_after(10),
        epsilon_100=mechanism.epsilon_after(100),
        epsilon_forever=mechanism.permanent_epsilon,
        days=question.days,
        epsilon_days=mechanism.epsilon_after(question.days),
        standard_error=error,
        margin=None if error is None else question.quantile * error,
        users_needed=question.users_for(variance),
    )


def explain(advice: Advice) -> str:
    """Return a table of the candidates and a few lines on the chosen one, for a terminal."""
    question, chosen = advice.question, advice.chosen
    lasting = question.permanent_epsilon is not None
    return "\n".join(
        (
            _heading(question),
            f"± is half of the {100 * question.confidence:.4g} % interval of {question.whose}; "
            f"± {_percent(question.error)} is a standard error of {_percent(question.error / question.quantile)}.",
            "",
            render(_header(question, lasting), [_cells(question, choice, lasting) for choice in advice.choices]),
            "",
            f"* {chosen.mechanism}: the least total error whose report fits {question.budget} bytes.",
            f"  {_verdict(advice)}",
            *one_by_one(question),
            f"  To a person: {odds_sentence(advice.mechanism)}.",
            MEMOISATION if lasting else ADDING_UP,
        )
    )


def _heading(question: Question) -> str:
    forever = "" if question.permanent_epsilon is None else f", {question.permanent_epsilon:g} for ever"
    users = "" if question.users is None else f", {counted(question.users, 'user')}"
    wanted = f"wanted: ± {_percent(question.error)}"
    return f"{question.size_in_words}, ε = {question.epsilon:g} a report{forever}{users}; {wanted}"


def _header(question: Question, lasting: bool) -> Sequence[str]:
    there = () if question.users is None else ("std error", f"± {100 * question.confidence:.4g} %")
    forever = ("for ever",) if lasting else ()
    needed = f"users for ± {_percent(question.error)}"
    optimum = "risk/least" if question.items.sets else "risk/optimum"
    return ("mechanism", optimum, "bytes", "fits", *there, needed, "ε of 1", "of 10", "of 100", *forever)


def _cells(question: Question, choice: Candidate, lasting: bool) -> Sequence[str]:
    there = (choice.standard_error, choice.margin) if question.users is not None else ()
    losses = [choice.epsilon, choice.epsilon_10, choice.epsilon_100]
    if lasting and choice.epsilon_forever is not None:
        losses.append(choice.epsilon_forever)
    return (
        f"{choice.mechanism}{' *' if choice.chosen else ''}",
        _short(choice.relative_risk, ".3f"),
        f"{choice.report_bytes:,}",
        "yes" if choice.fits else "no",
        *(_percent(value) for value in there if value is not None),
        f"{choice.users_needed:,}",
        *(_short(loss, ".4g") for loss in losses),
    )


def one_by_one(question: Question) -> list[str]:
    """Return what asking of each item by itself would take, at a share of ε; nothing where values are asked for."""
    if not question.items.sets:
        return []
    alone = named_selection(ALONE, question.size, question.at_most, question.epsilon)
    users = question.users_for(alone.variance(question.share))
    return [f"  Asked one by one, at ε/{question.size} each: {counted(users, 'user')}."]


def _verdict(advice: Advice) -> str:
    """Return a sentence on whether a share can be measured as wanted."""
    question, chosen = advice.question, advice.chosen
    needed = f"± {_percent(question.error)} takes {counted(chosen.users_needed, 'user')}"
    if question.users is None or chosen.margin is None:
        return f"{needed}."
    users = counted(question.users, "user gives", "users give")
    if advice.reached:
        return f"Yes: {users} ± {_percent(chosen.margin)}; {needed}."
    return f"No: {users} only ± {_percent(chosen.margin)}; {needed}."


def _percent(value: float) -> str:
    return f"{100 * value:.3g} %"


def _short(value: float, form: str) -> str:
    """Return a number that may be very large."""
    return format(value, form if value < 1e4 else ".1e")
