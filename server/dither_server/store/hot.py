"""Compile the statements of every commit once, and run them through the driver's cursor.

SQLAlchemy composes a statement, binds its values and wraps its rows anew each time, which costs several times what the
database takes for a small one. So what is run with each commit is composed by it once and then only filled in. What the
driver raises becomes the store's own errors, as it would elsewhere, and a connection that is lost is given up.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from .errors import RacedError, StoreError, message_of

__all__ = ["Hot"]

_Convert = Callable[[Any], Any]
_Rows = list[Any]
"""Sequences of a value for each column."""


@dataclass(frozen=True)
class _Compiled:
    """A statement in a driver's own words."""

    text: str
    names: Sequence[str]
    fixed: Mapping[str, Any]
    is_positional: bool
    given: Sequence[tuple[str, _Convert]]
    returned: Sequence[tuple[int, _Convert]]

    def filled(self, values: Mapping[str, Any]) -> Any:
        """Return the values as the driver takes them."""
        if self.fixed:
            values = {**self.fixed, **values}
        if self.given:
            values = {**values, **{name: convert(values[name]) for name, convert in self.given}}
        return (
            [values[name] for name in self.names] if self.is_positional else {name: values[name] for name in self.names}
        )

    def read(self, rows: _Rows) -> _Rows:
        """Return rows with the values that the statement's columns have."""
        if not self.returned:
            return rows
        read = [list(row) for row in rows]
        for row in read:
            for place, convert in self.returned:
                row[place] = convert(row[place])
        return read


class Hot:
    """A statement, whose parameters may be lists where they are bound as ``expanding``.

    A list is filled up to a power of two with its own last value, so that few lengths are ever compiled.
    """

    def __init__(self, statement: sa.Select[Any] | sa.Insert | sa.Update) -> None:
        self._statement = statement
        self._compiled: dict[tuple[str, tuple[tuple[str, int], ...]], _Compiled] = {}

    def rows(self, connection: sa.Connection, values: Mapping[str, Any] | None = None) -> _Rows:
        """Run a query; return all rows."""
        single, lists = _padded(values or {})
        compiled = self._in(connection, lists, single)
        filled = compiled.filled(single)
        return compiled.read(_run(connection, lambda cursor: cursor.execute(compiled.text, filled).fetchall()))

    def each(self, connection: sa.Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        """Run a statement that writes, once for each of ``rows``, which are alike."""
        compiled = self._in(connection, (), rows[0])
        filled = [compiled.filled(row) for row in rows]
        if len(filled) == 1:
            _run(connection, lambda cursor: cursor.execute(compiled.text, filled[0]))
        else:
            _run(connection, lambda cursor: cursor.executemany(compiled.text, filled))

    def _in(
        self, connection: sa.Connection, lists: tuple[tuple[str, int], ...], values: Mapping[str, Any]
    ) -> _Compiled:
        key = (connection.dialect.name, lists)
        found = self._compiled.get(key)
        if found is None:
            found = self._compiled[key] = _compile(self._statement, connection.dialect, lists, values)
        return found


def _padded(values: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[tuple[str, int], ...]]:
    """Return the values with each list taken apart as SQLAlchemy names its members, and the lists' lengths."""
    single: dict[str, Any] = {}
    lists = []
    for name, value in values.items():
        if not isinstance(value, list):
            single[name] = value
            continue
        length = 1 << (len(value) - 1).bit_length()
        single.update((f"{name}_{place}", one) for place, one in enumerate(value, 1))
        single.update((f"{name}_{place}", value[-1]) for place in range(len(value) + 1, length + 1))
        lists.append((name, length))
    return single, tuple(lists)


def _compile(
    statement: sa.Select[Any] | sa.Insert | sa.Update,
    dialect: sa.Dialect,
    lists: tuple[tuple[str, int], ...],
    values: Mapping[str, Any],
) -> _Compiled:
    keys = list(values) if isinstance(statement, sa.Insert) else None
    compiled: Any = statement.compile(dialect=dialect, column_keys=keys)
    sample = {name: [values[f"{name}_1"]] * length for name, length in lists}
    expanded = compiled.construct_expanded_state(dict(values) | sample, escape_names=False)
    names = list(expanded.positiontup or expanded.parameters)
    lengthened = {f"{name}_{place}": name for name, length in lists for place in range(1, length + 1)}
    given = []
    for name in names:
        kind = compiled.binds[lengthened.get(name, name)].type
        if convert := kind.dialect_impl(dialect).bind_processor(dialect):
            given.append((name, convert))
    returned = []
    if isinstance(statement, sa.Select):
        for place, column in enumerate(statement.selected_columns):
            if convert := column.type.dialect_impl(dialect).result_processor(dialect, None):
                returned.append((place, convert))
    fixed = {name: expanded.parameters[name] for name in names if name not in values}
    return _Compiled(expanded.statement, names, fixed, expanded.positiontup is not None, given, returned)


def _run(connection: sa.Connection, ask: Callable[[Any], Any]) -> Any:
    held, dialect = connection.connection, connection.dialect
    cursor: Any = None
    try:
        cursor = held.cursor()  # a connection that is gone may say so here
        return ask(cursor)
    except dialect.loaded_dbapi.Error as error:
        if dialect.is_disconnect(error, held.driver_connection, cursor):
            connection.invalidate(error)
        kind = RacedError if isinstance(error, dialect.loaded_dbapi.IntegrityError) else StoreError
        raise kind(message_of(error)) from error
    finally:
        if cursor is not None:
            cursor.close()
