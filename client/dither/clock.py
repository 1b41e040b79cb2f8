"""The device's clock, which may be wrong: decide what a date on it proves.

A day that was written down and lies beyond tomorrow says that the clock was ahead then, or is behind now. It is behind
for certain if it shows a day on which this program had not been written: then nothing follows from it. Else it is taken
to be right, for a device must not fall silent until the year that its clock once showed.
"""

from datetime import date

__all__ = ["is_ahead"]

_WRITTEN = date(2026, 11, 1).toordinal()
"""No honest clock shows an earlier day."""


def is_ahead(day: int, today: int) -> bool:
    """Return whether ``day`` was written by a clock that was ahead, for all that is known ``today``."""
    return day > today + 1 and today >= _WRITTEN
