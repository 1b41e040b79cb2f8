"""Parameters of a URL: each is a field that says how its text is read and how the API's description describes it."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Self, get_args

from dither_shared import ParameterError

from ..estimation.confidence import CONFIDENCES, LEAST_CONFIDENCE, MOST_CONFIDENCE, require_confidence

if TYPE_CHECKING:
    from werkzeug.datastructures import MultiDict

_DIGITS = 9
"""Maximum digits of a whole number."""

_LONGEST = 64
"""Exclusive upper limit of the characters of an attribute's name or value."""

Chosen = tuple[tuple[str, str], ...]
"""Attributes of reports, each with the requested value."""


@dataclass(frozen=True)
class Parameter:
    """How a parameter's text is read (``read`` takes it and the parameter's name), its JSON schema and description.

    A parameter that ``takes_others`` collects all arguments whose names are not those of a parameter: their names
    depend on the metric.
    """

    read: Callable[[str, str], object]
    schema: Mapping[str, Any]
    description: str
    repeats: bool = False
    takes_others: bool = False

    def value(self, texts: list[str], name: str) -> object:
        """Return the value parsed from the parameter's texts. Raises ParameterError at ``name``."""
        if self.repeats:
            return tuple(self.read(text, name) for text in texts)
        if len(texts) > 1:
            raise ParameterError(name, "given twice")
        return self.read(texts[0], name)


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """Parameters that are read together: in a subclass, each field is ``Annotated`` with its ``Parameter``."""

    @classmethod
    def parameters(cls) -> dict[str, Parameter]:
        """Return the parameters by name."""
        return {one.name: get_args(one.type)[1] for one in fields(cls)}

    @classmethod
    def read(cls, arguments: "MultiDict[str, str]") -> Self:
        """Read a URL's arguments. Raises ParameterError, whose place is the argument's name."""
        known = cls.parameters()
        others = next((name for name, one in known.items() if one.takes_others), None)
        given: dict[str, Any] = {}
        rest = []
        for name, texts in arguments.lists():
            if name in known and name != others:
                given[name] = known[name].value(texts, name)
            elif others is not None and name.isidentifier() and name.isascii() and len(name) < _LONGEST:
                rest.append((name, known[others].value(texts, name)))
            else:
                refuse_unknown(name, cls.names())
        return cls(**given, **({str(others): tuple(rest)} if rest else {}))

    @classmethod
    def names(cls) -> list[str]:
        """Return the possible names of arguments, whatever the metric."""
        return [name for name, one in cls.parameters().items() if not one.takes_others]


def refuse_unknown(name: str, known: Iterable[str]) -> NoReturn:
    """Raise a ParameterError for an unknown argument, which lists the known ones."""
    raise ParameterError(_shown(name), f"unknown; known here: {', '.join(known)}")


def day_of(text: str, place: str, example: str = "2026-11-20") -> date:
    """Return the date written as 2026-11-20; raise ParameterError at ``place`` otherwise.

    The first and the last year of the calendar are refused, so that there are days and weeks before and after each day.
    """
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = None
    if day is None or day.isoformat() != text or day.year in {date.min.year, date.max.year}:
        raise ParameterError(place, f"not a date; write it as {example}")
    return day


def confidence_of(text: str, place: str = "confidence") -> float:
    """Return a confidence level that intervals can have; raise ParameterError otherwise."""
    try:
        return require_confidence(float(text), place)
    except ValueError:  # of either
        raise ParameterError(place, f"not a number {CONFIDENCES}, such as 0.95") from None


def share_of(text: str, place: str, example: str = "0.01") -> float:
    """Return a number strictly between 0 and 1; raise ParameterError at ``place`` otherwise."""
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:  # comparisons with NaN are false
        raise ParameterError(place, f"not a number strictly between 0 and 1, such as {example}")
    return share


def number_of(text: str, place: str) -> float:
    """Return a finite number; raise ParameterError at ``place`` otherwise."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ParameterError(place, "not a number, such as 2.5")
    return number


def count_of(text: str, place: str) -> int:
    """Return a whole number of at least 1; raise ParameterError at ``place`` otherwise."""
    number = place_of(text, place)
    if not number:
        raise ParameterError(place, "not a whole number of at least 1")
    return number


def place_of(text: str, place: str) -> int:
    """Return a whole number of at least 0; raise ParameterError at ``place`` otherwise."""
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        raise ParameterError(place, "not a whole number")
    return int(text)


def _truth_of(text: str, place: str) -> bool:
    if text not in {"true", "false"}:
        raise ParameterError(place, "must be true or false")
    return text == "true"


def _text_of(text: str, place: str) -> str:
    return text


def _value_of(text: str, place: str) -> str:
    if not 0 < len(text) < _LONGEST:
        raise ParameterError(_shown(place), "not a value of an attribute")
    return text


def _shown(name: str) -> str:
    """Return the name of an unknown argument in a form that can be shown: short, and plain ASCII."""
    return ascii(name[:32])


_STRING = {"type": "string"}
_MOST = 10**_DIGITS - 1

ATTRIBUTES = partial(
    Parameter, _value_of, {"type": "object", "additionalProperties": _STRING}, repeats=False, takes_others=True
)
CONFIDENCE = partial(
    Parameter, confidence_of, {"type": "number", "minimum": LEAST_CONFIDENCE, "maximum": MOST_CONFIDENCE}
)
COUNT = partial(Parameter, count_of, {"type": "integer", "minimum": 1, "maximum": _MOST})
DAY = partial(Parameter, day_of, _STRING | {"format": "date"})
PLACE = partial(Parameter, place_of, {"type": "integer", "minimum": 0, "maximum": _MOST})
SHARE = partial(Parameter, share_of, {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1})
NUMBERS = partial(Parameter, number_of, {"type": "array", "items": {"type": "number"}}, repeats=True)
SHARES = partial(
    Parameter,
    share_of,
    {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}},
    repeats=True,
)
TEXT = partial(Parameter, _text_of, _STRING)
TEXTS = partial(Parameter, _text_of, {"type": "array", "items": _STRING}, repeats=True)
TRUTH = partial(Parameter, _truth_of, {"enum": ["true", "false"]})
"""The kinds of parameter: each takes a description and makes a ``Parameter``."""


def one_of(words: Iterable[str]) -> "partial[Parameter]":
    """Return the kind of a parameter that is one of these words, which its ``Parameters`` check."""
    return partial(Parameter, _text_of, {"enum": list(words)})
