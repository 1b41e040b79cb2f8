"""The daily hour of forwarding, in UTC: when it has come, which is next, and whether one was missed."""

from datetime import date, datetime, time, timedelta

_DAY = timedelta(days=1)


def latest(now: datetime, at: time) -> date:
    """Return the day of the last hour that has come."""
    return now.date() if now.timetz() >= at else now.date() - _DAY


def following(now: datetime, at: time, last: date | None) -> datetime:
    """Return the next hour, given the day of the last one that was used, perhaps before ``at`` was set to another."""
    day = latest(now, at) + _DAY
    return datetime.combine(day + _DAY if day == last else day, at)


def is_due(now: datetime, at: time, last: date) -> bool:
    """Return whether an hour has come that was not used, given the day of the last one that was.

    A clock that is set back by some hours is waited for; a day that is further ahead was a clock's fault.
    """
    hour = latest(now, at)
    return hour > last or last - hour > _DAY


def is_overdue(now: datetime, at: time, last: date | None) -> bool:
    """Return whether a daily forwarding time has passed without a round; False before the relay's first start."""
    return last is not None and is_due(now, at, last)
