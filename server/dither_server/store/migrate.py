"""Bring a database to the schema of this program."""

from collections.abc import Callable
from typing import NamedTuple

import sqlalchemy as sa

from dither_shared import ParameterError

from .errors import UnmadeError
from .tables.schema import METRICS, REVISION, SCHEMA

_ONE_AT_A_TIME = 0x646974686572
"""Key of the PostgreSQL advisory lock held while the schema is created or upgraded: "dither"."""


class DatabaseSchema(NamedTuple):
    """The tables of a program, and the steps that upgrade those of its earlier releases.

    A new database gets all ``tables``. ``revision`` is the one of them that records the schema of a database: "0001" at
    first, and one more for each of the ``upgrades``, which never change once they are released. ``table`` exists since
    the first release. ``pragmas`` are set on each SQLite connection that writes. ``apart`` is a table of the program
    that must not share a database with this one, because relay and collector must see only one half each.
    """

    maker: str
    tables: sa.MetaData
    revision: sa.Table
    table: sa.Table
    upgrades: tuple[Callable[[sa.Connection], object], ...] = ()
    pragmas: tuple[str, ...] = ()
    apart: str = ""

    @property
    def head(self) -> str:
        """The number of this program's schema."""
        return _numbered(len(self.upgrades))


COLLECTOR = DatabaseSchema("collector", SCHEMA, REVISION, METRICS, apart="relay_pools")


def migrate(connection: sa.Connection, schema: DatabaseSchema = COLLECTOR) -> None:
    """Create or upgrade the tables, in the connection's transaction.

    Raises ParameterError if this program cannot upgrade the tables that are there: if a newer program made them, if
    their schema is unknown, or if they belong to a program that must not share a database with this one.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_ONE_AT_A_TIME)))
    if sa.inspect(connection).has_table(schema.apart):
        raise ParameterError(
            "db", f"holds the table {schema.apart}; relay and collector must not share a database, so name another"
        )
    found = _revision(connection, schema)
    if found is None:
        schema.tables.create_all(connection, checkfirst=False)
        connection.execute(sa.insert(schema.revision).values(version_num=schema.head))
        return
    require_known(found, schema=schema)
    known = [_numbered(number) for number in range(len(schema.upgrades) + 1)]
    if found not in known:
        raise ParameterError("db", f"has the unknown schema {found}, which this program cannot upgrade")
    for upgrade in schema.upgrades[known.index(found) :]:
        upgrade(connection)
    if found != schema.head:
        connection.execute(sa.update(schema.revision).values(version_num=schema.head))


def require_current(connection: sa.Connection, schema: DatabaseSchema = COLLECTOR) -> None:
    """Raise ParameterError unless the tables are there, as this program knows them."""
    if not sa.inspect(connection).has_table(schema.table.name):
        raise UnmadeError(
            "db", f"{connection.engine.url.database} holds no dither tables; a {schema.maker} has not run on it yet"
        )
    found = _revision(connection, schema)
    require_known(found, schema=schema)
    if found != schema.head:
        raise UnmadeError(
            "db", f"has schema {found}, this program {schema.head}; a {schema.maker} upgrades it when it starts"
        )


def require_known(found: str | None, place: str = "db", schema: DatabaseSchema = COLLECTOR) -> None:
    """Raise ParameterError if a schema is newer than this program."""
    if found is not None and found > schema.head:  # they are numbered
        raise ParameterError(
            place, f"has schema {found} of a newer dither, this program {schema.head}; install the newer one"
        )


def _revision(connection: sa.Connection, schema: DatabaseSchema) -> str | None:
    """Return the schema of the tables, None if there are none. They are made in one transaction, so it is with them."""
    there = sa.inspect(connection)
    revision: str | None = None
    if there.has_table(schema.revision.name):
        revision = connection.scalar(sa.select(schema.revision.c.version_num))
    if revision is None and there.has_table(schema.table.name):
        raise ParameterError("db", "holds dither tables, but not their schema: it is damaged; restore the last backup")
    return revision


def _numbered(upgrades: int) -> str:
    return f"{upgrades + 1:04}"
