"""Bring a database to the schema of this program."""

from typing import NamedTuple

import sqlalchemy as sa

from dither_shared import ParameterError

from .errors import UnmadeError
from .tables.schema import HEAD, METRICS

__all__ = ["COLLECTOR", "Schema", "migrate", "require_current", "require_known"]

_ONE_AT_A_TIME = 0x646974686572
"""The number of PostgreSQL's advisory lock under which its schema is made: "dither"."""


class Schema(NamedTuple):
    """The tables of a program, and the way to them.

    ``head`` is the newest of its numbered migrations, which are in ``scripts``, a folder or ``package:folder``;
    ``revisions`` is the table that says which of them a database has. ``table`` is one that it has always had.
    ``pragmas`` are set on each of SQLite's connections that write. ``apart`` is a table of the program that must not
    share a database with this one: relay and collector are to see one half each.
    """

    maker: str
    head: str
    scripts: str
    revisions: str
    table: sa.Table
    pragmas: tuple[str, ...] = ()
    apart: str = ""


COLLECTOR = Schema("collector", HEAD, "dither_server.store:migrations", "alembic_version", METRICS, apart="relay_pools")


def migrate(connection: sa.Connection, schema: Schema = COLLECTOR) -> None:
    """Create or upgrade the tables, in the connection's transaction.

    Raises ParameterError if a newer program has made them, or one that must not share a database with this one.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_ONE_AT_A_TIME)))
    if sa.inspect(connection).has_table(schema.apart):
        raise ParameterError(
            "db", f"holds the table {schema.apart}; relay and collector must not share a database, so name another"
        )
    found = _revision(connection, schema)
    if found == schema.head:
        return
    require_known(found, schema=schema)
    from alembic import command  # noqa: PLC0415  # it costs 0.2 s, once in the life of a schema
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", schema.scripts)
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def require_current(connection: sa.Connection, schema: Schema = COLLECTOR) -> None:
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


def require_known(found: str | None, place: str = "db", schema: Schema = COLLECTOR) -> None:
    """Raise ParameterError if a schema is newer than this program."""
    if found is not None and found > schema.head:  # they are numbered
        raise ParameterError(
            place, f"has schema {found} of a newer dither, this program {schema.head}; install the newer one"
        )


def _revision(connection: sa.Connection, schema: Schema) -> str | None:
    if not sa.inspect(connection).has_table(schema.revisions):
        return None
    revision: str | None = connection.scalar(
        sa.select(sa.column("version_num")).select_from(sa.table(schema.revisions))
    )
    return revision
