"""Read the parameters of a query for estimates strictly, for the routes and for the command line."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date, timedelta
from typing import Any, Self, TypeVar

from werkzeug.datastructures import MultiDict

from dither_shared import ParameterError

from .choices import STEPS
from .confidence import CONFIDENCES, require_confidence
from .exports import FORMATS
from .selection import Selection

__all__ = [
    "Asked",
    "Comparison",
    "ListQuery",
    "Query",
    "TrendQuery",
    "confidence_of",
    "count_of",
    "day_of",
    "place_of",
    "share_of",
]

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """Parameters of a URL, each a field."""

    @classmethod
    def read(cls, arguments: MultiDict[str, str]) -> Self:
        """Read a URL's arguments. Raises ParameterError, whose place is the argument's name."""
        known = [one.name for one in fields(cls)]
        given: dict[str, Any] = {}
        for name, values in arguments.lists():
            if name not in known:
                raise ParameterError(_shown(name), f"unknown; known here: {', '.join(known)}")
            if name == "values":
                given[name] = tuple(values)
                continue
            if len(values) > 1:
                raise ParameterError(name, "given twice")
            given[name] = _READERS[name](values[0], name) if name in _READERS else values[0]
        return cls(**given)


@dataclass(frozen=True, kw_only=True)
class Asked(Parameters):
    """What any question about a metric may name: UTC days, both included, a confidence, another version.

    ``values``, ``top``, ``limit`` and ``offset`` say which values are shown (``Selection``).
    """

    since: date | None = None
    until: date | None = None
    confidence: float = 0.95
    version: str | None = None
    values: tuple[str, ...] = ()
    top: int | None = None
    limit: int | None = None
    offset: int = 0

    def __post_init__(self) -> None:
        _in_order(self.since, self.until, "since")
        _ = self.selection

    @property
    def selection(self) -> Selection:
        """Which values are shown."""
        return Selection(self.values, self.top, self.limit, self.offset)


@dataclass(frozen=True, kw_only=True)
class Query(Asked):
    """The parameters of an estimate.

    ``simultaneous`` asks for intervals that hold all together; ``forged`` is the share of reports assumed forged;
    ``by_day`` asks for an answer to each day with reports, in place of one to all together.
    """

    by_day: bool = False
    simultaneous: bool = False
    forged: float = 0.01
    format: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.format is not None and self.format not in FORMATS:
            raise ParameterError("format", f"unknown; one of {', '.join(FORMATS)}")


@dataclass(frozen=True, kw_only=True)
class Comparison(Asked):
    """The parameters of a comparison: the other side, and the ``change`` to count the needed reports for.

    The other side is of the same metric and version unless they are named, and then of other days.
    """

    other: str | None = None
    other_version: str | None = None
    other_since: date | None = None
    other_until: date | None = None
    change: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        _in_order(self.other_since, self.other_until, "other_since")

    def apart(self, last: date | None) -> Self:
        """Return the comparison of two sides of one version; ``last`` is its last day with reports, if there is one.

        If no days are asked for, these are the last week and the one before it. Raises ParameterError if days overlap.
        """
        if not any((self.since, self.until, self.other_since, self.other_until)):
            if last is None:
                return self
            first, end, next_first = (last - timedelta(days=back) for back in (13, 7, 6))
            return replace(self, since=first, until=end, other_since=next_first, other_until=last)
        latest_start = max(self.since or date.min, self.other_since or date.min)
        earliest_end = min(self.until or date.max, self.other_until or date.max)
        if latest_start <= earliest_end:
            raise ParameterError("other_since", "both sides hold the same reports; give days that do not overlap")
        return self


@dataclass(frozen=True, kw_only=True)
class ListQuery(Parameters):
    """Which part of a list is shown: so many from ``offset`` on; all without a limit."""

    limit: int | None = None
    offset: int = 0

    def part(self, things: Sequence[T]) -> Sequence[T]:
        """Return the part of a list that is asked for."""
        return things[self.offset : None if self.limit is None else self.offset + self.limit]


@dataclass(frozen=True, kw_only=True)
class TrendQuery(Asked):
    """The parameters of a trend: its steps are days or weeks from Monday to Sunday."""

    step: str = "day"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.step not in STEPS:
            raise ParameterError("step", f"unknown; one of {', '.join(STEPS)}")


def _in_order(since: date | None, until: date | None, place: str) -> None:
    if since and until and since > until:
        raise ParameterError(place, "later than until")


def day_of(text: str, place: str, example: str = "2026-11-20") -> date:
    """Return the date that ``text`` writes as 2026-11-20; raise ParameterError at ``place`` otherwise."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = None
    if day is None or day.isoformat() != text:
        raise ParameterError(place, f"not a date; write it as {example}")
    return day


def confidence_of(text: str, place: str = "confidence") -> float:
    """Return a confidence of which intervals can be made; raise ParameterError otherwise."""
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
    if not 0 < share < 1:  # NaN compares false
        raise ParameterError(place, f"not a number strictly between 0 and 1, such as {example}")
    return share


def count_of(text: str, place: str) -> int:
    """Return a whole number from 1; raise ParameterError at ``place`` otherwise."""
    number = place_of(text, place)
    if not number:
        raise ParameterError(place, "not a whole number from 1")
    return number


def place_of(text: str, place: str) -> int:
    """Return a whole number from 0; raise ParameterError at ``place`` otherwise."""
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ParameterError(place, "not a whole number")
    return int(text)


def _truth_of(text: str, place: str) -> bool:
    if text not in {"true", "false"}:
        raise ParameterError(place, "neither true nor false")
    return text == "true"


_READERS: dict[str, Callable[[str, str], object]] = {
    "since": day_of,
    "until": day_of,
    "other_since": day_of,
    "other_until": day_of,
    "confidence": confidence_of,
    "forged": share_of,
    "change": share_of,
    "top": count_of,
    "limit": count_of,
    "offset": place_of,
    "simultaneous": _truth_of,
    "by_day": _truth_of,
}
"""The readers of parameters; a parameter without one is text."""


def _shown(name: str) -> str:
    """Return the name of an unknown argument so that it can be shown: short, and plain ASCII."""
    return ascii(name[:32])
