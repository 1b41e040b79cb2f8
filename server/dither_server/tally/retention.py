"""Parse the setting ``retention``: how many days tallies are kept, for all metrics and for single ones."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Self

from dither_shared import ParameterError
from dither_shared.counted import counted

ALL = "*"
"""The key for all metrics that are not listed by name. No metric can have this name."""

_RIGHT = "write 400 days, or name metrics, as in theme = 90 days"


@dataclass(frozen=True)
class Retention:
    """The number of days for which each metric's tallies are kept; ``ALL`` is the key of all others."""

    days: tuple[tuple[str, int], ...] = ()

    @classmethod
    def read(cls, given: object, source: str) -> Self:
        """Read ``400 days``, ``400 days, theme = 90 days``, or a table of metrics; raise ParameterError otherwise."""
        parts = given.items() if isinstance(given, Mapping) else _parts(given, source)
        found: dict[str, int] = {}
        for name, text in parts:
            if name in found:
                raise ParameterError(source, f"{name}: given twice")
            found[name] = _days(text, f"{source}: {name}" if isinstance(given, Mapping) else source)
        return cls(tuple(found.items()))

    def before(self, metric: str, today: date) -> date | None:
        """Return the first day of a metric that is kept, or None if all are."""
        known = dict(self.days)
        days = known.get(metric, known.get(ALL))
        return None if days is None else today - timedelta(days=days)

    def __str__(self) -> str:
        return ", ".join(f"{name} = " * (name != ALL) + counted(days, "day") for name, days in self.days)


def _parts(given: object, source: str) -> Iterator[tuple[str, object]]:
    if not isinstance(given, str):
        raise ParameterError(source, f"not a number of days; {_RIGHT}")
    for part in given.split(","):
        name, equals, text = part.rpartition("=")
        yield (name.strip() if equals else ALL), text.strip()


def _days(text: object, source: str) -> int:
    """Return the number of days; it is bounded by the calendar, so that the date can be computed."""
    match = re.fullmatch(r"([1-9][0-9]{0,5}) days?", text) if isinstance(text, str) else None
    if match is None or int(match[1]) > 365_000:
        raise ParameterError(source, f"not a number of days from 1 to 365000; {_RIGHT}")
    return int(match[1])
