"""Read the counts of a metric version, sealed and refused ones too; list, close and remove its days.

Each day's estimates are kept, too, for programs that read SQL.

To close a day is to add up the blocks of its shards and store them as chunks in the shard ``CLOSED``, which changes no
sum. Reports that a fold counts for it later are stored as blocks beside them until the day is closed again. When a day
is removed, definitions stay, because devices still send reports of them, and so do batch ids: what was removed cannot
count again.
"""

import uuid
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from dither_shared import Mechanism, Metric

from ..tally.arrays import Counts
from ..tally.blocks import (
    add_blocks,
    add_chunk,
    blocks_of_reports,
    chunks_of,
    from_blocks,
    from_bytes,
    no_blocks,
    reports_in,
)
from ..tally.tally import Tally
from .engine import RacedError
from .lock import exclusive_lock
from .schema import DAILY, ESTIMATED_DAYS, FOLD_RUNS, IDENTITY, METRICS, REFUSALS, SEALED, TALLIES, Repository

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


class Sealed(NamedTuple):
    """Sealed batches, each with those rows that were not counted before.

    ``reports`` of them are counted; ``refused`` are not: they did not open, no device could have sent them, or they
    were counted before. ``least_total`` is the least number of reports that a relay said it had shuffled together:
    each one hides among that many.
    """

    batches: int
    reports: int
    least_total: int
    refused: int

    def plus(self, other: "Sealed | None") -> "Sealed":
        """Return the sum of both counts."""
        if other is None:
            return self
        batches, reports, refused = (getattr(self, name) + getattr(other, name) for name in _ADDED)
        return Sealed(batches, reports, min(self.least_total, other.least_total), refused)


_ADDED = ("batches", "reports", "refused")
_COLUMNS = [SEALED.c[name] for name in Sealed._fields]


def add_sealed(connection: sa.Connection, version: str, day: date, stratum: int, shard: bytes, sealed: Sealed) -> None:
    """Add to the sums of a version, day and stratum in a shard, whose only writer is this process."""
    key = {"version": version, "day": day, "stratum": stratum, "shard": shard}
    same = [SEALED.c[name] == value for name, value in key.items()]
    before = connection.execute(sa.select(*_COLUMNS).where(*same)).one_or_none()
    if before is None:
        connection.execute(sa.insert(SEALED), key | sealed._asdict())
    else:
        connection.execute(sa.update(SEALED).where(*same).values(sealed.plus(Sealed(*before))._asdict()))


def read_sealed(
    connection: sa.Connection, metric: Metric, since: date | None, until: date | None
) -> dict[tuple[date, int], Sealed]:
    """Return what came sealed on each day from ``since`` to ``until`` and of each stratum, by its place."""
    key = (SEALED.c.day, SEALED.c.stratum)
    parts = (
        (sa.func.min if name == "least_total" else sa.func.sum)(SEALED.c[name]).label(name) for name in Sealed._fields
    )
    query = sa.select(*key, *parts).where(*chosen(SEALED, metric, since, until)).group_by(*key).order_by(*key)
    return {(day, place): Sealed(*map(int, sums)) for day, place, *sums in connection.execute(query)}


class Refusal(NamedTuple):
    """A refused batch as it is stored: its metric and version, the day, and the kind of the problem.

    The metric is "" if the batch named no metric of this collector. The version is "" if it is not known.
    """

    metric: str
    day: date
    kind: str
    version: str = ""


def add_refusals(connection: sa.Connection, refused: Mapping[Refusal, int], shard: bytes) -> None:
    """Add to the counts of a shard, which no other process writes."""
    for refusal, batches in refused.items():
        key = {**refusal._asdict(), "shard": shard}
        same = [REFUSALS.c[name] == value for name, value in key.items()]
        more = sa.update(REFUSALS).where(*same).values(batches=REFUSALS.c.batches + batches)
        if not connection.execute(more).rowcount:
            connection.execute(sa.insert(REFUSALS), {**key, "batches": batches})


def read_refused(
    connection: sa.Connection, metric: str | None, since: date | None, until: date | None
) -> dict[Refusal, int]:
    """Return how many batches were refused; see ``Refusals.read``."""
    key = [REFUSALS.c[name] for name in Refusal._fields]
    query = sa.select(*key, sa.func.sum(REFUSALS.c.batches)).group_by(*key).order_by(*key)
    if metric is not None:
        query = query.where(REFUSALS.c.metric == metric)
    if since is not None:
        query = query.where(REFUSALS.c.day >= since)
    if until is not None:
        query = query.where(REFUSALS.c.day <= until)
    return {Refusal(*row[:-1]): int(row[-1]) for row in connection.execute(query)}


class Refusals(Repository):
    """Counts of refused batches. Each attempt counts, so a batch that was asked to come again is counted each time."""

    def read(
        self, metric: str | None = None, since: date | None = None, until: date | None = None
    ) -> dict[Refusal, int]:
        """Return how many batches of a metric, or of all, were refused on these days, both included, in order."""
        with self._transaction() as connection:
            return read_refused(connection, metric, since, until)

    def rows(self, metric: str, before: date | None = None) -> int:
        """Return the number of rows of a metric, before a day or in all."""
        with self._transaction() as connection:
            return connection.execute(sa.select(sa.func.count()).where(*_of(metric, before))).scalar_one()

    def purge(self, metric: str, before: date | None = None) -> int:
        """Delete these rows; return their number."""
        with self._transaction(write=True) as connection:
            return connection.execute(sa.delete(REFUSALS).where(*_of(metric, before))).rowcount


def _of(metric: str, before: date | None) -> list[sa.ColumnElement[bool]]:
    conditions = [REFUSALS.c.metric == metric]
    return conditions if before is None else [*conditions, REFUSALS.c.day < before]


Basis = tuple[int, bytes]
"""The basis of a day's estimates: the number of reports, and a digest of the labels looked for.

Reports are only ever added to a day, so equal numbers are equal reports.
"""


class Estimates(Repository):
    """The estimates of each day."""

    def bases(self, version: str) -> dict[date, Basis]:
        """Return the basis of each day's estimates of a version."""
        days = ESTIMATED_DAYS
        query = sa.select(days.c.day, days.c.reports, days.c.labels).where(days.c.version == version)
        with self._transaction() as connection:
            return {row.day: (row.reports, row.labels) for row in connection.execute(query)}

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
            connection.execute(sa.insert(ESTIMATED_DAYS), {**key, "reports": basis[0], "labels": basis[1]})
            connection.execute(sa.insert(target), placed)


def read_folded_up_to(connection: sa.Connection) -> datetime | None:
    """Return when the last finished run began, None if none has finished. See ``Folds.up_to``."""
    begun: datetime | None = connection.scalar(sa.select(sa.func.max(FOLD_RUNS.c.begun)).where(FOLD_RUNS.c.finished))
    return None if begun is None else begun.replace(tzinfo=UTC)
