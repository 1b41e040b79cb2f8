"""The calendar of both ends: UTC days, weeks from Monday to Sunday, and months."""

from __future__ import annotations

from ..light import Literal, partial

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date, datetime

Period = Literal["day", "week", "month", "once"]

STEPS = ("day", "week", "month")
"""The periods that come again."""

_clock: list[Callable[[], datetime]] = []
"""The function that returns the time, kept because nothing can be imported at the interpreter's shutdown."""


def utc_today() -> date:
    """Return today's date in UTC: the finest time that a report or a collector ever knows."""
    if not _clock:
        try:  # a disabled client asks for no day, and Python 3.11 takes 1 ms for the module around this one
            from _datetime import datetime, timezone  # type: ignore[import-not-found] # noqa: PLC0415
        except ImportError:
            from datetime import datetime, timezone  # noqa: PLC0415

        _clock.append(partial(datetime.now, timezone.utc))  # noqa: UP017 - the inner module lacks UTC
    return _clock[0]().date()


def first_day(day: int, period: str) -> int:
    """Return the first day of the period, one of ``STEPS``, that a day lies in; days are proleptic ordinals."""
    if period == "week":
        return day - (day - 1) % 7  # day 1 was a Monday
    return day if period == "day" else day - _date(day).day + 1


def last_day(day: int, period: str) -> int:
    """Return the last day of the period, one of ``STEPS``, that a day lies in."""
    first = first_day(day, period)
    if period == "month":
        return first_day(first + 31, period) - 1
    return first + 6 if period == "week" else first


def _date(day: int) -> date:
    return type(utc_today()).fromordinal(day)
