"""Keep each day's estimates in the database, for programs that read SQL."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date
from typing import Any, NamedTuple

import sqlalchemy as sa

from ..errors import RacedError
from .schema import DAILY, ESTIMATED_DAYS, Repository


class Basis(NamedTuple):
    """The basis of a day's estimates: the number of reports, and a digest of the labels looked for.

    Reports are only ever added to a day, so equal numbers are equal reports.
    """

    reports: int
    labels: bytes


class Estimates(Repository):
    """The estimates of each day."""

    def bases(self, version: str) -> dict[date, Basis]:
        """Return the basis of each day's estimates of a version."""
        days = ESTIMATED_DAYS
        query = sa.select(days.c.day, days.c.reports, days.c.labels).where(days.c.version == version)
        with self._transaction() as connection:
            return {row.day: Basis(row.reports, row.labels) for row in connection.execute(query)}

    def write(self, version: str, day: date, basis: Basis, kept_in: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Replace the estimates of a day, in the table of that name in ``DAILY``; columns it lacks are left out.

        If another process writes the same day at the same time, the estimates of one of the two are kept.
        """
        target, key = DAILY[kept_in], {"version": version, "day": day}
        kept = [name for name in target.columns.keys() if name not in {*key, "place"}]  # noqa: SIM118  # columns
        placed = [{**key, "place": place, **{name: row[name] for name in kept}} for place, row in enumerate(rows)]
        with suppress(RacedError), self._transaction(write=True) as connection:
            for table in (*DAILY.values(), ESTIMATED_DAYS):
                connection.execute(sa.delete(table).where(table.c.version == version, table.c.day == day))
            connection.execute(sa.insert(ESTIMATED_DAYS), {**key, **basis._asdict()})
            connection.execute(sa.insert(target), placed)
