"""Clocks: reports are counted under the UTC day of the collector's, so all that take part must agree."""

from datetime import datetime, timedelta

from dither_shared.counted import counted

from .findings import Finding, ok, problem, warning

__all__ = ["compared"]

_APART = timedelta(seconds=5)
_WRONG = timedelta(hours=1)


def compared(whose: str, there: datetime, before: datetime, after: datetime) -> Finding:
    """Compare a clock with ours, which was read before and after it; that it tells seconds only is allowed for."""
    behind = before - (there + timedelta(seconds=1))
    ahead = there - after
    apart = max(behind, ahead, timedelta())
    if apart < _APART:
        return ok("clock", f"{whose} agrees with this machine's to {_APART.seconds} seconds")
    way = "behind" if behind > ahead else "ahead of"
    finding = problem if apart > _WRONG else warning
    advice = "Set both by NTP: reports near midnight are counted under another day, and ids forgotten at another time"
    return finding("clock", f"{whose} is {_length(apart)} {way} this machine's", advice)


def _length(span: timedelta) -> str:
    seconds = span.total_seconds()
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= 2 * length:
            return counted(round(seconds / length), unit)
    return counted(round(seconds), "second")
