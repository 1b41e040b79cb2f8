"""Drawings that need no script: shapes in SVG, from estimates and counts over days."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from ...estimation.estimate import WIDEST

WIDTH, HEIGHT = 600.0, 80.0


@dataclass(frozen=True)
class Bar:
    """The reports of a day, or of the week that begins with it, as a bar of a drawing of 600 by 80."""

    day: date
    reports: int
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Line:
    """A value over time in a drawing of 600 by 80, from 0 to ``top``: its estimates, and the band of their intervals.

    ``row`` is that of the trend.
    """

    row: Mapping[str, Any]
    line: str
    band: str
    top: float

    @property
    def unknown(self) -> list[bool]:
        """For each step, whether its interval is too wide to say anything."""
        return [not point["high"] - point["low"] < WIDEST for point in self.row["points"]]  # nor of NaN


def bars_of_days(reports: Mapping[date, int], days: int = 1) -> list[Bar]:
    """Return a bar per day, or per ``days`` days from it on, spaced as in the calendar."""
    if not reports:
        return []
    first, last, most = min(reports).toordinal(), max(reports).toordinal(), max(reports.values())
    step = WIDTH / (last - first + days)
    bars = []
    for day, count in reports.items():
        height = HEIGHT * count / most
        left, width = step * (day.toordinal() - first) + step * days / 10, step * days * 0.8
        bars.append(Bar(day, count, round(left, 1), round(HEIGHT - height, 1), round(width, 1), round(height, 1)))
    return bars


def line_of(row: Mapping[str, Any], days: Sequence[date]) -> Line:
    """Draw a row of a trend over at least two days, spaced as in the calendar."""
    points = row["points"]
    first, last = days[0].toordinal(), days[-1].toordinal()
    top = min(1.0, max(0.01, *(end or 0.0 for point in points for end in (point["high"], point["frequency"]))))

    def places(side: str) -> list[str]:
        return [
            f"{WIDTH * (day.toordinal() - first) / (last - first):.1f},"
            f"{HEIGHT * (1 - min(1.0, max(0.0, point[side] or 0.0) / top)):.1f}"
            for day, point in zip(days, points, strict=True)
        ]

    return Line(row, " ".join(places("frequency")), " ".join(places("high") + places("low")[::-1]), top)
