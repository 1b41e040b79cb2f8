"""Read what was counted of a metric version: on some days, of all strata together or of some."""

from collections.abc import Collection
from datetime import date
from typing import Any

import numpy as np
import sqlalchemy as sa

from dither_shared import Metric

from ...tally.blocks import add_blocks, blocks_of_reports, from_blocks, from_bytes, no_blocks
from ...tally.tally import Tally
from .schema import METRICS, TALLIES

__all__ = ["Places", "chosen", "read_active_days", "read_days", "read_days_by_version", "read_reports", "read_tally"]

Places = Collection[int] | None
"""The places of strata among those of a metric; None is all of them."""

_AT_ONCE = 4096
"""Blocks that are added up together, 4 MB of them."""


def read_tally(
    connection: sa.Connection, metric: Metric, since: date | None, until: date | None, places: Places
) -> Tally:
    """Return the tally of the days from ``since`` to ``until``, both included."""
    query = sa.select(TALLIES.c.block, TALLIES.c.counts).where(*chosen(TALLIES, metric, since, until, places))
    blocks = no_blocks(metric.mechanism)
    for rows in connection.execute(query).partitions(_AT_ONCE):
        numbers, stored = zip(*rows, strict=True)
        add_blocks(blocks, np.array(numbers), from_bytes(stored))
    return from_blocks(metric.mechanism, blocks)


def read_days(connection: sa.Connection, metric: Metric, places: Places) -> tuple[date, date] | None:
    """Return the first and the last day with reports, or None if there are none."""
    query = sa.select(sa.func.min(TALLIES.c.day), sa.func.max(TALLIES.c.day)).where(
        *chosen(TALLIES, metric, places=places)
    )
    first, last = connection.execute(query).one()
    return None if first is None else (first, last)


def read_days_by_version(connection: sa.Connection) -> dict[str, tuple[date, date]]:
    """Return the first and the last day with reports of every version that has any."""
    ours = TALLIES.c.version == METRICS.c.version
    ends = [sa.select(end(TALLIES.c.day)).where(ours).scalar_subquery() for end in (sa.func.min, sa.func.max)]
    rows = connection.execute(sa.select(METRICS.c.version, *ends))
    return {version: (first, last) for version, first, last in rows if first is not None}


def read_active_days(connection: sa.Connection, metric: Metric, places: Places) -> list[date]:
    """Return every day with reports, ascending."""
    query = sa.select(TALLIES.c.day).where(*chosen(TALLIES, metric, places=places)).distinct().order_by(TALLIES.c.day)
    return list(connection.scalars(query))


def read_reports(
    connection: sa.Connection,
    by: sa.Column[Any],
    metric: Metric,
    since: date | None = None,
    until: date | None = None,
    places: Places = None,
) -> dict[Any, int]:
    """Return the number of reports by the values of a column, ascending."""
    query = sa.select(by, TALLIES.c.counts).where(
        *chosen(TALLIES, metric, since, until, places), TALLIES.c.block < blocks_of_reports(metric.mechanism)
    )
    reports: dict[Any, int] = {}
    for value, counts in connection.execute(query.order_by(by)):
        reports[value] = reports.get(value, 0) + int(from_bytes([counts]).sum())
    return reports


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
