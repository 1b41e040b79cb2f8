"""The calendar of both ends: UTC days, and weeks from Monday to Sunday."""

from __future__ import annotations

from ..light import Literal, partial

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import date, datetime

Period = Literal["day", "week", "once"]

DAYS_IN: Mapping[str, int] = {"day": 1, "week": 7}
"""Days of each period that comes again."""


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
    """Return the first day of the period, one of ``DAYS_IN``, that a day lies in; days are proleptic ordinals."""
    return day - (day - 1) % DAYS_IN[period]  # day 1 was a Monday
