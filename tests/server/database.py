"""Read a collector's database without its store, and make it fail."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy

from dither_server.store.engine import database_url, open_engine

on_both = pytest.mark.parametrize("url", ["sqlite", "postgresql"], indirect=True)
"""Mark tests of locks and of statements that differ between the two engines; ``url`` is that of a fresh database."""


def url_of(folder: Path) -> str:
    """The URL of the database in a folder."""
    return f"sqlite:///{folder}/dither.db"


@contextmanager
def connected(url: str) -> Iterator[sqlalchemy.Connection]:
    """A transaction on a connection of its own, made as the store makes them."""
    engine = open_engine(url, False, 5.0)
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


def execute(url: str, statement: str) -> list[tuple[Any, ...]]:
    """Execute a statement and return the rows that it selects."""
    with connected(url) as connection:
        result = connection.exec_driver_sql(statement)
        return [tuple(row) for row in result] if result.returns_rows else []


@contextmanager
def listening(event: str, listener: Callable[..., object]) -> Iterator[None]:
    """Within the block call ``listener`` at an event of any SQLAlchemy engine."""
    sqlalchemy.event.listen(sqlalchemy.Engine, event, listener)
    try:
        yield
    finally:
        sqlalchemy.event.remove(sqlalchemy.Engine, event, listener)


@contextmanager
def full_disk(url: str) -> Iterator[None]:
    """Within the block no connection of this process can make a SQLite database grow."""
    path = str(database_url(url).database)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("VACUUM")  # and the file has no free pages
    limited: list[Any] = []

    def limit(connection: sqlalchemy.Connection) -> None:
        if connection.engine.url.database == path:
            connection.exec_driver_sql("PRAGMA max_page_count=1")  # SQLite takes the present size instead
            limited.append(connection.connection.driver_connection)

    with listening("begin", limit):
        yield
    for connection in limited:
        with suppress(sqlite3.ProgrammingError):  # closed since
            connection.execute("PRAGMA max_page_count=1000000").close()
