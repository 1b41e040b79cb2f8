"""What the pages say of a metric: its most frequent values, verdicts in words, its course over days."""

import math
from collections.abc import Generator, Sequence
from datetime import date
from statistics import NormalDist
from typing import NamedTuple, cast

import numpy as np

from dither_shared import Metric

from ..analysis.answers import About, Row
from ..analysis.columns import Table
from ..analysis.trend import Course, TrendStep, trend_steps
from ..estimation.regression.rappor import FALSE_DISCOVERIES
from ..reading.costs import effort
from ..reading.estimates import EstimateReader
from ..reading.query import Query
from ..store import Store
from .svg import Line, line_of

__all__ = [
    "POINTS",
    "SHAPES",
    "Courses",
    "courses",
    "days_of",
    "denominator",
    "in_words",
    "lacking",
    "listed",
    "rule_of",
]

POINTS = 2.0
"""The precision that "too few" is measured by: this many percentage points either way."""

SHAPES = {"ok": "●", "noise": "○", "too-few": "△"}
"""What stands before a verdict, for who looks before reading and for who tells no colours apart."""

_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_AT_MOST = {
    "day": "at most one a device and day",
    "week": "at most one a device and week",
    "once": "at most one a device",
}

DAYS = 60
"""At most so many of the last days are drawn, and"""
_COURSES = 12
"""of so many values, and"""
_WORK = 20_000
"""of so much work in all (``costs``), so that a page is there in about a second."""


def listed(table: Table, few: int) -> list[int]:
    """Return the places of the values in the order of a page: as listed where they are ``few``, else by their share."""
    if len(table) <= few:
        return list(range(len(table)))
    shares = np.nan_to_num(table.columns["frequency"], nan=-np.inf)
    order: list[int] = np.argsort(-shares, kind="stable").tolist()
    return order


def in_words(row: Row, metric: Metric, reports: int, confidence: float) -> str:
    """Return a verdict, of the interval alone, in words; where it says nothing, how many more reports it takes."""
    if row["verdict"] == "ok":
        return "clear of 0"
    if row["verdict"] == "noise":
        return "may be 0"
    return f"too few reports: {lacking(row, metric, reports, confidence):,} more for ±{POINTS:g} points"


def denominator(about: About, period: str) -> str:
    """Return which reports the shares of an answer are of, in words."""
    if about["since"] is None or about["until"] is None:
        return "no reports"
    reports = "the only report" if about["reports"] == 1 else f"the {about['reports']:,} reports"
    since, until = date.fromisoformat(about["since"]), date.fromisoformat(about["until"])
    return f"{reports} {_span(since, until)}, {_AT_MOST[period]}"


def _span(since: date, until: date) -> str:
    """Return days in words, without what both have in common."""
    day, month, year = str(since.day), _MONTHS[since.month - 1], str(since.year)
    last = f"{until.day} {_MONTHS[until.month - 1]} {until.year}"
    if since == until:
        return f"on {last}"
    if since.year != until.year:
        return f"from {day} {month} {year} to {last}"
    return f"from {day} to {last}" if since.month == until.month else f"from {day} {month} to {last}"


def rule_of(selected: bool) -> str:
    """Return what the verdicts of a table go by, and where candidates are ``selected`` what it takes to be found."""
    verdict = f"{SHAPES['ok']} Clear of 0: the interval lies above 0. {SHAPES['noise']} May be 0: it contains 0."
    if not selected:
        return verdict
    return (
        f"{verdict} Found: it stands out among all candidates; an expected {100 * FALSE_DISCOVERIES:g}% of those found "
        "are not there. The two are judged apart: either may hold without the other."
    )


def lacking(row: Row, metric: Metric, reports: int, confidence: float) -> int:
    """Return how many more reports it takes to know a value to ``POINTS`` percentage points."""
    error = row["standard_error"]
    spread = metric.mechanism.variance() if error is None else reports * error**2
    needed = spread * (NormalDist().inv_cdf((1 + confidence) / 2) / (POINTS / 100)) ** 2
    more = max(1, math.ceil(needed) - reports)
    return _rounded(more)


def days_of(store: Store, metric: Metric, query: Query) -> dict[date, int]:
    """Return the reports of the last days that are asked for."""
    first, last = query.since or date.min, query.until or date.max
    reports = {day: count for day, count in store.reports_by_day(metric).items() if first <= day <= last}
    return {day: reports[day] for day in list(reports)[-DAYS:]}


class Courses(NamedTuple):
    """The course of some values over days with reports, and the rule by which a drift is told."""

    days: Sequence[date]
    lines: Sequence[Line]
    correction: str


def courses(
    reader: EstimateReader, metric: Metric, days: Sequence[date], rows: Sequence[Row], confidence: float
) -> Generator[None, None, Courses | None]:
    """Make the courses of the most frequent rows over the last days with reports, in steps; one day has none."""
    days = days[-(_WORK // effort(metric)) :] if effort(metric) <= _WORK else []
    if len(days) < 2:
        return None
    drawn = sorted(rows, key=_share, reverse=True)[:_COURSES]
    where = {label: place for place, label in enumerate(metric.labels)}
    places = np.array([where[row["value"]] for row in drawn], dtype=np.intp)
    steps = (TrendStep(day, day, reader.estimate(metric, (day, day), confidence)) for day in days)
    table = yield from trend_steps(metric, len(days), steps, confidence, places)
    lines = [line_of(cast("Course", course), days) for course in table.rows()]
    return Courses(days, lines, table.about["correction"])


def _share(row: Row) -> float:
    return -math.inf if row["frequency"] is None else row["frequency"]


def _rounded(number: int) -> int:
    """Return a number with three digits that count: the fourth would claim what nobody knows."""
    step: int = 10 ** max(0, len(str(number)) - 3)
    return -(-number // step) * step
