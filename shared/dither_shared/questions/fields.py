"""Read the fields of a definition by type; errors name the key."""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime

from ..errors import ParameterError, did_you_mean

NAME = re.compile(r"[a-z][a-z0-9_.-]{0,63}")
"""The name of a metric, or of another table of the file."""


_MOST_BITS = 1000
"""Maximum bits of an integer, so that it is finite as a float."""


class Fields:
    """A TOML table or a JSON object, read field by field. Errors are ParameterErrors that name the key.

    Iterating yields the keys. ``siblings`` are the other tables of its file, by name.
    """

    def __init__(self, table: Mapping[str, object], siblings: Mapping[str, object] | None = None) -> None:
        self._table = table
        self._siblings = siblings or {}

    def __contains__(self, key: str) -> bool:
        return key in self._table

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def value(self, key: str) -> object:
        """Return the value at ``key``, of any type; None if there is none."""
        return self._table.get(key)

    def sibling(self, name: object) -> "Fields | None":
        """Return another table of the same file; None if there is none of that name."""
        table = self._siblings.get(name) if isinstance(name, str) else None
        return Fields(table) if isinstance(table, dict) else None

    def require_known(self, known: Iterable[str]) -> None:
        """Raise ParameterError for a key that is not among the ``known``."""
        listed = sorted(known)
        for key in self:
            if key in listed:
                continue
            meant = did_you_mean(key, listed)
            rest = f" Known here: {', '.join(listed)}" if meant else f"; known here: {', '.join(listed)}"
            raise ParameterError(key, f"unknown{meant}{rest}")

    def one_of(self, key: str, choices: tuple[str, ...], default: str | None = None) -> str:
        """Return one of the ``choices``."""
        value = self._table.get(key, default)
        if value is None:
            raise ParameterError(key, f"missing; one of {', '.join(choices)}")
        if not isinstance(value, str) or value not in choices:
            raise ParameterError(key, f"{value!r} is not one of {', '.join(choices)}{did_you_mean(value, choices)}")
        return value

    def string(self, key: str, default: str) -> str:
        """Return a string."""
        value = self._table.get(key, default)
        if not isinstance(value, str):
            raise ParameterError(key, f"{value!r} is not a string")
        return value

    def strings(self, key: str) -> tuple[str, ...]:
        """Return a list of strings: at least one, none of them empty, and none twice."""
        values = self._table.get(key, [])
        if not isinstance(values, list):
            raise ParameterError(key, f'{values!r} is not a list of strings such as ["light", "dark"]')
        if not values:
            wrong = "empty" if key in self else "missing"
            raise ParameterError(key, f'{wrong}; a list of strings such as ["light", "dark"]')
        seen: set[str] = set()
        for value in values:
            if not isinstance(value, str) or not value:
                raise ParameterError(key, f"{value!r} is not a string of at least one character")
            if value in seen:
                raise ParameterError(key, f"{value!r} is listed twice")
            seen.add(value)
        return tuple(values)

    def table(self, key: str, example: str) -> "Fields":
        """Return a table as ``Fields``; an error shows ``example``."""
        value = self._table.get(key)
        if not isinstance(value, dict):
            wrong = f"{value!r} is not" if key in self else "missing;"
            raise ParameterError(key, f"{wrong} a table such as {example}")
        return Fields(value)

    def number(self, key: str) -> float:
        """Return a number."""
        value = self._table.get(key)
        if value is None:
            raise ParameterError(key, "missing; a number")
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ParameterError(key, f"{value!r} is not a number")
        if isinstance(value, int) and value.bit_length() > _MOST_BITS:
            raise ParameterError(key, f"a number of {value.bit_length()} bits; at most {_MOST_BITS} can be read")
        return value

    def truth(self, key: str, default: bool) -> bool:
        """Return true or false."""
        value = self._table.get(key, default)
        if not isinstance(value, bool):
            raise ParameterError(key, f"{value!r} is not true or false")
        return value

    def day(self, key: str) -> date | None:
        """Return a date, or None if there is no such field."""
        value = self._table.get(key)
        if isinstance(value, datetime) or not isinstance(value, date | None):
            raise ParameterError(key, f"{value!r} is not a date such as 2027-06-30, without quotes")
        return value
