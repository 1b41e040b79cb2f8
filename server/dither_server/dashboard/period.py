"""Which reports a page speaks of: their days, and how often one device may have reported."""

from datetime import date
from typing import Any

from dither_shared import Metric

from ..reading.query import Query
from ..reading.strata import Part
from ..store import Store

_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_AT_MOST = {
    "day": "at most one per device per day",
    "week": "at most one per device per week",
    "once": "at most one per device",
}

_DAYS = 60
"""Maximum days that are drawn, the last ones."""


def denominator(about: Any, period: str) -> str:
    """Return which reports an answer is about, in words."""
    if about["since"] is None or about["until"] is None:
        return "no reports"
    reports = "the only report" if about["reports"] == 1 else f"the {about['reports']:,} reports"
    since, until = date.fromisoformat(about["since"]), date.fromisoformat(about["until"])
    return f"{reports} {span_in_words(since, until)}, {_AT_MOST[period]}"


def days_of(store: Store, metric: Metric, query: Query, part: Part) -> dict[date, int]:
    """Return the reports per day of some strata, for the last days that are asked for."""
    reports = store.history(metric, query.since, query.until).days(part.places)
    return dict(list(reports.items())[-_DAYS:])


def in_words(day: date) -> str:
    """Return a day as 23 November 2026."""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def span_in_words(since: date, until: date) -> str:
    """Return a span of days in words, naming a common month and year once."""
    day, month, year = str(since.day), _MONTHS[since.month - 1], str(since.year)
    last = in_words(until)
    if since == until:
        return f"on {last}"
    if since.year != until.year:
        return f"from {day} {month} {year} to {last}"
    return f"from {day} to {last}" if since.month == until.month else f"from {day} {month} to {last}"
