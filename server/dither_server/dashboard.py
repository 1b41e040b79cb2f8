"""What the pages show: estimates in words, and their course over days as drawings that need no script."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from statistics import NormalDist

from dither_shared import Metric

from .answers import Answer, Row, answer
from .store import Store
from .tally import Tally

__all__ = ["Course", "Day", "courses", "days_of", "in_words"]

_POINTS = 2.0
"""The precision that "too few" is measured by: this many percentage points either way."""

_DAYS = 60
_VALUES = 12
"""At most so many of the last days, and of the most frequent values, are drawn."""

_WIDTH, _HEIGHT = 600.0, 80.0


@dataclass(frozen=True)
class Day:
    """A day's reports, and the height of its bar in percent of the highest."""

    day: date
    reports: int
    height: float


@dataclass(frozen=True)
class Course:
    """A value over days, as points of a drawing of 600 by 80: its estimates, and the band of their intervals."""

    value: str
    line: str
    band: str
    last: str
    top: float


def in_words(row: Row, metric: Metric, reports: int, confidence: float) -> str:
    """Return a verdict as a sentence: what is known, or how many more reports it takes."""
    if row["verdict"] == "ok":
        return "clear of noise"
    if row["verdict"] == "noise":
        return "may be noise only"
    error = row["standard_error"]
    spread = metric.mechanism.variance() if error is None else reports * error**2
    needed = spread * (NormalDist().inv_cdf((1 + confidence) / 2) / (_POINTS / 100)) ** 2
    more = max(1, math.ceil(needed) - reports)
    return f"too few reports: {_rounded(more):,} more for ±{_POINTS:g} points"


def days_of(store: Store, metric: Metric) -> tuple[list[Day], list[tuple[date, Answer]]]:
    """Return the last days with their reports, and the estimates of each, oldest first."""
    told: list[tuple[date, Answer]] = []
    for day, tally in _last_days(store, metric):
        told.append((day, answer(metric, tally, (day, day))))
    most = max((one["reports"] for _, one in told), default=0)
    return [Day(day, one["reports"], 100 * one["reports"] / most) for day, one in told], told


def courses(overall: Answer, told: list[tuple[date, Answer]]) -> list[Course]:
    """Return the courses of the most frequent values; a single day is no course."""
    if len(told) < 2:
        return []
    order = sorted(range(len(overall["values"])), key=lambda v: -(overall["values"][v]["frequency"] or 0))
    return [_course([(day, one["values"][place]) for day, one in told]) for place in order[:_VALUES]]


def _last_days(store: Store, metric: Metric) -> Iterator[tuple[date, Tally]]:
    """Yield the tallies of the last days with reports, one in memory at a time."""
    for day in store.active_days(metric)[-_DAYS:]:
        yield day, store.tally(metric, day, day)


def _course(rows: list[tuple[date, Row]]) -> Course:
    """Draw a value: a day is as far from the next as the calendar says."""
    first, last = rows[0][0].toordinal(), rows[-1][0].toordinal()
    ends = [row[side] or 0.0 for _, row in rows for side in ("high", "frequency")]
    top = min(1.0, max(0.01, *ends))

    def point(day: date, share: float | None) -> str:
        across = _WIDTH * (day.toordinal() - first) / (last - first)
        return f"{across:.1f},{_HEIGHT * (1 - min(1.0, max(0.0, share or 0.0) / top)):.1f}"

    high = [point(day, row["high"]) for day, row in rows]
    low = [point(day, row["low"]) for day, row in rows]
    final = rows[-1][1]
    share = "–" if final["frequency"] is None else f"{100 * final['frequency']:.1f}%"
    line = " ".join(point(day, row["frequency"]) for day, row in rows)
    return Course(final["value"], line, " ".join(high + low[::-1]), share, 100 * top)


def _rounded(number: int) -> int:
    """Return a number with three digits that count: the fourth would claim what nobody knows."""
    step: int = 10 ** max(0, len(str(number)) - 3)
    return -(-number // step) * step
