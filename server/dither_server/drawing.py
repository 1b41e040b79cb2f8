"""Drawings that need no script: shapes in SVG, from estimates and counts over days."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

__all__ = ["Bar", "Course", "Point", "bars_of_days", "course"]

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
class Point:
    """A value's estimate on a day; None where it is not defined."""

    day: date
    frequency: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Course:
    """A value over days, in a drawing of 600 by 80 from 0 to ``top``: its line, and the band of its intervals."""

    value: str
    points: Sequence[Point]
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


def course(value: str, points: Sequence[Point]) -> Course:
    """Draw a value over at least two days."""
    first, last = points[0].day.toordinal(), points[-1].day.toordinal()
    top = min(1.0, max(0.01, *(end or 0.0 for point in points for end in (point.high, point.frequency))))

    def place(day: date, share: float | None) -> str:
        across = _WIDTH * (day.toordinal() - first) / (last - first)
        return f"{across:.1f},{_HEIGHT * (1 - min(1.0, max(0.0, share or 0.0) / top)):.1f}"

    high = [place(point.day, point.high) for point in points]
    low = [place(point.day, point.low) for point in points]
    line = " ".join(place(point.day, point.frequency) for point in points)
    return Course(value, points, line, " ".join(high + low[::-1]), top)
