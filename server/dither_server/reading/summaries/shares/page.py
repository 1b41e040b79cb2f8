"""What the pages show of shares: the values that are looked at, verdicts in words, their course over days."""

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar, Literal, NamedTuple, Self, cast

import numpy as np

from dither_shared import Metric

from ....analysis.answers import About, Row
from ....analysis.columns import Table
from ....analysis.trend import Course, TrendStep, trend_steps
from ....estimation.estimate import Estimate
from ....estimation.fit import FALSE_DISCOVERIES
from ..summary import Exhibit, Span, Spot, Steps
from ..svg import Line, line_of
from ..window import Look, Window, window

__all__ = ["FEW", "POINTS", "SHAPES", "Courses", "SharesExhibit", "courses", "in_words"]

FEW = 8
"""As many values are shown in the order of the definition; more come in that of their shares."""

POINTS = 2.0
"""The precision that "too few" is measured by: this many percentage points either way."""

SHAPES = {"ok": "●", "noise": "○", "too-few": "△"}
"""What stands before a verdict, for who looks before reading and for who tells no colours apart."""

_SPOTS = 6
"""Of so many values shares stand in the panel of a stratum."""

_ENDS: Sequence[Literal["frequency", "high"]] = ("frequency", "high")

_COURSES = 12
"""Of so many values courses are drawn, and"""
_WORK = 20_000
"""of so much work in all (``costs``), so that a page is there in about a second."""


@dataclass(frozen=True)
class SharesExhibit(Exhibit):
    """The values that are ``found``, as bars and as a table."""

    template: ClassVar[str] = "kinds/shares.html"
    zero: ClassVar[float | None] = 0.0

    metric: Metric
    table: Table
    found: Window[Row]

    @classmethod
    def of(cls, metric: Metric, table: Table, look: Look) -> Self:
        """Return the values of a table that are looked at."""
        place = window(_listed(table, look.size), lambda place: str(table.columns["value"][place]), look)
        rows = cast("list[Row]", table.chosen(np.array(place.shown, dtype=np.intp)).rows())
        return cls(metric, table, Window(rows, place.page, place.pages, place.match))

    @property
    def told(self) -> About:
        """What is told beside the values."""
        return cast("About", self.table.about)

    @property
    def values(self) -> int:
        """How many values there are."""
        return len(self.table)

    def most(self, column: str, over: str | None = None) -> float | None:
        """Return the largest number of a column, or of its ratios to another; None where there is none."""
        numbers = np.asarray(self.table.columns[column], dtype=np.float64)
        if over is not None:
            below = np.asarray(self.table.columns[over], dtype=np.float64)
            numbers = numbers[below > 0] / below[below > 0]
        known = numbers[np.isfinite(numbers)]
        return float(known.max()) if len(known) else None

    def words(self, row: Row) -> str:
        """Return the verdict of one of its rows in words."""
        return in_words(row, self.metric, self.told["reports"], self.told["confidence"])

    @property
    def selected(self) -> bool:
        """Whether some of many candidates are found, and the others are not."""
        return any(one is not None for one in self.table.columns["found"][:1])

    @property
    def rule(self) -> str:
        """What the verdicts go by, and where candidates are selected what it takes to be found."""
        verdict = f"{SHAPES['ok']} Clear of 0: the interval lies above 0. {SHAPES['noise']} May be 0: it contains 0."
        if not self.selected:
            return verdict
        return (
            f"{verdict} Found: it stands out among all candidates; an expected {100 * FALSE_DISCOVERIES:g}% of those "
            "found are not there. The two are judged apart: either may hold without the other."
        )

    @property
    def needs(self) -> str:
        """How many reports it takes to know a share to ``POINTS``, where there are none."""
        first = cast("Row", self.table.rows(0, 1)[0])
        return f"{_lacking(first, self.metric, 0, self.told['confidence']):,} for ±{POINTS:g} points"

    def spots(self, names: Sequence[str] | None = None) -> Sequence[Spot]:
        """Return the shares of these values, or of the most frequent that are looked at; few are in their order."""
        rows = self.found.shown
        if names is None and len(rows) > FEW:
            rows = sorted(rows, key=_share, reverse=True)[:_SPOTS]
        if names is not None:
            where = {value: place for place, value in enumerate(self.table.columns["value"])}
            rows = cast("list[Row]", self.table.chosen(np.array([where[name] for name in names], dtype=np.intp)).rows())
        return [_spot(row) for row in rows]

    @property
    def top(self) -> float:
        """The greatest share that the bars have to show."""
        return min(1.0, max([0.01, *(row[end] or 0.0 for row in self.found.shown for end in _ENDS)]))


class Courses(NamedTuple):
    """The course of some values over days or weeks with reports, and the rule by which a drift is told."""

    over: Steps
    lines: Sequence[Line]
    correction: str


def courses(
    metric: Metric,
    rows: Sequence[Row],
    over: Steps,
    effort: int,
    estimate: Callable[[Span], Estimate],
    confidence: float,
) -> Generator[None, None, Courses | None]:
    """Make the courses of the most frequent rows over the last days or weeks, in short steps; a single one has none.

    ``effort`` is the cost of one estimate.
    """
    over = over.last(_WORK // effort)
    if len(over.spans) < 2:
        return None
    drawn = sorted(rows, key=_share, reverse=True)[:_COURSES]
    where = {label: place for place, label in enumerate(metric.labels)}
    places = np.array([where[row["value"]] for row in drawn], dtype=np.intp)
    steps = (TrendStep(*span, estimate(span)) for span in over.spans)
    table = yield from trend_steps(metric, len(over.spans), steps, confidence, places)
    lines = [line_of(cast("Course", course), over.starts) for course in table.rows()]
    return Courses(over, lines, table.about["correction"])


def in_words(row: Row, metric: Metric, reports: int, confidence: float) -> str:
    """Return a verdict, of the interval alone, in words; where it says nothing, how many more reports it takes."""
    if row["verdict"] == "ok":
        return "clear of 0"
    if row["verdict"] == "noise":
        return "may be 0"
    return f"too few reports: {_lacking(row, metric, reports, confidence):,} more for ±{POINTS:g} points"


def _listed(table: Table, few: int) -> list[int]:
    """Return the places of the values in the order of a page: as listed where they are ``few``, else by their share."""
    if len(table) <= few:
        return list(range(len(table)))
    shares = np.nan_to_num(table.columns["frequency"], nan=-np.inf)
    order: list[int] = np.argsort(-shares, kind="stable").tolist()
    return order


def _lacking(row: Row, metric: Metric, reports: int, confidence: float) -> int:
    """Return how many more reports it takes to know a value to ``POINTS`` percentage points."""
    error = row["standard_error"]
    spread = metric.mechanism.variance() if error is None else reports * error**2
    needed = spread * (NormalDist().inv_cdf((1 + confidence) / 2) / (POINTS / 100)) ** 2
    return _rounded(max(1, math.ceil(needed) - reports))


def _spot(row: Row) -> Spot:
    """Return a share in words, as it is, and its place between 0 and 1."""
    share = row["frequency"]
    at = None if share is None else min(max(share, 0.0), 1.0)
    return Spot(row["value"], _percent(share), row["verdict"], at, row["low"], row["high"])


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}%".replace("-", "−")


def _share(row: Row) -> float:
    return -math.inf if row["frequency"] is None else row["frequency"]


def _rounded(number: int) -> int:
    """Return a number with three digits that count: the fourth would claim what nobody knows."""
    step: int = 10 ** max(0, len(str(number)) - 3)
    return -(-number // step) * step
