"""Read the counts of a metric version; list its days, close completed ones, and remove whole days.

To close a day is to add up the blocks of its shards and store them as chunks in the shard ``CLOSED``, which changes no
sum. Reports that a fold counts for it later are stored as blocks beside them until the day is closed again. When a day
is removed, definitions stay, because devices still send reports of them, and so do batch ids: what was removed cannot
count again.
"""

import uuid
from collections import Counter
from collections.abc import Collection
from datetime import date

import numpy as np
import sqlalchemy as sa

from dither_shared import Mechanism, Metric

from ...tally.arrays import Counts
from ...tally.blocks import (
    add_blocks,
    add_chunk,
    blocks_of_reports,
    chunks_of,
    from_blocks,
    from_bytes,
    no_blocks,
    reports_in,
)
from ...tally.tally import Tally
from ..lock import exclusive_lock
from .schema import DAILY, ESTIMATED_DAYS, IDENTITY, METRICS, SEALED, TALLIES, Repository

Places = Collection[int] | None
"""The indices of strata among those of a metric; None means all of them."""

CLOSED = uuid.uuid5(uuid.NAMESPACE_URL, "dither:closed").bytes
"""The shard of closed days. No process uses it: theirs are random UUIDs, of another UUID version."""

_IS_CLOSED = TALLIES.c.shard == CLOSED

_PARTS = (*DAILY.values(), ESTIMATED_DAYS, SEALED, TALLIES)
"""The tables with rows of days; those that refer to others come first."""

_AT_ONCE, _CHUNKS_AT_ONCE = 4096, 16
"""Blocks that are added up together, 4 MB of them, and chunks that are fetched together."""


def read_tally(
    connection: sa.Connection, metric: Metric, since: date | None, until: date | None, places: Places
) -> Tally:
    """Return the tally of the days from ``since`` to ``until``, both included."""
    conditions = chosen(TALLIES, metric, since, until, places)
    return from_blocks(metric.mechanism, _added_up(connection, metric.mechanism, conditions))


def read_reports(
    connection: sa.Connection,
    metric: Metric,
    since: date | None = None,
    until: date | None = None,
    places: Places = None,
) -> dict[tuple[date, int], int]:
    """Return the reports of each day and stratum (by its place) with any, in this order."""
    columns = (TALLIES.c.day, TALLIES.c.stratum, TALLIES.c.block, _IS_CLOSED, TALLIES.c.counts)
    query = sa.select(*columns).where(
        *chosen(TALLIES, metric, since, until, places), TALLIES.c.block < blocks_of_reports(metric.mechanism)
    )
    reports: dict[tuple[date, int], int] = {}
    for day, stratum, block, is_chunk, counts in connection.execute(query.order_by(TALLIES.c.day, TALLIES.c.stratum)):
        number = reports_in(metric.mechanism, block, counts, is_chunk=is_chunk)
        reports[day, stratum] = reports.get((day, stratum), 0) + number
    return reports


def read_stored_rows(
    connection: sa.Connection, metric: Metric, since: date | None, until: date | None
) -> tuple[int, int]:
    """Return how many blocks and how many chunks are stored for these days: the cost of reading their tally."""
    query = sa.select(_IS_CLOSED, sa.func.count()).where(*chosen(TALLIES, metric, since, until)).group_by(_IS_CLOSED)
    rows = {bool(is_chunk): number for is_chunk, number in connection.execute(query)}
    return rows.get(False, 0), rows.get(True, 0)


class Days(Repository):
    """Days on which reports of metric versions were collected."""

    def by_version(self) -> dict[str, tuple[date, date]]:
        """Return the first and the last day with reports of every version that has any."""
        ours = TALLIES.c.version == METRICS.c.version
        ends = [sa.select(end(TALLIES.c.day)).where(ours).scalar_subquery() for end in (sa.func.min, sa.func.max)]
        with self._transaction() as connection:
            rows = connection.execute(sa.select(METRICS.c.version, *ends))
            return {version: (first, last) for version, first, last in rows if first is not None}

    def last_before(self, today: date) -> date | None:
        """Return the last day before today with reports of anything, or None if there is none."""
        ours = (TALLIES.c.version == METRICS.c.version, TALLIES.c.day < today)
        last = sa.select(sa.func.max(TALLIES.c.day)).where(*ours).scalar_subquery()
        with self._transaction() as connection:
            days = [day for day in connection.scalars(sa.select(last).select_from(METRICS)) if day is not None]
        return max(days, default=None)

    def open(self, version: str, before: date) -> list[date]:
        """Return the days of a version before a day that are not closed, ascending."""
        query = sa.select(TALLIES.c.day).where(TALLIES.c.version == version, TALLIES.c.day < before, ~_IS_CLOSED)
        with self._transaction() as connection:
            return list(connection.scalars(query.distinct().order_by(TALLIES.c.day)))

    def close(self, metric: Metric, day: date) -> None:
        """Store a day of a metric version so that it is quick to read; no number changes."""
        with self._transaction(write=True) as connection:
            exclusive_lock(connection)  # otherwise a commit under way would add to rows that are gone
            _close(connection, metric, day)

    def rows(self, version: str, before: date | None = None) -> dict[date, int]:
        """Return each day of a version that has anything, before a day or in all, with its rows; ascending."""
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
            exclusive_lock(connection)  # otherwise a commit under way would add to what was just read
            connection.execute(sa.update(IDENTITY).values(purges=IDENTITY.c.purges + 1))
            same = [sa.delete(table).where(table.c.version == version, table.c.day == day) for table in _PARTS]
            return sum(connection.execute(statement).rowcount for statement in same)


def _close(connection: sa.Connection, metric: Metric, day: date) -> None:
    of_day = [TALLIES.c.version == metric.version, TALLIES.c.day == day]
    for stratum in list(connection.scalars(sa.select(TALLIES.c.stratum).where(*of_day).distinct())):
        of_stratum = [*of_day, TALLIES.c.stratum == stratum]
        chunks = chunks_of(metric.mechanism, _added_up(connection, metric.mechanism, of_stratum))
        connection.execute(sa.delete(TALLIES).where(*of_stratum))
        key = {"version": metric.version, "day": day, "stratum": stratum, "shard": CLOSED}
        connection.execute(sa.insert(TALLIES), [{**key, "block": first, "counts": counts} for first, counts in chunks])


def chosen(
    table: sa.Table, metric: Metric, since: date | None = None, until: date | None = None, places: Places = None
) -> list[sa.ColumnElement[bool]]:
    """Return the conditions on rows of a metric version, a span of days, and strata."""
    conditions = [table.c.version == metric.version]
    if since is not None:
        conditions.append(table.c.day >= since)
    if until is not None:
        conditions.append(table.c.day <= until)
    if places is not None:
        conditions.append(table.c.stratum.in_(places))
    return conditions


def _added_up(connection: sa.Connection, mechanism: Mechanism, conditions: list[sa.ColumnElement[bool]]) -> Counts:
    """Return all blocks of a tally, added up over the rows that match these conditions."""
    blocks = no_blocks(mechanism)
    query = sa.select(TALLIES.c.block, TALLIES.c.counts).where(*conditions)
    for rows in connection.execute(query.where(~_IS_CLOSED)).partitions(_AT_ONCE):
        numbers, stored = zip(*rows, strict=True)
        add_blocks(blocks, np.array(numbers), from_bytes(stored))
    for first, chunk in connection.execute(query.where(_IS_CLOSED)).yield_per(_CHUNKS_AT_ONCE):
        add_chunk(mechanism, blocks, first, chunk)
    return blocks
