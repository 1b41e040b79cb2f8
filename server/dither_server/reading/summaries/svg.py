"""Drawings that need no script: shapes in SVG, from estimates and counts over days."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from ...analysis.trend import Course
from ...estimation.estimate import WIDEST

__all__ = ["HEIGHT", "WIDTH", "Bar", "Line", "bars_of_days", "line_of"]

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
    """A value's course in a drawing of 600 by 80, from 0 to ``top``: its estimates, and the band of their intervals."""

    course: Course
    line: str
    band: str
    top: float

    @property
    def unknown(self) -> list[bool]:
        """Of which steps there are too few reports to say: the interval is that wide."""
        return [not point["high"] - point["low"] < WIDEST for point in self.course["points"]]  # nor of NaN


def bars_of_days(reports: Mapping[date, int], days: int = 1) -> list[Bar]:
    """Return a bar for each day, or for so many days from it on, as far from the next as the calendar says."""
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


def line_of(course: Course, days: Sequence[date]) -> Line:
    """Draw a value over at least two days, as far apart as the calendar says."""
    points = course["points"]
    first, last = days[0].toordinal(), days[-1].toordinal()
    top = min(1.0, max(0.01, *(end or 0.0 for point in points for end in (point["high"], point["frequency"]))))

    def places(side: Literal["frequency", "low", "high"]) -> list[str]:
        return [
            f"{WIDTH * (day.toordinal() - first) / (last - first):.1f},"
            f"{HEIGHT * (1 - min(1.0, max(0.0, point[side] or 0.0) / top)):.1f}"
            for day, point in zip(days, points, strict=True)
        ]

    return Line(course, " ".join(places("frequency")), " ".join(places("high") + places("low")[::-1]), top)
