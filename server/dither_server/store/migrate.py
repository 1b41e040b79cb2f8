"""Bring a database to the schema of this program."""

import sqlalchemy as sa

from dither_shared import ParameterError

from .schema import HEAD, TALLIES

__all__ = ["migrate", "require_current"]

_ONE_AT_A_TIME = 0x646974686572
"""The number of PostgreSQL's advisory lock under which its schema is made: "dither"."""


def migrate(connection: sa.Connection) -> None:
    """Create or upgrade the tables, in the connection's transaction."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_ONE_AT_A_TIME)))
    if _revision(connection) == HEAD:
        return
    from alembic import command  # noqa: PLC0415  # it costs 0.2 s, once in the life of a schema
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", "dither_server.store:migrations")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def require_current(connection: sa.Connection) -> None:
    """Raise ParameterError unless the tables are there, as this program knows them."""
    if not sa.inspect(connection).has_table(TALLIES.name):
        raise ParameterError("db", "holds no dither tables; a collector has not run on it yet")
    found = _revision(connection)
    if found != HEAD:
        raise ParameterError("db", f"has schema {found}, this program {HEAD}; start the collector once to upgrade it")


def _revision(connection: sa.Connection) -> str | None:
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    revision: str | None = connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
    return revision
