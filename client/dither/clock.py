"""The device's clock, which may be wrong: decide what a stored date proves.

A stored day beyond tomorrow shows that the clock was ahead then, or is behind now. It is certainly behind if it shows a
day before this program was written; then nothing can be concluded. Otherwise it is assumed to be right, because a
device must not stay silent until a year that its clock once showed.
"""

from __future__ import annotations

_WRITTEN = 739_921
"""No honest clock shows an earlier day than 2026-11-01, here as a proleptic ordinal."""


def is_behind(today: int) -> bool:
    """Return whether the clock certainly is behind."""
    return today < _WRITTEN


def is_ahead(day: int, today: int) -> bool:
    """Return whether ``day`` was stored by a clock that was ahead, judged by the clock's ``today``."""
    return day > today + 1 and not is_behind(today)
