"""What pages show of shares: the values, their verdicts in words, and their lines over time."""

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from dither_shared import Metric

from ...analysis.columns import Table
from ...analysis.trend import TrendStep, trend_steps
from ...estimation.estimate import Estimate
from ...estimation.fit import FALSE_DISCOVERIES
from ...estimation.precision import MAX_USERS, half_width, users_for
from .paging import Page, PageRequest, page_of
from .summary import EstimateView, PointEstimate, Span, Steps
from .svg import Line, line_of

FEW = 8
"""Maximum values shown in the order of the definition; more are ordered by their share."""

POINTS = 2.0
"""Half width of the interval, in percentage points, below which there are enough reports."""

SHAPES = {"ok": "●", "noise": "○", "too-few": "△"}
"""Symbol shown with each verdict, so that it does not depend on colour."""

_PANEL_VALUES = 6
"""Maximum values shown in a stratum panel."""

_LINES = 12
"""Maximum values plotted over time."""

_WORK = 20_000
"""Cost budget for those plots, so that a page takes about a second."""

Row = Mapping[str, Any]
"""A row with the columns ``SHARES``."""


@dataclass(frozen=True)
class SharesView(EstimateView):
    """The values of ``found``, as bars and as a table."""

    template: ClassVar[str] = "kinds/shares.html"
    zero: ClassVar[float | None] = 0.0

    metric: Metric
    table: Table
    found: Page[Row]

    @classmethod
    def of(cls, metric: Metric, table: Table, request: PageRequest) -> Self:
        """Return the values of a table that a page shows."""
        place = page_of(_listed(table, request.size), lambda place: str(table.columns["value"][place]), request)
        rows = table.chosen(np.array(place.shown, dtype=np.intp)).rows()
        return cls(metric, table, Page(rows, place.page, place.pages, place.match))

    @property
    def values(self) -> int:
        """The number of values."""
        return len(self.table)

    def most(self, column: str, over: str | None = None) -> float | None:
        """Return the largest number of a column, or of its ratios to another; None if it has no number."""
        numbers = np.asarray(self.table.columns[column], dtype=np.float64)
        if over is not None:
            below = np.asarray(self.table.columns[over], dtype=np.float64)
            numbers = numbers[below > 0] / below[below > 0]
        known = numbers[np.isfinite(numbers)]
        return float(known.max()) if len(known) else None

    def words(self, row: Row) -> str:
        """Return the verdict of a row in words."""
        return in_words(row, self.metric, self.table.about["reports"], self.table.about["confidence"])

    @property
    def selected(self) -> bool:
        """Whether the mechanism decides which candidates are found."""
        return any(one is not None for one in self.table.columns["found"][:1])

    @property
    def rule(self) -> str:
        """What the verdicts mean, and what it takes to be found."""
        verdict = f"{SHAPES['ok']} Clear of 0: the interval lies above 0. {SHAPES['noise']} May be 0: it contains 0."
        if not self.selected:
            return verdict
        return (
            f"{verdict} Found: it stands out among all candidates; an expected {100 * FALSE_DISCOVERIES:g}% of those "
            "found are not there. The two are judged apart: either may hold without the other."
        )

    @property
    def known(self) -> bool:
        """Whether any share has an estimate."""
        return self.most("frequency") is not None

    @property
    def needs(self) -> str:
        """How many reports it takes to know a share to ``POINTS``, for a metric without any."""
        first = self.table.rows(0, 1)[0]
        return f"{_lacking(first, self.metric, 0, self.table.about['confidence']):,} for ±{POINTS:g} points"

    def points(self, names: Sequence[str] | None = None) -> Sequence[PointEstimate]:
        """Return the shares of these values, or of the most frequent that are shown; few keep their order."""
        rows: Sequence[Row] = self.found.shown
        if names is None and len(rows) > FEW:
            rows = sorted(rows, key=_share, reverse=True)[:_PANEL_VALUES]
        if names is not None:
            where = {value: place for place, value in enumerate(self.table.columns["value"])}
            rows = self.table.chosen(np.array([where[name] for name in names], dtype=np.intp)).rows()
        return [_point(row) for row in rows]

    @property
    def top(self) -> float:
        """The greatest share that the bars show."""
        return min(1.0, max([0.01, *(row[end] or 0.0 for row in self.found.shown for end in ("frequency", "high"))]))


class TimeSeries(NamedTuple):
    """Lines of some values over days or weeks with reports, and the name of the correction behind their tests."""

    over: Steps
    lines: Sequence[Line]
    correction: str


def time_series(
    metric: Metric,
    rows: Sequence[Row],
    over: Steps,
    effort: int,
    estimate: Callable[[Span], Estimate],
    confidence: float,
) -> Generator[None, None, TimeSeries | None]:
    """Make the lines of the most frequent rows over the last days or weeks, in short steps; None for a single step.

    ``effort`` is the cost of one estimate.
    """
    over = over.last(_WORK // effort)
    if len(over.spans) < 2:
        return None
    drawn = sorted(rows, key=_share, reverse=True)[:_LINES]
    where = {label: place for place, label in enumerate(metric.labels)}
    places = np.array([where[row["value"]] for row in drawn], dtype=np.intp)
    steps = (TrendStep(*span, estimate(span)) for span in over.spans)
    table = yield from trend_steps(metric, len(over.spans), steps, confidence, places)
    return TimeSeries(over, [line_of(row, over.starts) for row in table.rows()], table.about["correction"])


def in_words(row: Row, metric: Metric, reports: int, confidence: float) -> str:
    """Return what the interval alone says, in words; if nothing, how many more reports it takes."""
    if row["verdict"] == "ok":
        return "clear of 0"
    if row["verdict"] == "noise":
        return "may be 0"
    return f"too few reports: {_lacking(row, metric, reports, confidence):,} more for ±{POINTS:g} points"


def _listed(table: Table, few: int) -> list[int]:
    """Return the places of the values in the order of a page: as listed if they are ``few``, otherwise by share."""
    if len(table) <= few:
        return list(range(len(table)))
    shares = np.nan_to_num(table.columns["frequency"], nan=-np.inf)
    order: list[int] = np.argsort(-shares, kind="stable").tolist()
    return order


def _lacking(row: Row, metric: Metric, reports: int, confidence: float) -> int:
    """Return how many more reports it takes to know a value to ``POINTS`` percentage points."""
    error, mechanism, within = row["standard_error"], metric.mechanism, POINTS / 100
    if error is None and mechanism.pure:  # nothing is known of the share: it may be the worst
        needed: float = users_for(lambda users: half_width(mechanism, users, confidence), within) or MAX_USERS
    else:
        spread = mechanism.variance() if error is None else reports * error**2
        needed = spread * (NormalDist().inv_cdf((1 + confidence) / 2) / within) ** 2
    return _rounded(max(1, math.ceil(needed) - reports))


def _point(row: Row) -> PointEstimate:
    """Return a share in words, unclipped, and its place between 0 and 1."""
    share = row["frequency"]
    at = None if share is None else min(max(share, 0.0), 1.0)
    return PointEstimate(row["value"], _percent(share), row["verdict"], at, row["low"], row["high"])


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{round(100 * share, 1) + 0.0:.1f}%".replace("-", "−")


def _share(row: Row) -> float:
    return -math.inf if row["frequency"] is None else float(row["frequency"])


def _rounded(number: int) -> int:
    """Return a number rounded up to three significant digits: the fourth would claim what nobody knows."""
    step: int = 10 ** max(0, len(str(number)) - 3)
    return -(-number // step) * step
