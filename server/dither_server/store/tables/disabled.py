"""The metric versions that an operator has disabled, whose reports are no longer counted."""

from collections.abc import Iterable
from datetime import date

import sqlalchemy as sa

from .schema import DISABLED, METRICS

_AMONG = sa.select(DISABLED.c.version).where(DISABLED.c.version.in_(sa.bindparam("versions", expanding=True)))


def disabled_among(connection: sa.Connection, versions: Iterable[str]) -> set[str]:
    """Return which of these versions are disabled."""
    listed = list(versions)
    return set(connection.scalars(_AMONG, {"versions": listed})) if listed else set()


def read_disabled(connection: sa.Connection) -> dict[str, date]:
    """Return every disabled version with the day since when."""
    rows = connection.execute(sa.select(DISABLED.c.version, DISABLED.c.day))
    return {row.version: row.day for row in rows}


def disable(connection: sa.Connection, name: str, version: str | None, day: date) -> list[str]:
    """Disable a registered version, or all of a metric; return those that were not disabled before."""
    fresh = [one for one in _registered(connection, name, version) if one not in read_disabled(connection)]
    if fresh:
        connection.execute(sa.insert(DISABLED), [{"version": one, "day": day} for one in fresh])
    return fresh


def enable(connection: sa.Connection, name: str, version: str | None) -> list[str]:
    """Enable what ``disable`` disabled; return those versions that were."""
    found = sorted(disabled_among(connection, _registered(connection, name, version)))
    connection.execute(sa.delete(DISABLED).where(DISABLED.c.version.in_(found)))
    return found


def _registered(connection: sa.Connection, name: str, version: str | None) -> list[str]:
    query = sa.select(METRICS.c.version).where(METRICS.c.name == name).order_by(METRICS.c.version)
    return list(connection.scalars(query if version is None else query.where(METRICS.c.version == version)))
