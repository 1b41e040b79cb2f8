"""Answers as columns, whose rows are made only while they are written."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Column = NDArray[Any] | Sequence[Any]

_ROWS = 128
"""Rows that are made together: writing them takes a millisecond or two, in which no other thread runs."""


@dataclass(frozen=True)
class Table:
    """An answer: fields ``about`` the whole, and rows as ``columns`` of one length, in the order of a row's keys."""

    about: Mapping[str, Any]
    columns: Mapping[str, Column]
    rows_as: str = field(default="values", kw_only=True)
    """The key of the rows in the API's object."""
    beside: Mapping[str, "Table"] = field(default_factory=dict, kw_only=True)
    """Further lists of rows in that object, by their keys; what they are about is told here."""

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def rows(self, start: int = 0, stop: int | None = None) -> list[dict[str, Any]]:
        """Return some rows as JSON's objects; a number that is not defined is None."""
        names = list(self.columns)
        parts = (cells(column[start:stop]) for column in self.columns.values())
        return [dict(zip(names, row, strict=True)) for row in zip(*parts, strict=True)]

    @property
    def lists(self) -> dict[str, "Table"]:
        """All lists of rows by their keys, its own first."""
        return {self.rows_as: self, **self.beside}

    def chunks(self) -> Iterator[list[dict[str, Any]]]:
        """Yield all rows, a few at a time."""
        return (self.rows(start, start + _ROWS) for start in range(0, len(self), _ROWS))

    def whole(self) -> dict[str, Any]:
        """Return the answer as one JSON object."""
        return {**self.about, **{key: listed.rows() for key, listed in self.lists.items()}}

    def chosen(self, places: NDArray[np.intp]) -> "Table":
        """Return the same answer with only the rows at these places, in their order."""
        return replace(self, columns={name: _taken(column, places) for name, column in self.columns.items()})


def cells(column: Column) -> list[Any]:
    """Return a column as JSON's values."""
    if not isinstance(column, np.ndarray):
        return list(column)
    values: list[Any] = column.tolist()
    if column.dtype.kind != "f" or np.isfinite(column).all():
        return values
    return [finite(value) for value in values]


def finite(number: float) -> float | None:
    """Return the number, or None for NaN and infinity, which JSON does not have."""
    return number if math.isfinite(number) else None


def _taken(column: Column, places: NDArray[np.intp]) -> Column:
    if isinstance(column, np.ndarray):
        return column[places]
    return [column[place] for place in places.tolist()]
