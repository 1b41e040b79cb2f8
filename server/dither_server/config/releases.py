"""Releases of the app, which pages mark on curves over time.

[[releases]]
day = 2026-11-20
name = "2.1"
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from typing import NamedTuple, Self

from dither_shared import ParameterError

_MOST, _LONGEST = 1_000, 40
"""Maximum releases, and maximum characters of a name."""


class Release(NamedTuple):
    """A release: its UTC day and its name."""

    day: date
    name: str

    def __str__(self) -> str:
        return f"{self.day} {self.name}"


@dataclass(frozen=True)
class Releases:
    """The releases that are marked, oldest first."""

    listed: tuple[Release, ...] = ()

    @classmethod
    def read(cls, given: object, source: str) -> Self:
        """Read tables of day and name, or text such as "2026-11-20 2.1, 2026-12-01 2.2". Raises ParameterError."""
        parts = [part for part in given.split(",") if part.strip()] if isinstance(given, str) else given
        if not isinstance(parts, list) or len(parts) > _MOST:
            raise ParameterError(source, f"not a list of at most {_MOST} releases, each with a day and a name")
        return cls(tuple(sorted(_release(part, f"{source}[{place}]") for place, part in enumerate(parts))))

    def __str__(self) -> str:
        return ", ".join(map(str, self.listed))


def _release(part: object, source: str) -> Release:
    if isinstance(part, str):
        day, _, name = part.strip().partition(" ")
        part = {"day": day, "name": name.strip()}
    if not isinstance(part, Mapping) or set(part) != {"day", "name"}:
        raise ParameterError(source, 'not a day with a name, such as day = 2026-11-20 and name = "2.1"')
    day, name = part["day"], part["name"]
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= _LONGEST:
        raise ParameterError(source, f"its name is not a text of 1 to {_LONGEST} characters")
    found: object = day
    if isinstance(day, str):
        with suppress(ValueError):
            found = date.fromisoformat(day)
    if not isinstance(found, date) or isinstance(found, datetime):
        raise ParameterError(source, "its day is not a date such as 2026-11-20")
    return Release(found, name)
