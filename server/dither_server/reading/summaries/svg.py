"""Drawings that need no script: shapes in SVG, from estimates and counts over days."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from ...analysis.trend import Course

__all__ = ["Bar", "Line", "bars_of_days", "line_of"]

_WIDTH, _HEIGHT = 600.0, 80.0


@dataclass(frozen=True)
class Bar:
    """A day's reports as a bar of a drawing of 600 by 80."""

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


def bars_of_days(reports: Mapping[date, int]) -> list[Bar]:
    """Return a bar for each day, as far from the next as the calendar says."""
    if not reports:
        return []
    first, last, most = min(reports).toordinal(), max(reports).toordinal(), max(reports.values())
    step = _WIDTH / (last - first + 1)
    bars = []
    for day, count in reports.items():
        height = _HEIGHT * count / most
        left = step * (day.toordinal() - first) + step / 10
        bars.append(Bar(day, count, round(left, 1), round(_HEIGHT - height, 1), round(step * 0.8, 1), round(height, 1)))
    return bars


def line_of(course: Course, days: Sequence[date]) -> Line:
    """Draw a value over at least two days, as far apart as the calendar says."""
    points = course["points"]
    first, last = days[0].toordinal(), days[-1].toordinal()
    top = min(1.0, max(0.01, *(end or 0.0 for point in points for end in (point["high"], point["frequency"]))))

    def places(side: Literal["frequency", "low", "high"]) -> list[str]:
        return [
            f"{_WIDTH * (day.toordinal() - first) / (last - first):.1f},"
            f"{_HEIGHT * (1 - min(1.0, max(0.0, point[side] or 0.0) / top)):.1f}"
            for day, point in zip(days, points, strict=True)
        ]

    return Line(course, " ".join(places("frequency")), " ".join(places("high") + places("low")[::-1]), top)
