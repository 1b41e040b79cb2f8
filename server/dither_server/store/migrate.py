"""Bring a database to the schema of this program."""

import sqlalchemy as sa

from dither_shared import ParameterError

from .errors import UnmadeError
from .tables.schema import HEAD, TALLIES

__all__ = ["migrate", "require_current", "require_known"]

_ONE_AT_A_TIME = 0x646974686572
"""The number of PostgreSQL's advisory lock under which its schema is made: "dither"."""


def migrate(connection: sa.Connection) -> None:
    """Create or upgrade the tables, in the connection's transaction.

    Raises ParameterError if a newer program has made them.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_ONE_AT_A_TIME)))
    found = _revision(connection)
    if found == HEAD:
        return
    require_known(found)
    from alembic import command  # noqa: PLC0415  # it costs 0.2 s, once in the life of a schema
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", "dither_server.store:migrations")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def require_current(connection: sa.Connection) -> None:
    """Raise ParameterError unless the tables are there, as this program knows them."""
    if not sa.inspect(connection).has_table(TALLIES.name):
        raise UnmadeError("db", "holds no dither tables; a collector has not run on it yet")
    found = _revision(connection)
    require_known(found)
    if found != HEAD:
        raise UnmadeError("db", f"has schema {found}, this program {HEAD}; a collector upgrades it when it starts")


def require_known(found: str | None, place: str = "db") -> None:
    """Raise ParameterError if a schema is newer than this program."""
    if found is not None and found > HEAD:  # they are numbered
        raise ParameterError(place, f"has schema {found} of a newer dither, this program {HEAD}; install the newer one")


def _revision(connection: sa.Connection) -> str | None:
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    revision: str | None = connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
    return revision
