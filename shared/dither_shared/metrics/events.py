"""Answers that a device forms from its own events: what ``of`` and ``after`` of a definition mean.

    [metrics.exports]
    type = "number"
    low = 0
    high = 50
    period = "week"
    of = "count"          # of telemetry.add("exports") in a week
    after = "7 days"      # no report before the device has been in use for seven days

A device keeps what it needs for the answer until the period is over, and reports it at its first run in a later one.
For ``any`` and ``set`` that is the perturbed report itself, which is drawn when the period is opened, and again after
each event that changes the answer; for the others it is a small number, such as a count.
"""

import re
from typing import Literal, cast

from ..errors import ParameterError
from ..mechanism import Mechanism
from ..mechanisms import MECHANISMS
from ..questions.fields import Fields
from ..questions.question import Question
from .period import Period

Of = Literal["any", "count", "days", "furthest", "max", "set", "sum", "weeks-since-first-use"]

OF: dict[str, tuple[Of, ...]] = {
    "boolean": ("any",),
    "choice": ("furthest", "weeks-since-first-use"),
    "number": ("count", "days", "max", "sum"),
    "selection": ("set",),
}
"""The allowed values of ``of``, by type of question."""

PRIVATE = frozenset({"any", "set"})
"""The values of ``of`` for which a device stores only a perturbed report, and no true answer."""

_DAYS = re.compile(r"([1-9]\d{0,2}) days?")


def of(fields: Fields, question: Question, period: Period) -> Of | None:
    """Return how the answers to a metric are formed from events, or None if the app gives them.

    Raises ParameterError whose place is the key.
    """
    if "of" not in fields:
        return None
    kinds = OF.get(question.kind, ())
    if not kinds:
        raise ParameterError("of", f"a {question.kind} has no answer from events; types that have: {', '.join(OF)}")
    name = cast("Of", fields.one_of("of", kinds))
    if "one_of" in fields:
        raise ParameterError("one_of", "a device answers every metric that has of, so it cannot choose one of several")
    if period == "once":
        raise ParameterError("period", f'"once" never ends; set period = "day", "week" or "month" for of = "{name}"')
    if name == "weeks-since-first-use":
        if period != "week":
            raise ParameterError("period", f'must be "week" for of = "{name}"')
        for value in fields.strings("values"):
            if not re.fullmatch(r"0|[1-9]\d{0,3}", value):
                raise ParameterError("values", f'{value!r} is not a number of weeks, such as "4"')
    return name


def private_mechanism(kind: Of | None, question: Question, mechanism: Mechanism, fields: Fields) -> Mechanism:
    """Return the mechanism whose reports can be drawn again after each event, without knowing the answer so far.

    A fresh draw of "yes" replaces the report, whatever it was: the only transition that takes the law of "no" to that
    of "yes", and leaves that of "yes" as it is. The bits of a set are such draws if a report is about one of its values
    only: set-response with window 1. (With a wider window, some transition would need a negative probability.) Raises
    ParameterError for another mechanism that is asked for, and for a permanent part.
    """
    if kind not in PRIVATE:
        return mechanism
    if mechanism.memoised:
        raise ParameterError("permanent_epsilon", f'not possible with of = "{kind}", whose reports are drawn afresh')
    if kind == "any" or getattr(mechanism, "window", None) == 1:
        return mechanism
    if "window" in fields or fields.value("mechanism") not in {None, "auto", "set-response"}:
        raise ParameterError(
            "mechanism", 'of = "set" needs set-response with window = 1; leave mechanism and window out'
        )
    return MECHANISMS["set-response"].configure(question.size, {"epsilon": fields.number("epsilon"), "window": 1})


def after(fields: Fields) -> int:
    """Return the days that a device must have been in use before its first report; 0 if ``after`` is not given."""
    if "after" not in fields:
        return 0
    text = fields.string("after", "")
    if not (match := _DAYS.fullmatch(text)):
        raise ParameterError("after", f'{text!r} is not a number of days from 1 to 999, such as "7 days"')
    return int(match[1])
