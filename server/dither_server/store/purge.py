"""Remove what was collected: whole days of a version, with all that was made of them.

Definitions stay, for devices still speak of them, and so do batch ids: what is removed cannot count again.
"""

from collections import Counter
from datetime import date

import sqlalchemy as sa

from .tables.schema import DAILY, ESTIMATED_DAYS, IDENTITY, METRICS, REFUSALS, SEALED, TALLIES

__all__ = ["purge_day", "purge_refusals", "refusal_rows", "reported_before", "rows_by_day"]

_PARTS = (*DAILY.values(), ESTIMATED_DAYS, SEALED, TALLIES)
"""The tables with a day's rows; those that refer to others come first."""


def rows_by_day(connection: sa.Connection, version: str, before: date | None) -> dict[date, int]:
    """Return each day of a version that has anything, before a day or ever, with its rows; ascending."""
    rows: Counter[date] = Counter()
    for table in _PARTS:
        query = sa.select(table.c.day, sa.func.count()).where(table.c.version == version).group_by(table.c.day)
        found = connection.execute(query if before is None else query.where(table.c.day < before))
        rows.update({day: count for day, count in found})  # noqa: C416  # it has keys, so dict() mistakes it
    return dict(sorted(rows.items()))


def purge_day(connection: sa.Connection, version: str, day: date) -> int:
    """Remove a day of a version; return how many rows that were."""
    connection.execute(sa.update(IDENTITY).values(purges=IDENTITY.c.purges + 1))
    same = [sa.delete(table).where(table.c.version == version, table.c.day == day) for table in _PARTS]
    return sum(connection.execute(statement).rowcount for statement in same)


def refusal_rows(connection: sa.Connection, metric: str, before: date | None) -> int:
    """Return how many counts of refused batches a metric has."""
    return connection.scalar(sa.select(sa.func.count()).where(*_refused(metric, before))) or 0


def purge_refusals(connection: sa.Connection, metric: str, before: date | None) -> int:
    """Remove them; return how many that were."""
    return connection.execute(sa.delete(REFUSALS).where(*_refused(metric, before))).rowcount


def reported_before(connection: sa.Connection, today: date) -> date | None:
    """Return the last day with reports of anything before today, or None if there is none."""
    ours = (TALLIES.c.version == METRICS.c.version, TALLIES.c.day < today)
    last = sa.select(sa.func.max(TALLIES.c.day)).where(*ours).scalar_subquery()
    days = [day for day in connection.scalars(sa.select(last).select_from(METRICS)) if day is not None]
    return max(days, default=None)


def _refused(metric: str, before: date | None) -> list[sa.ColumnElement[bool]]:
    conditions = [REFUSALS.c.metric == metric]
    return conditions if before is None else [*conditions, REFUSALS.c.day < before]
