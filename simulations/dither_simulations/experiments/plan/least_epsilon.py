"""Find the ε that a survey needs: several ε side by side, and the least that suffices."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from dither_shared import ParameterError
from dither_shared.counted import counted
from dither_shared.privacy.wording import MEMOISATION, odds_sentence

from ...output.tables import render
from .advice import ADDING_UP, Advice, Question, advise

_LEAST, _MOST = 0.01, 8.0
"""The range of ε: above the greatest, with odds of 3,000 to 1, a report hides hardly anything."""
_STEPS = 18
"""Halvings of the logarithm: to a part in 30,000, of which three digits are shown."""


def least_epsilon(question: Question) -> float | None:
    """Return the least ε of a report at which the users suffice, rounded up to three digits.

    None if no ε suffices or the number of users is not known. A permanent ε bounds it from above.
    """
    if question.users is None:
        return None
    return least_reached(
        lambda epsilon: bool(advise(replace(question, epsilon=epsilon)).reached), question.permanent_epsilon
    )


def least_reached(enough: Callable[[float], bool], permanent_epsilon: float | None) -> float | None:
    """Return the least ε that is ``enough``, rounded up to three digits; None if none is, below a permanent ε.

    ``enough`` may raise ParameterError, of an ε so small that no mechanism can have it.
    """

    def reached(epsilon: float) -> bool:
        try:
            return enough(epsilon)
        except ParameterError:
            return False

    low, high = _LEAST, highest(permanent_epsilon)
    if not reached(high):
        return None
    for _ in range(_STEPS):
        middle = (low * high) ** 0.5
        low, high = (low, middle) if reached(middle) else (middle, high)
    return next(rounded for up in (0, 1) if reached(rounded := _three_digits(high, up)))


def highest(permanent_epsilon: float | None) -> float:
    """Return the greatest ε that is tried."""
    return min(_MOST, 0.999 * (permanent_epsilon or math.inf))


def _three_digits(value: float, up: int) -> float:
    digits = float(f"{value:.2e}")
    return float(f"{digits * (1 + 0.01 * up):.2e}")


def weigh(advices: Sequence[Advice]) -> str:
    """Return a table for a terminal: the mechanism chosen at each ε, what it costs and whether it suffices."""
    question = advices[0].question
    header = ("ε", "mechanism", "bytes a day", f"users for ± {100 * question.error:.3g} %", "± reached", "enough")
    forever = () if question.permanent_epsilon is None else ("for ever",)
    cells = [(f"{one.question.epsilon:g}", *_cells(one), *_losses(one)) for one in advices]
    return "\n".join(
        (
            _heading(question),
            "",
            render((*header, f"ε of {counted(question.days, 'day')}", *forever), cells, words=2),
            "",
            _answer(question),
            *(f"  ε = {one.question.epsilon:g}, to a person: {odds_sentence(one.mechanism)}." for one in advices),
            MEMOISATION if question.permanent_epsilon is not None else ADDING_UP,
        )
    )


def _heading(question: Question) -> str:
    users = "" if question.users is None else f", {counted(question.users, 'user')}"
    sure = f"at {100 * question.confidence:.4g} %, for {question.whose}"
    return f"{question.size_in_words}{users}; wanted: ± {100 * question.error:.3g} % {sure}"


def _cells(advice: Advice) -> tuple[str, ...]:
    chosen = advice.chosen
    margin = "-" if chosen.margin is None else f"{100 * chosen.margin:.3g} %"
    enough = {True: "yes", False: "no", None: "-"}[advice.reached]
    return chosen.mechanism, f"{chosen.report_bytes:,}", f"{chosen.users_needed:,}", margin, enough


def _losses(advice: Advice) -> tuple[str, ...]:
    chosen = advice.chosen
    forever = () if chosen.epsilon_forever is None else (f"{chosen.epsilon_forever:.4g}",)
    return (f"{chosen.epsilon_days:.4g}", *forever)


def _answer(question: Question) -> str:
    if question.users is None:
        return "Give the number of users (-n) to find the least ε that will do."
    least = least_epsilon(question)
    if least is None:
        most = highest(question.permanent_epsilon)
        return f"No: {counted(question.users, 'user')} cannot do it at any ε of a report up to {most:.3g}."
    return f"Yes: with {counted(question.users, 'user')} ε = {least:g} is the least that will do."
