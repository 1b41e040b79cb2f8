"""Keep each day's estimates in the database, for programs that read SQL."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

import sqlalchemy as sa

from .schema import DAILY, ESTIMATED_DAYS

__all__ = ["Basis", "read_bases", "write_estimates"]


class Basis(NamedTuple):
    """What a day's estimates were made from: so many reports, and a digest of the labels that were looked for.

    Reports are only ever added to a day, so equal numbers are equal reports.
    """

    reports: int
    labels: bytes


def read_bases(connection: sa.Connection, version: str) -> dict[date, Basis]:
    """Return the basis of each day's estimates."""
    days = ESTIMATED_DAYS
    query = sa.select(days.c.day, days.c.reports, days.c.labels).where(days.c.version == version)
    return {row.day: Basis(row.reports, row.labels) for row in connection.execute(query)}


def write_estimates(
    connection: sa.Connection, version: str, day: date, basis: Basis, kept_in: str, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Put the estimates of a day in the place of what was there: into the table of that name in ``DAILY``.

    Of each row that is kept for which the table has columns.
    """
    target = DAILY[kept_in]
    for table in (*DAILY.values(), ESTIMATED_DAYS):
        connection.execute(sa.delete(table).where(table.c.version == version, table.c.day == day))
    key = {"version": version, "day": day}
    connection.execute(sa.insert(ESTIMATED_DAYS), {**key, **basis._asdict()})
    kept = [name for name in target.columns.keys() if name not in {*key, "place"}]  # noqa: SIM118  # columns
    placed = [{**key, "place": place, **{name: row[name] for name in kept}} for place, row in enumerate(rows)]
    connection.execute(sa.insert(target), placed)
