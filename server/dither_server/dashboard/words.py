"""What the pages say of a metric: its most frequent values, verdicts in words, its course over days."""

import math
from collections.abc import Mapping, Sequence
from datetime import date
from statistics import NormalDist
from typing import NamedTuple

from dither_shared import Metric

from ..analysis.answers import Answer, Row
from ..analysis.trend import Stretch, trend
from ..decoders.rappor import FALSE_DISCOVERIES
from ..query import Query
from ..store import Store
from .daily import DailyEstimates
from .drawing import Line, line_of

__all__ = ["POINTS", "Courses", "courses", "days_of", "in_words", "lacking", "listed", "rule_of"]

POINTS = 2.0
"""The precision that "too few" is measured by: this many percentage points either way."""

DAYS = 60
"""At most so many of the last days are drawn, and"""
_COURSES = 12
"""of so many values, and"""
_WORK = 300_000
"""of so many estimates in all, so that a page is there in about a second."""
_REGRESSION = 20_000
"""A regression on strings costs as much as so many estimates, and"""
_STRING = 100
"""as so many more for each string."""


def listed(told: Answer, few: int) -> list[Row]:
    """Return the rows in the order of a page: as they are listed where they are ``few``, else by their share."""
    rows = told["values"]
    if len(rows) <= few:
        return rows
    return sorted(rows, key=_share, reverse=True)


def in_words(row: Row, metric: Metric, reports: int, confidence: float) -> str:
    """Return a verdict, of the interval alone, in words; where it says nothing, how many more reports it takes."""
    if row["verdict"] == "ok":
        return "clear of 0"
    if row["verdict"] == "noise":
        return "may be 0"
    return f"too few reports: {lacking(row, metric, reports, confidence):,} more for ±{POINTS:g} points"


def rule_of(selected: bool) -> str:
    """Return what the verdicts of a table go by, and where candidates are ``selected`` what it takes to be found."""
    verdict = "Clear of 0: the interval lies above 0. May be 0: it contains 0."
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
    daily: DailyEstimates, metric: Metric, reports: Mapping[date, int], rows: Sequence[Row], confidence: float
) -> Courses | None:
    """Return the courses of the most frequent rows over the last days, of so many reports; a single day has none."""
    cost = len(metric.labels) if metric.domain else _REGRESSION + _STRING * len(metric.labels)
    days = list(reports)[-(_WORK // cost) :] if cost <= _WORK else []
    if len(days) < 2:
        return None
    steps = [Stretch(day, day, daily.of(metric, day, reports[day], confidence)) for day in days]
    told = trend(metric, steps, confidence)
    of = {course["value"]: course for course in told["values"]}
    drawn = sorted(rows, key=_share, reverse=True)[:_COURSES]
    return Courses(days, [line_of(of[row["value"]], days) for row in drawn], told["correction"])


def _share(row: Row) -> float:
    return -math.inf if row["frequency"] is None else row["frequency"]


def _rounded(number: int) -> int:
    """Return a number with three digits that count: the fourth would claim what nobody knows."""
    step: int = 10 ** max(0, len(str(number)) - 3)
    return -(-number // step) * step
