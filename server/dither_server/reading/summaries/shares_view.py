"""What pages show of shares: their figures, how they are drawn, and their lines over time."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np

from dither_shared import Metric
from dither_shared.counted import counted

from ...analysis.trend import TrendStep, trend
from ...estimation.fit import FALSE_DISCOVERIES
from ...estimation.intervals.score import verdicts
from ...estimation.planning import MAX_USERS, half_width, users_for
from ..query import Span
from .view import (
    EstimateView,
    Page,
    PageRequest,
    PointEstimate,
    SeriesLine,
    Steps,
    TimeSeries,
    drawing_of,
    page_of,
    percent_ticks,
    scale_top,
)

FEW = 8
"""The number of values above which all intervals of a page hold at once."""

POINTS = 2.0
"""Half width of the interval, in percentage points, below which there are enough reports."""

_PANEL_VALUES = 5
"""Maximum values shown on a card and in a stratum panel."""

_LINES = 12
"""Maximum values plotted over time."""

Row = Mapping[str, Any]
"""A row with the columns ``SHARES``."""


@dataclass(frozen=True)
class SharesView(EstimateView):
    """The values of ``found``, as bars and as a table."""

    template: ClassVar[str] = "kinds/shares.html"
    filled: ClassVar[bool] = True

    found: Page[Row] = field(init=False)

    def __post_init__(self, request: PageRequest) -> None:
        """Find the page of values that is asked for, the most frequent first."""
        values, shares = self.table.columns["value"], np.nan_to_num(self.table.columns["frequency"], nan=-np.inf)
        order: list[int] = np.argsort(-shares, kind="stable").tolist()
        place = page_of(order, lambda place: self.shown(str(values[place])), request)
        rows = self.table.chosen(np.array(place.shown, dtype=np.intp)).rows()
        object.__setattr__(self, "found", Page(rows, place.page, place.pages, place.match))

    def shown(self, value: str) -> str:
        """Return a value as people read it."""
        return self.metric.question.shown(value)

    @property
    def values(self) -> int:
        """The number of values."""
        return len(self.table)

    def most(self, column: str) -> float | None:
        """Return the largest number of a column; None if it has no number."""
        numbers = np.asarray(self.table.columns[column], dtype=np.float64)
        known = numbers[np.isfinite(numbers)]
        return float(known.max()) if len(known) else None

    @property
    def selected(self) -> bool:
        """Whether the mechanism decides which candidates are found."""
        return any(one is not None for one in self.table.columns["found"][:1])

    @property
    def legend(self) -> str:
        """What “under” and “too few reports” mean, if they are shown."""
        said = []
        if any(point.text.startswith("under") for _, point in self.rows):
            said.append(
                "“Under” is the upper end of the interval of a string that does not stand out among the candidates. "
                f"About {100 * FALSE_DISCOVERIES:g}% of those that stand out are false."
                if self.selected
                else "“Under” is the upper end of an interval that contains 0: nobody may have given this answer."
            )
        about, doubted = self.table.about, [row for row, point in self.rows if point.doubt]
        if doubted:
            lacking = max(_lacking(row, self.metric, about["reports"], about["confidence"]) for row in doubted)
            said.append(
                f"△ About {counted(lacking, 'more report is', 'more reports are')} needed for ±{POINTS:g} points."
            )
        return " ".join(said)

    @property
    def known(self) -> bool:
        """Whether any share has an estimate that says something."""
        return self.most("frequency") is not None and bool(
            np.any(np.asarray(self.table.columns["verdict"]) != "too-few")
        )

    @property
    def needs(self) -> str:
        """How many reports it takes to know a share to ``POINTS``, for a metric without any."""
        first = self.table.rows(0, 1)[0] | {"standard_error": None}
        lacking = _lacking(first, self.metric, 0, self.table.about["confidence"])
        return f"About {counted(lacking, 'report is', 'reports are')} needed for ±{POINTS:g} points."

    @cached_property
    def rows(self) -> list[tuple[Row, PointEstimate]]:
        """The values that are shown, the most frequent first, each with its figure."""
        return [(row, self.point(row)) for row in self.found.shown]

    def points(self, names: Sequence[str] | None = None) -> Sequence[PointEstimate]:
        """Return the shares of these values, or of the most frequent that are shown."""
        if names is None:
            return [point for _, point in self.rows[:_PANEL_VALUES]]
        where = {self.shown(value): place for place, value in enumerate(self.table.columns["value"])}
        rows = self.table.chosen(np.array([where[name] for name in names], dtype=np.intp)).rows()
        return [self.point(row) for row in rows]

    def point_of(self, row: Mapping[str, Any], name: str, share: str = "share") -> PointEstimate:
        """Return the figure of a row whose share is in that column."""
        return share_point(name, row[share], row["low"], row["high"], row["verdict"])

    def point(self, row: Row) -> PointEstimate:
        """Return the figure of a value."""
        name = self.shown(row["value"])
        verdict = row["verdict"]
        if row["found"] is not None and verdict != "too-few":
            verdict = "ok" if row["found"] else "noise"
        return share_point(name, row["frequency"], row["low"], row["high"], verdict)

    @property
    def top(self) -> float:
        """The share at which the bars of a page end."""
        return scale_top(max((point.high or 0.0 for _, point in self.rows), default=1.0))

    def time_series(self, over: Steps, estimate: Callable[[Span], Any]) -> TimeSeries | None:
        """Return the lines of the most frequent values that are shown; None if none of them has anything to show."""
        metric, confidence = self.metric, self.table.about["confidence"]
        drawn = sorted(self.found.shown, key=_share, reverse=True)[:_LINES]
        if not drawn:
            return None
        where = {label: place for place, label in enumerate(metric.labels)}
        places = np.array([where[row["value"]] for row in drawn], dtype=np.intp)
        steps = (TrendStep(*span, estimate(span)) for span in over.spans)
        table = trend(metric, len(over.spans), steps, confidence, places)
        trends = table.rows()
        method = f"{table.about['correction'].title()}'s method"
        note = f"A drift is marked, with a false alarm in {100 * (1 - confidence):.3g}% of questions ({method})."
        there = {row["value"] for row in drawn if row["verdict"] == "ok" and row["found"] is not False}
        lines = [row for row in trends if row["drift"] or row["value"] in there]
        if not lines:
            return None
        if len(lines) < len(trends):
            note += " Answers that nobody may have given are drawn only if they drift."
        top = scale_top(max(point["high"] or 0.0 for row in lines for point in row["points"]))
        return TimeSeries(over, [_line(metric, row, over.starts, top) for row in lines], percent_ticks(2, top), note)


def share_point(
    name: str, share: float | None, low: float | None, high: float | None, verdict: str = "ok"
) -> PointEstimate:
    """Return a share and its interval as "41% ± 9", or "under 5%" if it may be 0; without an interval as a dash."""
    if share is None or low is None or high is None or math.isnan(high - low):
        return PointEstimate(name, "–", "too few reports", None, None, None)
    first, last = max(low, 0.0), min(high, 1.0)
    if verdict == "too-few" or (verdict == "noise" and last == 1):
        text = f"{math.floor(100 * first)} to {math.ceil(100 * last)}%"
        return PointEstimate(name, text, "too few reports", None, first, last)
    if verdict == "noise":
        return PointEstimate(name, f"under {_rounded_up(100 * last)}%", "", None, 0.0, last)
    if share >= 1:
        return PointEstimate(name, f"over {100 - float(_rounded_up(100 * (1 - first))):g}%", "", None, first, 1.0)
    percent, half = 100 * share, 100 * max(high - share, share - low)
    digits = _digits(half / 2)
    text = f"{percent:.{digits}f}% ± {half:.{digits}f}"
    if round(percent, digits) <= round(half, digits):  # an interval that lies above 0 is not to be read as one of 0
        text = f"{100 * first:.1g} to {_rounded_up(100 * last)}%"
    return PointEstimate(name, text, "", share, first, last)


def _digits(number: float) -> int:
    """Return how many decimals a positive number needs to show its first digit, at most 3."""
    return min(3, max(0, -math.floor(math.log10(number)))) if number > 0 else 0


def _rounded_up(percent: float) -> str:
    digits = _digits(percent)
    return f"{math.ceil(round(percent * 10**digits, 6)) / 10**digits:g}"


def _line(metric: Metric, row: Row, days: Sequence[date], top: float) -> SeriesLine:
    """Draw a row of a trend over at least two days, from 0 to ``top``."""
    sides = (np.array([point[end] for point in row["points"]], dtype=np.float64) for end in ("low", "high"))
    texts = []
    for point, verdict in zip(row["points"], verdicts(*sides), strict=True):
        low, high = point["low"], point["high"]
        interval = "–" if low is None or high is None else f"{100 * low:.1f} to {100 * high:.1f}%"
        texts.append((percent_text(point["frequency"]), interval, verdict == "too-few"))
    drift = ""
    if row["drift"]:
        drift = f"{'rises' if row['slope'] > 0 else 'falls'} by {abs(100 * row['slope']):.2g} points per day"
    return SeriesLine(metric.question.shown(row["value"]), texts, drift, drawing_of(row["points"], days, top))


def _lacking(row: Row, metric: Metric, reports: int, confidence: float) -> int:
    """Return how many more reports are needed to estimate a value within ``POINTS`` percentage points."""
    error, mechanism, within = row["standard_error"], metric.mechanism, POINTS / 100
    if error is None and mechanism.pure:  # nothing is known of the share: it may be the worst
        needed: float = users_for(lambda users: half_width(mechanism, users, confidence), within) or MAX_USERS
    else:
        spread = mechanism.variance() if error is None else reports * error**2
        needed = spread * (NormalDist().inv_cdf((1 + confidence) / 2) / within) ** 2
    return _rounded(max(1, math.ceil(needed) - reports))


def percent_text(share: float | None) -> str:
    """Return a share in percent with one decimal, unclipped."""
    return "–" if share is None else f"{round(100 * share, 1) + 0.0:.1f}%".replace("-", "−")


def _share(row: Row) -> float:
    return -math.inf if row["frequency"] is None else float(row["frequency"])


def _rounded(number: int) -> int:
    """Return a number rounded up to three significant digits: the fourth would claim what nobody knows."""
    step: int = 10 ** max(0, len(str(number)) - 3)
    return -(-number // step) * step
