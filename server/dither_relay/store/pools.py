"""The series of pools that the collector lists, and how many reports wait for each.

The collector lists digests. The name of a series is written in the place of its digest when the first report comes.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

import sqlalchemy as sa

from dither_shared.seal_key import Suite
from dither_shared.sealed import ONCE, Pool

from .schema import BATCHES, POOLS, SEALED


class ListedPool(NamedTuple):
    """A series as the collector lists it: its digest, the suite that seals its rows, and their length."""

    digest: str
    suite: Suite
    length: int


class KnownPool(NamedTuple):
    """A listed series, with its number in this database."""

    number: int
    digest: str
    length: int


class Held(NamedTuple):
    """The counts of a series: reports waiting, in frozen batches, and forwarded in earlier rounds.

    ``pool`` is its name, or its digest until a report has come.
    """

    pool: str
    suite: str
    length: int
    listed: bool
    waiting: int
    frozen: int
    forwarded: int
    unread: int
    dropped: int

    @property
    def is_named(self) -> bool:
        """Whether the name of the pool is known: a report of it has come."""
        return _SLASH in self.pool


def list_pools(connection: sa.Connection, listed: Collection[ListedPool]) -> None:
    """Store that the collector lists these series and no others.

    One that was missing the last time, too, is forgotten, unless a report ever waited for it: otherwise a collector
    that lists other pools each time would fill disk and memory.
    """
    known = {_Key(_digest(row.pool), row.suite): row for row in connection.execute(sa.select(POOLS))}
    last = max((row.number for row in known.values()), default=0)
    lengths = {_Key(one.digest, one.suite.name): one.length for one in listed}
    kept = [{"this": known[key].number, "now": length} for key, length in lengths.items() if key in known]
    this = sa.update(POOLS).where(POOLS.c.number == sa.bindparam("this"))
    if kept:
        connection.execute(this.values(length=sa.bindparam("now"), listed=True), kept)
    unused = [~POOLS.c.listed, *(POOLS.c[name] == 0 for name in _COUNTS)]
    waited = sa.exists().where(BATCHES.c.pool == POOLS.c.number)
    # The last one stays, so that no number is reused: a report being added has the number of its pool.
    connection.execute(sa.delete(POOLS).where(*unused, ~waited, POOLS.c.number < last))
    gone = [{"this": row.number} for key, row in known.items() if row.listed and key not in lengths]
    if gone:
        connection.execute(this.values(listed=False), gone)
    fresh = [(key, length) for key, length in lengths.items() if key not in known]
    new = [
        {"number": last + place, "pool": key.digest, "suite": key.suite, "length": length, "listed": True, **_NONE}
        for place, (key, length) in enumerate(fresh, 1)
    ]
    if new:
        connection.execute(sa.insert(POOLS), new)


class _Key(NamedTuple):
    """The identity of a pool: rows with equal keys are of the same pool."""

    digest: str
    suite: str


_COUNTS = ("forwarded", "unread", "dropped")
_NONE = dict.fromkeys(_COUNTS, 0)

_SLASH = "/"
"""Separates metric and version in a pool's name, and occurs in no digest."""


def _digest(pool: str) -> str:
    return Pool.of(pool, ONCE).digest if _SLASH in pool else pool


def name_pools(connection: sa.Connection, names: Mapping[str, str]) -> None:
    """Replace these digests by names, unless that was done already."""
    named = sa.update(POOLS).where(POOLS.c.pool == sa.bindparam("this")).values(pool=sa.bindparam("name"))
    connection.execute(named, [{"this": digest, "name": name} for digest, name in names.items()])


def read_pools(connection: sa.Connection) -> list[KnownPool]:
    """Return the pools that are listed."""
    columns = sa.select(POOLS.c.number, POOLS.c.pool, POOLS.c.length).where(POOLS.c.listed)
    return [KnownPool(number, _digest(pool), length) for number, pool, length in connection.execute(columns)]


def read_held(connection: sa.Connection) -> list[Held]:
    """Return the counts of each pool, by name. Counting a million waiting reports takes about 0.3 s."""
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
