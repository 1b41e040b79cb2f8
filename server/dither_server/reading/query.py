"""Queries about estimates: their parameters, read strictly by the routes and by the command line."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Self, TypeVar

from dither_shared import ParameterError
from dither_shared.metrics.period import STEPS, first_day, last_day

from .parameters import (
    ATTRIBUTES,
    CONFIDENCE,
    COUNT,
    DAY,
    NUMBERS,
    PLACE,
    SHARE,
    SHARES,
    TEXT,
    TEXTS,
    TRUTH,
    Chosen,
    Parameters,
    one_of,
)

if TYPE_CHECKING:
    from ..tally.arrays import Floats, Indices

FORMAT_NAMES = ("json", "csv", "ndjson", "arrow")
"""The formats of answers; ``exports.FORMATS`` writes them."""

_LIMIT = COUNT("Show at most this many.")
_OFFSET = PLACE("Skip this many first.")
_VALUES = "Show only this value; may be given several times. Its numbers do not depend on which others are shown."
_QUANTILE = "Show the quantile of this share of a number, such as 0.95; may be given several times."
_AT = "Show the share of people below this point of a number; may be given several times."
_STRATA = "Read only reports with this value of an attribute that the metric declares, such as platform=linux."
_SIDES = (
    f"{_STRATA} It applies to both sides; other_platform=windows applies only to the other side. Strata without a "
    f"report "
    "in common may be compared on the same days."
)
_BY = (
    "Answer separately for each value of this attribute that has reports, and finally for all of them together; may be "
    "given several times."
)
_SIMULTANEOUS = (
    "Widen the intervals so that all intervals of one answer hold simultaneously; those of several days or "
    "strata do not."
)
_CHANGE = "Change of a share, or of a mean in parts of its range, for which reports_needed is computed."
_TUNED = (
    "Change of a share, or of a mean in parts of its range, for which the test is most powerful. Choose it before you "
    "look."
)
_SAME = (
    "Combine only the versions that ask what the current one asks, with the same answers, range and strata, and differ "
    "in nothing but their noise, such as ε."
)
_MOST_POINTS = 100
"""Quantiles and points of one answer: each is a sum over the grid."""
_FORMAT = "Answer in this format, whatever Accept prefers."
_TOP = "Show this many of the most frequent values, in the order of their shares. Excludes limit and offset."

_WEIGHTED = (
    "Show in addition the estimates weighted to the known margins of the population (setting population), with "
    "intervals that allow for unequal weights."
)
_DISTINCT = "Assume that all reports come from different people, which makes errors and intervals narrower."

T = TypeVar("T")

Span = tuple[date | None, date | None]
"""Days, both included; None is the first or the last with reports."""


@dataclass(frozen=True, kw_only=True)
class EstimateQuery(Parameters):
    """The parameters of any question about a metric: UTC days, both included, a confidence, and strata.

    Intervals hold even if the same people reported in each period or, if ``distinct``, only if nobody reported twice.

    ``strata`` are attributes with the requested values (``sources.part_of``). An answer shows the named ``values``, or
    all if none is named; of these the ``top`` most frequent, or ``limit`` from ``offset`` on. Top values are in the
    order of their shares, others in the order in which they are named, or else as the metric lists them. Leaving values
    out changes no number of the others.
    """

    since: Annotated[date | None, DAY("First UTC day.")] = None
    until: Annotated[date | None, DAY("Last UTC day, included.")] = None
    confidence: Annotated[float, CONFIDENCE("Confidence level of the intervals.")] = 0.95
    distinct: Annotated[bool, TRUTH(_DISTINCT)] = False
    values: Annotated[tuple[str, ...], TEXTS(_VALUES)] = ()
    top: Annotated[int | None, COUNT(_TOP)] = None
    limit: Annotated[int | None, _LIMIT] = None
    offset: Annotated[int, _OFFSET] = 0
    strata: Annotated[Chosen, ATTRIBUTES(_STRATA)] = ()

    def __post_init__(self) -> None:
        _in_order(self.since, self.until, "since")
        if self.top is not None and (self.limit is not None or self.offset):
            raise ParameterError("top", "is a limit itself; give top, or limit and offset")

    @property
    def span(self) -> Span:
        """The days that are asked for."""
        return self.since, self.until

    @property
    def shows_all(self) -> bool:
        """Whether all values are shown."""
        return not self.values and self.top is None and self.limit is None and not self.offset

    def count(self, values: int) -> int:
        """Return how many of ``values`` values are shown at most."""
        named = len(self.values) or values
        most = self.top or self.limit
        left = max(0, named - self.offset)
        return left if most is None else min(left, most)

    def places(self, labels: Sequence[str], frequency: "Callable[[], Floats]") -> "Indices":
        """Return the indices of the shown values in ``labels``; ``frequency`` is called only for the top.

        Raises ParameterError for a value that is not there.
        """
        import numpy as np  # noqa: PLC0415  # commands import this module for their help

        named = np.array(self._named(labels), dtype=np.intp) if self.values else np.arange(len(labels), dtype=np.intp)
        if self.top is None:
            return named[self.offset : None if self.limit is None else self.offset + self.limit]
        shares = np.nan_to_num(frequency()[named], nan=-np.inf)
        return np.asarray(named[np.argsort(-shares, kind="stable")[: self.top]])

    def _named(self, labels: Sequence[str]) -> list[int]:
        where = {label: place for place, label in enumerate(labels)}
        try:
            return [where[value] for value in dict.fromkeys(self.values)]
        except KeyError:
            listed = f"; listed is, for example, {labels[0]!r}" if labels else ""
            complaint = f"names a value that the metric does not list{listed}; give the option once per value"
            raise ParameterError("values", complaint) from None


@dataclass(frozen=True, kw_only=True)
class Combination(EstimateQuery):
    """The parameters of a combination of versions: of all, or of those that differ in their noise alone."""

    same_question: Annotated[bool, TRUTH(_SAME)] = False


@dataclass(frozen=True, kw_only=True)
class _OneVersion(EstimateQuery):
    """A question about one version of a metric: the current one unless another is named."""

    version: Annotated[str | None, TEXT("Read this version in place of the current one.")] = None


@dataclass(frozen=True, kw_only=True)
class Query(_OneVersion):
    """The parameters of an estimate.

    ``simultaneous`` asks for intervals that all hold together; ``forged`` is the share of reports assumed forged;
    ``by_day`` asks for an answer for each day with reports, instead of one for all together; ``by`` asks for one for
    each stratum with reports, by these attributes, in addition to one for all together. Intervals that are
    ``simultaneous`` hold together within each such answer, not across them. ``quantile`` and ``at`` say which quantiles
    of a number are shown, and at which points the share of people below. ``weighted`` asks for weighted estimates, too.
    """

    simultaneous: Annotated[bool, TRUTH(_SIMULTANEOUS)] = False
    forged: Annotated[float, SHARE("Assume that this share of the reports is forged, to bound their effect.")] = 0.01
    by_day: Annotated[bool, TRUTH("Answer separately for each day with reports.")] = False
    by: Annotated[tuple[str, ...], TEXTS(_BY)] = ()
    quantile: Annotated[tuple[float, ...], SHARES(_QUANTILE)] = ()
    at: Annotated[tuple[float, ...], NUMBERS(_AT)] = ()
    weighted: Annotated[bool, TRUTH(_WEIGHTED)] = False
    format: Annotated[str | None, one_of(FORMAT_NAMES)(_FORMAT)] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("quantile", "at"):
            if len(getattr(self, name)) > _MOST_POINTS:
                raise ParameterError(name, f"given more than {_MOST_POINTS} times; ask again for the others")
        _require_format(self.format)


@dataclass(frozen=True, kw_only=True)
class Comparison(_OneVersion):
    """The parameters of a comparison: the other side, and the ``change`` for which needed reports are computed.

    The other side has the same metric, version and stratum unless others are named, but then other days.
    """

    other: Annotated[str | None, TEXT("Compare with this metric: the values that both list.")] = None
    other_version: Annotated[str | None, TEXT("Version of the other side, if not the current one.")] = None
    other_since: Annotated[date | None, DAY("First UTC day of the other side.")] = None
    other_until: Annotated[date | None, DAY("Last UTC day of the other side, included.")] = None
    change: Annotated[float, SHARE(_CHANGE)] = 0.01
    strata: Annotated[Chosen, ATTRIBUTES(_SIDES)] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        _in_order(self.other_since, self.other_until, "other_since")

    def apart(self, last_day: Callable[[], date | None]) -> Self:
        """Return the comparison of two sides of the same strata and version that have no report in common.

        ``last_day`` returns its last day with reports, if there is one.

        If no days are asked for, these are the last week and the one before it. Raises ParameterError if days overlap.
        """
        if not any((self.since, self.until, self.other_since, self.other_until)):
            if (last := last_day()) is None:
                return self
            first, end, next_first = (last - timedelta(days=back) for back in (13, 7, 6))
            return replace(self, since=first, until=end, other_since=next_first, other_until=last)
        latest_start = max(self.since or date.min, self.other_since or date.min)
        earliest_end = min(self.until or date.max, self.other_until or date.max)
        if latest_start <= earliest_end:
            raise ParameterError(
                "other_since", "both sides hold the same reports; give days or strata that do not overlap"
            )
        return self


@dataclass(frozen=True, kw_only=True)
class WatchQuery(_OneVersion):
    """The parameters of a test for a change since a reference period; ``since`` is by default the day after it."""

    reference_since: Annotated[date | None, DAY("First UTC day of the reference period.")] = None
    reference_until: Annotated[date | None, DAY("Last UTC day of the reference period, included.")] = None
    change: Annotated[float, SHARE(_TUNED)] = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.reference_until is None:
            raise ParameterError("reference_until", "not given; name the last day before which nothing had changed")
        if self.reference_since and self.reference_since > self.reference_until:
            raise ParameterError("reference_since", "later than reference_until")
        if self.first <= self.reference_until:
            raise ParameterError("since", "a day of the reference period; reports cannot be on both sides")
        if self.top is not None or self.limit is not None or self.offset:
            raise ParameterError("top", "does not apply; name the values, which must not depend on the reports")

    @property
    def first(self) -> date:
        """The first day that is compared with the reference period."""
        return self.since or (self.reference_until or date.min) + timedelta(days=1)


@dataclass(frozen=True, kw_only=True)
class ListQuery(Parameters):
    """The requested part of a list: at most ``limit`` entries from ``offset`` on."""

    limit: Annotated[int | None, _LIMIT] = None
    offset: Annotated[int, _OFFSET] = 0

    def part(self, things: Sequence[T]) -> Sequence[T]:
        """Return the part of a list that is asked for."""
        return things[self.offset : None if self.limit is None else self.offset + self.limit]


@dataclass(frozen=True, kw_only=True)
class TrendQuery(_OneVersion):
    """The parameters of a trend: its steps are days or weeks from Monday to Sunday."""

    step: Annotated[str, one_of(STEPS)("Length of a step. Weeks run from Monday to Sunday.")] = "day"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.step not in STEPS:
            raise ParameterError("step", f"unknown; one of {', '.join(STEPS)}")

    def spans(self, days: Iterable[date]) -> list[tuple[date, date]]:
        """Return the first and last day of each step that has one of these days, oldest first."""
        spans = []
        for start, _ in groupby(days, lambda day: first_day(day.toordinal(), self.step)):
            first, last = (date.fromordinal(day) for day in (start, last_day(start, self.step)))
            spans.append((max(first, self.since or first), min(last, self.until or last)))
        return spans


@dataclass(frozen=True, kw_only=True)
class RetentionQuery(Parameters):
    """The parameters of retention: complete calendar weeks that lie within the days, a version, and strata."""

    since: Annotated[date | None, DAY("First UTC day. Weeks that begin before it are only denominators.")] = None
    until: Annotated[date | None, DAY("Last UTC day, included.")] = None
    confidence: Annotated[float, CONFIDENCE("Confidence level of the intervals.")] = 0.95
    version: Annotated[str | None, TEXT("Read this version in place of the current one.")] = None
    strata: Annotated[Chosen, ATTRIBUTES(_STRATA)] = ()
    format: Annotated[str | None, one_of(FORMAT_NAMES)(_FORMAT)] = None

    def __post_init__(self) -> None:
        _in_order(self.since, self.until, "since")
        _require_format(self.format)


@dataclass(frozen=True, kw_only=True)
class ActiveQuery(Parameters):
    """The parameters of counts of active devices."""

    since: Annotated[date | None, DAY("First UTC day. A period that begins before it is left out.")] = None
    until: Annotated[date | None, DAY("Last UTC day, included. A later day of a period is not counted.")] = None
    format: Annotated[str | None, one_of(FORMAT_NAMES)(_FORMAT)] = None

    def __post_init__(self) -> None:
        _in_order(self.since, self.until, "since")
        _require_format(self.format)


def _require_format(name: str | None) -> None:
    if name is not None and name not in FORMAT_NAMES:
        raise ParameterError("format", f"unknown; one of {', '.join(FORMAT_NAMES)}")


def _in_order(since: date | None, until: date | None, place: str) -> None:
    if since and until and since > until:
        raise ParameterError(place, "later than until")
