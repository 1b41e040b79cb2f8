"""The days of metric versions: which there are, closing those that are over, and removing whole ones.

Definitions stay, because devices still send reports of them, and so do batch ids: what was removed cannot count again.
"""

from collections import Counter
from datetime import date

import sqlalchemy as sa

from dither_shared import Metric

from ..lock import exclusive_lock
from .repository import Repository
from .schema import DAILY, ESTIMATED_DAYS, IDENTITY, METRICS, SEALED, TALLIES
from .tallies import close_day, read_days_by_version, read_open_days

_PARTS = (*DAILY.values(), ESTIMATED_DAYS, SEALED, TALLIES)
"""The tables with rows of days; those that refer to others come first."""


class Days(Repository):
    """Days on which reports of metric versions were collected."""

    def by_version(self) -> dict[str, tuple[date, date]]:
        """Return the first and the last day with reports of every version that has any."""
        with self._transaction() as connection:
            return read_days_by_version(connection)

    def last_before(self, today: date) -> date | None:
        """Return the last day before today with reports of anything, or None if there is none."""
        ours = (TALLIES.c.version == METRICS.c.version, TALLIES.c.day < today)
        last = sa.select(sa.func.max(TALLIES.c.day)).where(*ours).scalar_subquery()
        with self._transaction() as connection:
            days = [day for day in connection.scalars(sa.select(last).select_from(METRICS)) if day is not None]
        return max(days, default=None)

    def open(self, version: str, before: date) -> list[date]:
        """Return the days of a version before a day that are not closed, ascending."""
        with self._transaction() as connection:
            return read_open_days(connection, version, before)

    def close(self, metric: Metric, day: date) -> None:
        """Store a day of a metric version so that it is quick to read; no number changes."""
        with self._transaction(write=True) as connection:
            exclusive_lock(connection)  # or a commit under way would add to rows that are gone
            close_day(connection, metric, day)

    def rows(self, version: str, before: date | None = None) -> dict[date, int]:
        """Return each day of a version that has anything, before a day or ever, with its rows; ascending."""
        rows: Counter[date] = Counter()
        with self._transaction() as connection:
            for table in _PARTS:
                query = sa.select(table.c.day, sa.func.count()).where(table.c.version == version).group_by(table.c.day)
                found = connection.execute(query if before is None else query.where(table.c.day < before))
                rows.update(dict(found.all()))
        return dict(sorted(rows.items()))

    def purge(self, version: str, day: date) -> int:
        """Remove a day of a version, with the estimates that were made of it; return the number of rows."""
        with self._transaction(write=True) as connection:
            exclusive_lock(connection)  # or a commit under way would add to what it has just seen
            connection.execute(sa.update(IDENTITY).values(purges=IDENTITY.c.purges + 1))
            same = [sa.delete(table).where(table.c.version == version, table.c.day == day) for table in _PARTS]
            return sum(connection.execute(statement).rowcount for statement in same)
