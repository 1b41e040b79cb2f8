"""Settings: numbers that an app gives, looked at before they are used, so that a mistake is told where it is made."""

import math

from dither_shared.errors import ParameterError
from dither_shared.questions.plain import type_name

__all__ = ["MOST_SECONDS", "number", "seconds"]

MOST_SECONDS = 366 * 86400.0
"""A year: longer than anything here lasts, and short enough for every clock and lock of the system."""


def number(name: str, value: object) -> float:
    """Return ``value``; raise ParameterError, which names the setting, unless it is a number, and none that is NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(name, f"a value of type {type_name(value)}, where a number is wanted")
    if value != value:  # noqa: PLR0124 - which only NaN is; math.isnan refuses an integer of 400 digits
        raise ParameterError(name, "not a number (NaN)")
    return value


def seconds(name: str, value: object) -> float:
    """Return ``value`` as seconds; raise ParameterError unless it is a number from 0 to a year."""
    given = number(name, value)
    if not 0 <= given <= MOST_SECONDS:
        raise ParameterError(name, f"{_quoted(given)} is not a number of seconds from 0 to {MOST_SECONDS:.0f} (a year)")
    return float(given)


def _quoted(value: float) -> str:
    """Return a number in words; one with thousands of digits would take long to write, and Python refuses to."""
    return repr(value) if abs(value) < 1e15 or value in {math.inf, -math.inf} else "a number this large"
