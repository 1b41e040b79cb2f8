"""Drawings that need no script: shapes in SVG, from estimates and counts over days."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import NamedTuple

from .summary import Steps

WIDTH, HEIGHT = 600.0, 80.0


@dataclass(frozen=True)
class ReportBar:
    """The reports of a day, or of the week that begins with it, as a bar of a drawing of 600 by 80."""

    day: date
    reports: int
    x: float
    y: float
    width: float
    height: float


class _Slot(NamedTuple):
    """The part of a drawing's width that answers the pointer with the numbers of one step."""

    x: float
    width: float


@dataclass(frozen=True)
class Drawing:
    """Points over time in a drawing of 600 by 80: a line, the band of the intervals, a dot per point, a slot per step.

    ``line`` and ``band`` are points of SVG, ``dots`` is a path.
    """

    line: str
    band: str
    dots: str
    slots: Sequence[_Slot]


class StepText(NamedTuple):
    """An estimate of one day or week in words, with its interval; ``unknown`` if that is too wide to say anything."""

    text: str
    interval: str
    unknown: bool


@dataclass(frozen=True)
class SeriesLine:
    """A value over time: its name, its estimates in words, what is said of its drift, and its drawing."""

    name: str
    steps: Sequence[StepText]
    drift: str
    drawing: Drawing


class TimeSeries(NamedTuple):
    """Lines over days or weeks with reports, on one axis with these labels, and a sentence on their test for drift."""

    over: Steps
    lines: Sequence[SeriesLine]
    ticks: Sequence[str]
    note: str


class Marker(NamedTuple):
    """A day that is marked on a curve, at a place of a drawing 600 wide, with its name."""

    x: float
    day: date
    name: str


def markers_of(named: Sequence[tuple[date, str]], days: Sequence[date]) -> list[Marker]:
    """Return the named days that lie within a drawing of ``days``, of which there are at least two."""
    first, last = days[0].toordinal(), days[-1].toordinal()
    return [
        Marker(round(WIDTH * (day.toordinal() - first) / (last - first), 1), day, name)
        for day, name in named
        if first <= day.toordinal() <= last
    ]


def bars_of_days(reports: Mapping[date, int], days: int = 1) -> list[ReportBar]:
    """Return a bar per day, or per ``days`` days from it on, spaced as in the calendar."""
    if not reports:
        return []
    first, last, most = min(reports).toordinal(), max(reports).toordinal(), max(reports.values())
    step = WIDTH / (last - first + days)
    bars = []
    for day, count in reports.items():
        height = HEIGHT * count / most
        left, width = step * (day.toordinal() - first) + step * days / 10, step * days * 0.8
        bars.append(ReportBar(day, count, round(left, 1), round(HEIGHT - height, 1), round(width, 1), round(height, 1)))
    return bars


def scale_top(greatest: float) -> float:
    """Return the share at which an axis from 0 ends: 100%, or 10% or 2% if nothing is above that."""
    return next((top for top in (0.02, 0.1) if greatest <= top), 1.0)


def drawing_of(points: Sequence[Mapping[str, float | None]], days: Sequence[date], top: float = 1.0) -> Drawing:
    """Draw points of at least two days from 0 to ``top``, spaced as in the calendar, without unknown ones."""
    first, last = days[0].toordinal(), days[-1].toordinal()
    across = [WIDTH * (day.toordinal() - first) / (last - first) for day in days]

    def places(side: str) -> list[str]:
        known = [(x, point[side]) for x, point in zip(across, points, strict=True)]
        return [
            f"{x:.1f},{HEIGHT * (1 - min(1.0, max(0.0, number / top))):.1f}"
            for x, number in known
            if number is not None
        ]

    line = places("frequency")
    borders = [0.0, *((x + after) / 2 for x, after in pairwise(across)), WIDTH]
    slots = [_Slot(round(left, 1), round(right - left, 1)) for left, right in pairwise(borders)]
    dots = "".join(f"M{place}h0" for place in line)
    return Drawing(" ".join(line), " ".join([*places("high"), *places("low")[::-1]]), dots, slots)
