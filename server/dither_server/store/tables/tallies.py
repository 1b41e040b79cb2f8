"""Read what was counted of a metric version, and close days that are over.

A day that is over is closed: the blocks of its shards are added up and stored as chunks in the shard ``CLOSED``, which
changes no sum. Reports that come for it later, by a fold, stand beside as blocks until it is closed again.
"""

import uuid
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
from .schema import METRICS, TALLIES

__all__ = [
    "CLOSED",
    "Places",
    "chosen",
    "close_day",
    "read_open_days",
    "read_reports",
    "read_stored_rows",
    "read_tally",
]

Places = Collection[int] | None
"""The places of strata among those of a metric; None is all of them."""

CLOSED = uuid.uuid5(uuid.NAMESPACE_URL, "dither:closed").bytes
"""The shard of closed days. No process has it: theirs are random UUIDs, of another version."""

_IS_CLOSED = TALLIES.c.shard == CLOSED

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
    """Return how many blocks and how many chunks are stored for these days: what it takes to read their tally."""
    query = sa.select(_IS_CLOSED, sa.func.count()).where(*chosen(TALLIES, metric, since, until)).group_by(_IS_CLOSED)
    rows = {bool(is_chunk): number for is_chunk, number in connection.execute(query)}
    return rows.get(False, 0), rows.get(True, 0)


def read_days_by_version(connection: sa.Connection) -> dict[str, tuple[date, date]]:
    """Return the first and the last day with reports of every version that has any."""
    ours = TALLIES.c.version == METRICS.c.version
    ends = [sa.select(end(TALLIES.c.day)).where(ours).scalar_subquery() for end in (sa.func.min, sa.func.max)]
    rows = connection.execute(sa.select(METRICS.c.version, *ends))
    return {version: (first, last) for version, first, last in rows if first is not None}


def read_open_days(connection: sa.Connection, version: str, before: date) -> list[date]:
    """Return the days of a version before a day that have blocks, ascending."""
    query = sa.select(TALLIES.c.day).where(TALLIES.c.version == version, TALLIES.c.day < before, ~_IS_CLOSED)
    return list(connection.scalars(query.distinct().order_by(TALLIES.c.day)))


def close_day(connection: sa.Connection, metric: Metric, day: date) -> None:
    """Store a day of a metric version as chunks. Nobody may count meanwhile."""
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
    """Return all blocks of a tally, added up over the rows of these conditions."""
    blocks = no_blocks(mechanism)
    query = sa.select(TALLIES.c.block, TALLIES.c.counts).where(*conditions)
    for rows in connection.execute(query.where(~_IS_CLOSED)).partitions(_AT_ONCE):
        numbers, stored = zip(*rows, strict=True)
        add_blocks(blocks, np.array(numbers), from_bytes(stored))
    for first, chunk in connection.execute(query.where(_IS_CLOSED)).yield_per(_CHUNKS_AT_ONCE):
        add_chunk(mechanism, blocks, first, chunk)
    return blocks
