"""Tables of answers, stored as columns, whose rows are made only while they are written."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

ColumnData = NDArray[Any] | Sequence[Any]

_ROWS = 128
"""Number of rows made at a time. Writing them takes a millisecond or two, in which no other thread runs."""

_JSON_TYPES = {str: "string", float: "number", int: "integer", bool: "boolean"}


class Column(NamedTuple):
    """One column of a kind of answer. JSON schemas, CSV headers, Arrow types and typed rows follow from it.

    ``choices`` lists all strings that it can contain, ``range`` its least and greatest number, if known.
    """

    name: str
    type: type[str] | type[float] | type[int] | type[bool]
    description: str = ""
    nullable: bool = False
    choices: tuple[str, ...] = ()
    range: tuple[float | None, float | None] = (None, None)

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of one of its cells."""
        name = _JSON_TYPES[self.type]
        schema: dict[str, Any] = {"type": [name, "null"] if self.nullable else name}
        if self.choices:
            schema = {"enum": list(self.choices)}
        schema |= {key: end for key, end in zip(("minimum", "maximum"), self.range, strict=True) if end is not None}
        return schema | ({"description": self.description} if self.description else {})


def number(name: str, description: str = "") -> Column:
    """Return a column of numbers, or null where a number is not defined."""
    return Column(name, float, description, nullable=True)


def schemas_of(columns: Sequence[Column]) -> dict[str, dict[str, Any]]:
    """Return the JSON schemas of a row's cells, by the names of the columns."""
    return {column.name: column.schema for column in columns}


def names_of(columns: Sequence[Column]) -> list[str]:
    """Return the names of columns."""
    return [column.name for column in columns]


@dataclass(frozen=True)
class Table:
    """An answer: ``about`` holds its fields, and ``columns`` the data of its rows, all of one length."""

    about: Mapping[str, Any]
    columns: Mapping[str, ColumnData]
    rows_as: str = field(default="values", kw_only=True)
    """The key of the rows in the API's object."""
    related: Mapping[str, "Table"] = field(default_factory=dict, kw_only=True)
    """Further lists of rows in that object, by their keys. They share this table's ``about`` fields."""

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def rows(self, start: int = 0, stop: int | None = None) -> list[dict[str, Any]]:
        """Return the rows from ``start`` to ``stop`` as JSON objects. A number that is not defined is None."""
        names = list(self.columns)
        parts = (cells(column[start:stop]) for column in self.columns.values())
        return [dict(zip(names, row, strict=True)) for row in zip(*parts, strict=True)]

    @property
    def lists(self) -> dict[str, "Table"]:
        """All lists of rows by their keys, its own first."""
        return {self.rows_as: self, **self.related}

    def chunks(self) -> Iterator[list[dict[str, Any]]]:
        """Yield all rows, a few at a time."""
        return (self.rows(start, start + _ROWS) for start in range(0, len(self), _ROWS))

    def whole(self) -> dict[str, Any]:
        """Return the answer as one JSON object."""
        return {**self.about, **{key: listed.rows() for key, listed in self.lists.items()}}

    def chosen(self, places: NDArray[np.intp]) -> "Table":
        """Return the answer with only the rows at the indices ``places``, in that order."""
        return replace(self, columns={name: _taken(column, places) for name, column in self.columns.items()})


def from_rows(
    about: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], columns: Sequence[Column], rows_as: str = "values"
) -> Table:
    """Return a table of rows. A column that a row does not have is None there."""
    return Table(about, {name: [row.get(name) for row in rows] for name in names_of(columns)}, rows_as=rows_as)


def cells(column: ColumnData) -> list[Any]:
    """Return a column's data as JSON values."""
    if not isinstance(column, np.ndarray):
        return list(column)
    values: list[Any] = column.tolist()
    if column.dtype.kind != "f" or np.isfinite(column).all():
        return values
    return [finite(value) for value in values]


def finite(number: float) -> float | None:
    """Return the number, or None for NaN and infinity, which JSON lacks."""
    return number if math.isfinite(number) else None


def _taken(column: ColumnData, places: NDArray[np.intp]) -> ColumnData:
    if isinstance(column, np.ndarray):
        return column[places]
    return [column[place] for place in places.tolist()]
