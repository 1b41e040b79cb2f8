"""The pools that the collector lists, and how many reports wait for each."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

import sqlalchemy as sa

from dither_shared.sealed import Pool, Suite

from .schema import BATCHES, POOLS, SEALED

__all__ = ["Held", "KnownPool", "ListedPool", "list_pools", "read_held", "read_pools"]


class ListedPool(NamedTuple):
    """What the collector says of a pool: how its rows are sealed, and how many bytes one has then."""

    pool: Pool
    suite: Suite
    length: int


class KnownPool(NamedTuple):
    """A pool, in the spelling of a report, under the number that it has here."""

    number: int
    pool: str
    length: int


class Held(NamedTuple):
    """How a pool fares: reports that wait for their number, that are on their way, and those of former rounds."""

    pool: str
    suite: str
    length: int
    listed: bool
    waiting: int
    frozen: int
    forwarded: int
    unread: int
    dropped: int


def list_pools(connection: sa.Connection, listed: Collection[ListedPool]) -> None:
    """Take note that the collector lists these pools and no others."""
    known = {(pool, suite): number for number, pool, suite in _keys(connection)}
    last = max(known.values(), default=0)
    connection.execute(sa.update(POOLS).where(POOLS.c.listed).values(listed=False))
    told = {(str(one.pool), one.suite.name): one.length for one in listed}
    kept = [{"this": known[key], "now": length} for key, length in told.items() if key in known]
    if kept:
        same = sa.update(POOLS).where(POOLS.c.number == sa.bindparam("this"))
        connection.execute(same.values(length=sa.bindparam("now"), listed=True), kept)
    counts = {"listed": True, "forwarded": 0, "unread": 0, "dropped": 0}
    fresh = [(key, length) for key, length in told.items() if key not in known]
    new = [
        {"number": last + place, "pool": pool, "suite": suite, "length": length} | counts
        for place, ((pool, suite), length) in enumerate(fresh, 1)
    ]
    if new:
        connection.execute(sa.insert(POOLS), new)


def _keys(connection: sa.Connection) -> Iterator[tuple[int, str, str]]:
    for row in connection.execute(sa.select(POOLS.c.number, POOLS.c.pool, POOLS.c.suite)):
        yield row.number, row.pool, row.suite


def read_pools(connection: sa.Connection) -> list[KnownPool]:
    """Return the pools that are listed."""
    columns = sa.select(POOLS.c.number, POOLS.c.pool, POOLS.c.length).where(POOLS.c.listed)
    return [KnownPool(*row) for row in connection.execute(columns)]


def read_held(connection: sa.Connection) -> list[Held]:
    """Return how each pool fares, by name. What takes time is to count what waits: about 0.3 s for a million."""
    counts = sa.select(SEALED.c.batch, sa.func.count().label("reports")).group_by(SEALED.c.batch).subquery()
    waiting = sa.select(BATCHES.c.pool, BATCHES.c.frozen.is_not(None).label("gone"), counts.c.reports)
    reports: dict[tuple[int, bool], int] = {}
    for pool, gone, some in connection.execute(waiting.join(counts, counts.c.batch == BATCHES.c.number)):
        reports[pool, bool(gone)] = reports.get((pool, bool(gone)), 0) + some
    return [
        Held(
            row.pool,
            row.suite,
            row.length,
            row.listed,
            reports.get((row.number, False), 0),
            reports.get((row.number, True), 0),
            row.forwarded,
            row.unread,
            row.dropped,
        )
        for row in connection.execute(sa.select(POOLS).order_by(POOLS.c.pool, POOLS.c.suite))
    ]
