"""What pages show of a number: its curve with two quantiles on it, its shape, and its lines over time."""

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from statistics import NormalDist
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dither_shared import Metric

from ...analysis.columns import Table
from ...analysis.trend import TrendStep
from ...estimation.numeric.estimate import NumericEstimate
from ...estimation.numeric.registry import law_of
from ...estimation.verdicts import too_wide
from .number_changes import trend_steps
from .number_scale import Scale
from .summary import EstimateView, PointEstimate, Span, Steps
from .svg import HEIGHT, WIDTH, Drawing, drawing_of

_BARS = 20
"""Maximum bars of the shape. Each sums shares of the curve, which are known badly one by one."""

_MARKS = (0.5, 0.95)
_TICKS = 5

_STEPS = 40
"""Maximum days or weeks that are drawn."""

_WORK = 20_000
"""Cost budget for those drawings, so that a page takes about a second."""

_NEEDED = 0.01
"""The part of the range to which enough reports know the mean."""


class Bar(NamedTuple):
    """A bar of the shape, in a drawing of 600 by 80: from one number to another, with the curve's share of people."""

    x: float
    y: float
    width: float
    height: float
    low: float
    high: float
    share: float


class Mark(NamedTuple):
    """A quantile on the curve: its place, and its interval as a horizontal bar."""

    name: str
    x: float
    y: float
    left: float
    right: float


class Tick(NamedTuple):
    """A number below the drawing, at ``x`` percent of its width."""

    x: float
    number: float


@dataclass(frozen=True)
class NumberView(EstimateView):
    """The estimates of a number; drawings are 600 by 80 and as wide as the range, or as its logarithms."""

    template: ClassVar[str] = "kinds/number.html"

    metric: Metric
    table: Table
    found: NumericEstimate

    @cached_property
    def scale(self) -> Scale:
        """The metric's scale."""
        return Scale.of(self.metric)

    @property
    def known(self) -> bool:
        """Whether the mean has an estimate."""
        return self.table.about["mean"]["value"] is not None

    @property
    def needs(self) -> str:
        """How many reports it takes to know the mean of any population to a hundredth of the range."""
        spread = law_of(self.metric.mechanism).worst_variance + 1 / 4
        reports = spread * (NormalDist().inv_cdf((1 + self.table.about["confidence"]) / 2) / _NEEDED) ** 2
        step = 10 ** max(0, len(str(math.ceil(reports))) - 2)
        return f"{math.ceil(reports / step) * step:,} for a mean within {100 * _NEEDED:g}% of the range"

    def points(self, names: Sequence[str] | None = None) -> Sequence[PointEstimate]:
        """Return the mean, the median and the 95th percentile, on the range or its logarithms."""
        answer = self.table.about
        quantiles = {one["share"]: one for one in answer["quantiles"]}
        parts = [("mean", answer["mean"]), *((f"p{100 * share:g}", quantiles[share]) for share in _MARKS)]
        return [self._point(name, one) for name, one in parts]

    def axis(self, low: float, high: float) -> str:
        """Return from which number to which the axis of point estimates goes, with the unit."""
        scale = self.scale
        words = f"{self.number(scale.at(low))} to {self.number(scale.at(high))} {scale.unit}".rstrip()
        return f"{words}, logarithmic" if scale.log else words

    def _point(self, name: str, one: Mapping[str, Any]) -> PointEstimate:
        text = f"{self.number(one['value'])} {self.scale.unit}".rstrip()
        at, low, high = (
            None if one[end] is None else self.scale.place(min(max(one[end], self.scale.low), self.scale.high))
            for end in ("value", "low", "high")
        )
        return PointEstimate(name, text, one["verdict"], at, low, high)

    @property
    def curve(self) -> str:
        """The consistent curve of shares below each point, as points of a line."""
        total = np.concatenate([[0.0], np.cumsum(self.found.fit.curve)])
        return " ".join(self._places(total, 0.5))

    @property
    def band(self) -> str:
        """The band of the intervals, each of which holds by itself, as points of a polygon.

        The share below a point lies between that of answers rounded to less and that of answers rounded to it or less.
        """
        low, high = self.found.cuts.drawn()
        return " ".join([*self._places(high, 1), *self._places(low, 0)[::-1]])

    @property
    def marks(self) -> list[Mark]:
        """The median and the 95th percentile."""
        last = self.scale.last
        marks = []
        for one in self.found.quantiles(_MARKS):
            parts = (one.point, max(one.low - 1, 0), min(one.high + 1, last))
            x, left, right = (round(WIDTH * part / last, 1) for part in parts)
            marks.append(Mark(f"p{100 * one.share:g}", x, round(HEIGHT * (1 - one.share), 1), left, right))
        return marks

    @property
    def bars(self) -> list[Bar]:
        """The shape: shares of the curve in at most 20 even parts of the range."""
        curve, last = self.found.fit.curve, self.scale.last
        count = min(_BARS, last)
        borders = np.linspace(0, last, count + 1)
        edges = np.concatenate([[0.0], np.cumsum(curve)])
        below = np.interp(borders + 0.5, np.arange(len(edges)), edges)  # point i stands for half a step to both sides
        below[0], below[-1] = 0.0, 1.0
        shares = np.diff(below)
        top = max(float(shares.max()), 1e-9)
        return [
            Bar(
                round(WIDTH * place / count, 1),
                round(HEIGHT * (1 - share / top), 1),
                round(WIDTH / count, 1),
                round(HEIGHT * share / top, 1),
                self.scale.at(borders[place]),
                self.scale.at(borders[place + 1]),
                share,
            )
            for place, share in enumerate(shares.tolist())
        ]

    @property
    def ticks(self) -> list[Tick]:
        """Numbers along the range."""
        return [Tick(100 * place / (_TICKS - 1), self.scale.value(place / (_TICKS - 1))) for place in range(_TICKS)]

    def number(self, number: float | None) -> str:
        """Return a number as it is written."""
        return number_text(number)

    def _places(self, shares: np.ndarray[Any, Any], before: float) -> list[str]:
        """Return a point for each cut, which is drawn that many steps before its point of the grid."""
        last = self.scale.last
        places = np.clip((np.arange(len(shares)) - before) / last, 0, 1)
        return [
            f"{WIDTH * x:.1f},{HEIGHT * (1 - share):.1f}"
            for x, share in zip(places.tolist(), np.clip(shares, 0, 1).tolist(), strict=True)
        ]


def number_text(number: float | None) -> str:
    """Return a number with three significant digits, or all digits of a larger whole part; a dash for None."""
    if number is None:
        return "-"
    number += 0.0  # -0.0 is written as 0
    return f"{number:,.0f}" if 1000 <= abs(number) < 1e12 else f"{number:.3g}"


class Line(NamedTuple):
    """A statistic over time: its estimates, the band of its intervals, and the numbers at both edges."""

    name: str
    points: Sequence[dict[str, float | None]]
    drawing: Drawing
    bottom: float
    top: float
    drift: bool
    unknown: Sequence[bool]
    """For each step, whether there are too few reports to say anything."""


class NumberTimeSeries(NamedTuple):
    """Lines of mean, median and 95th percentile over days or weeks with reports."""

    over: Steps
    lines: Sequence[Line]
    correction: str


def time_series(
    metric: Metric, over: Steps, effort: int, estimate: Callable[[Span], NumericEstimate], confidence: float
) -> Generator[None, None, NumberTimeSeries | None]:
    """Make the lines over the last days or weeks with reports, in short steps; None for a single step.

    ``effort`` is the cost of one estimate.
    """
    over = over.last(min(_STEPS, _WORK // effort))
    if len(over.spans) < 2:
        return None
    steps = (TrendStep(*span, estimate(span)) for span in over.spans)
    table = yield from trend_steps(metric, steps, confidence)
    lines = [_line(row, over.starts, Scale.of(metric)) for row in table.rows()]
    return NumberTimeSeries(over, lines, table.about["correction"])


def _line(row: dict[str, Any], days: Sequence[date], scale: Scale) -> Line:
    points = row["points"]
    ends = [point[side] for point in points for side in ("low", "high", "frequency") if point[side] is not None]
    bottom, top = min(ends), max(ends)
    return Line(
        row["value"], points, drawing_of(points, days, bottom, top), bottom, top, row["drift"], _unknown(points, scale)
    )


def _unknown(points: Sequence[Mapping[str, float | None]], scale: Scale) -> list[bool]:
    """Return for each point whether its interval is at least half as wide as the range, or as its logarithms."""
    low, high = (
        [scale.place(min(max(point[end] or 0.0, scale.low), scale.high)) for point in points] for end in ("low", "high")
    )
    return [bool(wide) for wide in too_wide(np.array(low), np.array(high), scale.last)]
