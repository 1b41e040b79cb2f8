"""Bring a database to the schema of this program."""

from typing import NamedTuple

import sqlalchemy as sa

from dither_shared import ParameterError

from .errors import UnmadeError
from .tables.schema import HEAD, METRICS

_ONE_AT_A_TIME = 0x646974686572
"""Key of the PostgreSQL advisory lock held while the schema is created or upgraded: "dither"."""


class Schema(NamedTuple):
    """The tables of a program, and the migrations that create them.

    ``head`` is the newest of its numbered migrations, which are in ``scripts``, a folder or ``package:folder``;
    ``revisions`` is the table that records which of them a database has. ``table`` exists since the first migration.
    ``pragmas`` are set on each SQLite connection that writes. ``apart`` is a table of the program that must not
    share a database with this one, because relay and collector must see only one half each.
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
    if found == schema.head:
        return
    require_known(found, schema=schema)
    from alembic import command  # noqa: PLC0415  # it costs 0.2 s, once in the life of a schema
    from alembic.config import Config  # noqa: PLC0415
    from alembic.util import CommandError  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", schema.scripts)
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError:
        raise ParameterError("db", f"has the unknown schema {found}, which this program cannot upgrade") from None


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
