"""The calendar of both ends: UTC days, and weeks from Monday to Sunday."""

from __future__ import annotations

from datetime import UTC, datetime

from ..light import Literal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

Period = Literal["day", "week", "once"]

DAYS_IN: Mapping[str, int] = {"day": 1, "week": 7}
"""Days of each period that comes again."""


def utc_today() -> date:
    """Return today's date in UTC: the finest time that a report or a collector ever knows."""
    return datetime.now(UTC).date()


def first_day(day: int, period: str) -> int:
    """Return the first day of the period, one of ``DAYS_IN``, that a day lies in; days are proleptic ordinals."""
    return day - (day - 1) % DAYS_IN[period]  # day 1 was a Monday
