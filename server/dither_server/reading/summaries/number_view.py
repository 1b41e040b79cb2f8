"""The view of a number on pages: its curve with two quantiles, its histogram, and its statistics over time."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from statistics import NormalDist
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...analysis.trend import TrendStep
from ...estimation.intervals.score import too_wide
from ...estimation.numeric.estimate import NumericEstimate
from ...estimation.numeric.tabulated import law_of
from ..query import Span
from .number_changes import trend
from .number_scale import Scale
from .terminal_text import number_text
from .view import HEIGHT, WIDTH, EstimateView, PointEstimate, SeriesLine, Steps, TimeSeries, drawing_of

_BARS = 20
"""Maximum bars of the histogram; a grid of fewer steps has fewer. A bar sums shares because single ones are noisy."""

_MARKS = {0.5: "median", 0.95: "95th percentile"}
_NAMES = {"p50": "median", "p95": "95th percentile"}
_DOUBTS = {"ok": "", "edge": "may lie beyond the range", "too-few": "too few reports"}

_STEPS = 40
"""Maximum days or weeks that are plotted."""

_NEEDED = 0.01
"""The half-width of the mean's interval, as a part of the range, that counts as precise enough."""


class _HistogramBar(NamedTuple):
    """A bar of the shape, in a drawing of 600 by 80: from one number to another, with the curve's share of people."""

    x: float
    y: float
    width: float
    height: float
    low: float
    high: float
    share: float


class _QuantileMark(NamedTuple):
    """A quantile on the curve: its place, and its interval as a horizontal bar."""

    name: str
    x: float
    y: float
    left: float
    right: float


@dataclass(frozen=True)
class NumberView(EstimateView):
    """The estimates of a number; drawings are 600 by 80 and as wide as the range, or as its logarithms."""

    template: ClassVar[str] = "kinds/number.html"

    found: NumericEstimate

    @cached_property
    def scale(self) -> Scale:
        """The metric's scale."""
        return Scale.of(self.metric)

    @property
    def known(self) -> bool:
        """Whether the mean or a quantile has an estimate that says something."""
        return any(one["verdict"] != "too-few" for one, _ in self.rows)

    @property
    def needs(self) -> str:
        """A sentence on how many reports it takes to know the mean of any population to a hundredth of the range."""
        spread = law_of(self.metric.mechanism).worst_variance + 1 / 4
        reports = spread * (NormalDist().inv_cdf((1 + self.table.about["confidence"]) / 2) / _NEEDED) ** 2
        step = 10 ** max(0, len(str(math.ceil(reports))) - 2)
        needed = math.ceil(reports / step) * step
        return f"About {needed:,} reports are needed for a mean within {100 * _NEEDED:g}% of the range."

    def points(self, names: Sequence[str] | None = None) -> Sequence[PointEstimate]:
        """Return the mean, the median and the 95th percentile, on the range or its logarithms."""
        answer = self.table.about
        quantiles = {one["share"]: one for one in answer["quantiles"]}
        return [self._mean(), *(self._point(name, quantiles[share]) for share, name in _MARKS.items())]

    @property
    def rows(self) -> list[tuple[Mapping[str, Any], PointEstimate]]:
        """The mean and all quantiles, each with its figure."""
        answer = self.table.about
        quantiles = [
            (one, self._point(_MARKS.get(one["share"], f"{ordinal(100 * one['share'])} percentile"), one))
            for one in answer["quantiles"]
        ]
        return [(answer["mean"], self._mean()), *quantiles]

    def ticks(self, parts: int, top: float = 1.0) -> Sequence[str]:
        """Return numbers along the range, the last with the unit; empty ones where they would overlap on a phone."""
        labels = number_ticks(self.scale, parts)
        width = len(labels[-2]) + 2 * len(labels[-1])
        kept = parts if width <= 3 * parts + 7 else 2 if parts > 2 else 1
        return [label if place * kept % parts == 0 else "" for place, label in enumerate(labels)]

    def _mean(self) -> PointEstimate:
        mean = self.table.about["mean"]
        point = self._point(self.scale.mean_name, mean)
        if point.doubt or self.scale.log or mean["low"] is None or mean["high"] is None:
            return point
        half = max(mean["high"] - mean["value"], mean["value"] - mean["low"])
        return point._replace(text=f"{self.number(mean['value'])} ± {half:.2g} {self.scale.unit}".rstrip())

    def _point(self, name: str, one: Mapping[str, Any]) -> PointEstimate:
        text = "–" if one["value"] is None else f"{self.number(one['value'])} {self.scale.unit}".rstrip()
        at, low, high = (self.scale.part(one[end]) for end in ("value", "low", "high"))
        place = None if one["verdict"] == "too-few" else at
        return PointEstimate(name, text, _DOUBTS[one["verdict"]], place, low, high)

    @property
    def curve(self) -> str:
        """The consistent curve of shares below each point, as points of a line."""
        total = np.concatenate([[0.0], np.cumsum(self.found.fit.curve)])
        return " ".join(self._places(total, 0.5))

    @property
    def band(self) -> str:
        """The band of pointwise intervals (each holds by itself, not all at once), as points of a polygon.

        The share below a point lies between the share of answers rounded below it and that of answers rounded up to it.
        """
        low, high = self.found.cuts.drawn()
        return " ".join([*self._places(high, 1), *self._places(low, 0)[::-1]])

    @property
    def marks(self) -> list[_QuantileMark]:
        """The median and the 95th percentile."""
        last = self.scale.last
        marks = []
        for one in self.found.quantiles(tuple(_MARKS)):
            parts = (one.point, max(one.low - 1, 0), min(one.high + 1, last))
            x, left, right = (round(WIDTH * part / last, 1) for part in parts)
            marks.append(_QuantileMark(_MARKS[one.share], x, round(HEIGHT * (1 - one.share), 1), left, right))
        return marks

    @property
    def bars(self) -> list[_HistogramBar]:
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
            _HistogramBar(
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

    def number(self, number: float | None) -> str:
        """Return a number as text."""
        return number_text(number)

    def _places(self, shares: np.ndarray[Any, Any], before: float) -> list[str]:
        """Return a plotted point for each cut, ``before`` steps to the left of its point of the grid."""
        last = self.scale.last
        places = np.clip((np.arange(len(shares)) - before) / last, 0, 1)
        return [
            f"{WIDTH * x:.1f},{HEIGHT * (1 - share):.1f}"
            for x, share in zip(places.tolist(), np.clip(shares, 0, 1).tolist(), strict=True)
        ]

    def time_series(self, over: Steps, estimate: Callable[[Span], NumericEstimate]) -> TimeSeries:
        """Return the lines of the mean, the median and the 95th percentile."""
        over = over.last(_STEPS)
        steps = (TrendStep(*span, estimate(span)) for span in over.spans)
        table = trend(self.metric, steps, self.table.about["confidence"])
        lines = [_line(row, over.starts, self.scale) for row in table.rows()]
        return TimeSeries(over, lines, number_ticks(self.scale, 2), "Only the mean is tested for a drift.")


def number_ticks(scale: Scale, parts: int) -> list[str]:
    """Return the labels at the ends of ``parts`` equal parts of a range, the last with the unit."""
    labels = [number_text(scale.value(place / parts)) for place in range(parts + 1)]
    return [*labels[:-1], f"{labels[-1]} {scale.unit}".rstrip()]


def ordinal(number: float) -> str:
    """Return a number as an ordinal: 1st, 2nd, 3rd, 25th; 99.9th."""
    if number == int(number) and int(number) % 100 not in {11, 12, 13}:
        return f"{number:g}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(int(number) % 10, 'th') }"
    return f"{number:g}th"


def _line(row: dict[str, Any], days: Sequence[date], scale: Scale) -> SeriesLine:
    """Draw a statistic over at least two days, on the whole range."""
    ends = ("low", "high", "frequency")
    places = [{end: scale.part(point[end]) for end in ends} for point in row["points"]]
    low, high = (np.array([place[end] for place in places], dtype=np.float64) for end in ("low", "high"))
    wide = too_wide(low, high, 1.0)
    texts = []
    for point, unknown in zip(row["points"], wide, strict=True):
        interval = f"{number_text(point['low'])} to {number_text(point['high'])} {scale.unit}".rstrip()
        texts.append((f"{number_text(point['frequency'])} {scale.unit}".rstrip(), interval, bool(unknown)))
    drift = "drifts" if row["drift"] else ""
    return SeriesLine(_NAMES.get(row["value"], row["value"]), texts, drift, drawing_of(places, days))
