"""Counts of sealed reports, which relays forward, per metric version, day and stratum."""

from datetime import date
from typing import NamedTuple

import sqlalchemy as sa

from dither_shared import Metric

from .schema import SEALED
from .tallies import chosen


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
        """Return both together."""
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
