"""The series of pools that the collector lists, and the batches of sealed reports that wait in each.

The collector lists digests. The name of a series is written in the place of its digest when the first report comes.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date
from hashlib import blake2b
from typing import NamedTuple

import sqlalchemy as sa

from dither_shared.seal_key import Suite
from dither_shared.sealed import ONCE, Pool

from .schema import BATCHES, FORWARDED, POOLS, SEALED

_LIVE = (
    sa.select(BATCHES.c.number, BATCHES.c.pool, BATCHES.c.length, BATCHES.c.period, BATCHES.c.frozen)
    .where(BATCHES.c.pool.in_(sa.bindparam("pools", expanding=True)))
    .with_for_update()  # a freeze waits for us, or we for it; SQLite has one writer at a time anyway
)
_HELD = sa.select(SEALED.c.digest).where(
    SEALED.c.batch.in_(sa.bindparam("batches", expanding=True)),
    SEALED.c.digest.in_(sa.bindparam("digests", expanding=True)),
)
_LEFT = sa.select(FORWARDED.c.digest).where(FORWARDED.c.digest.in_(sa.bindparam("digests", expanding=True)))
_ADD = sa.insert(SEALED)


class ListedPool(NamedTuple):
    """A series as the collector lists it: its digest, the suite that seals its rows, and their length."""

    digest: str
    suite: Suite
    length: int


class PoolBatch(NamedTuple):
    """A batch of reports of one pool: how its rows are sealed, their length, and their number.

    While it is open, ``share`` is 0. A frozen batch does not change any more, and is posted in bodies of ``share``
    reports.
    """

    number: int
    pool: Pool
    suite: Suite
    length: int
    total: int
    share: int


Cut = Callable[[PoolBatch], int | None]
"""Returns the reports per body of an open batch that is to be frozen; None leaves it open."""


class Arrival(NamedTuple):
    """A sealed report, as one row, with the number of its series, and its pool."""

    number: int
    pool: Pool
    rows: bytes

    @property
    def digest(self) -> bytes:
        """16 bytes that identify a retry. They include the pool: a row sealed for one opens in no other."""
        salt, key = self.number.to_bytes(4, "big"), self.pool.period.encode()
        return blake2b(self.rows, digest_size=16, salt=salt, key=key).digest()


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

    A series that was missing from the previous list, too, is deleted unless a report ever waited in it. Otherwise a
    collector that lists other pools each time would fill disk and memory.
    """
    known = {_Key(_digest(row.pool), row.suite): row for row in connection.execute(sa.select(POOLS))}
    last = max((row.number for row in known.values()), default=0)
    lengths = {_Key(pool.digest, pool.suite.name): pool.length for pool in listed}
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


def read_pools(connection: sa.Connection) -> dict[str, dict[int, int]]:
    """Return the primary key of each listed pool, by its digest and the length of its sealed rows."""
    numbers = defaultdict[str, dict[int, int]](dict)
    listed = sa.select(POOLS.c.number, POOLS.c.pool, POOLS.c.length).where(POOLS.c.listed)
    for number, pool, length in connection.execute(listed):
        numbers[_digest(pool)][length] = number
    return dict(numbers)


def read_held(connection: sa.Connection) -> list[Held]:
    """Return the counts of each pool, by name. Counting a million waiting reports takes about 0.3 s."""
    counts = sa.select(SEALED.c.batch, sa.func.count().label("reports")).group_by(SEALED.c.batch).subquery()
    waiting = sa.select(BATCHES.c.pool, BATCHES.c.frozen.is_not(None).label("gone"), counts.c.reports)
    reports: dict[tuple[int, bool], int] = {}
    for pool, gone, count in connection.execute(waiting.join(counts, counts.c.batch == BATCHES.c.number)):
        reports[pool, bool(gone)] = reports.get((pool, bool(gone)), 0) + count
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


class _Alike(NamedTuple):
    """The attributes that all reports of a batch share: series, length and period.

    Rows of two lengths could be distinguished, and a device may have a report in each period.
    """

    pool: int
    length: int
    period: str


def hold(connection: sa.Connection, arrivals: Sequence[Arrival], day: date) -> None:
    """Add each arrival to the open batch of its pool and length, unless it waits already or was forwarded."""
    fresh = {arrival.digest: arrival for arrival in arrivals}
    pools = {arrival.number for arrival in arrivals}
    live = connection.execute(_LIVE, {"pools": sorted(pools)}).all()
    batches = sorted(number for number, *_ in live)
    # In this order, because PostgreSQL shows each statement what was committed since: reports may leave in between.
    held = connection.scalars(_HELD, {"batches": batches, "digests": list(fresh)}).all() if live else ()
    known = {*held, *connection.scalars(_LEFT, {"digests": list(fresh)})}
    new: dict[_Alike, list[bytes]] = defaultdict(list)
    for digest in sorted(fresh.keys() - known):
        arrival = fresh[digest]
        new[_Alike(arrival.number, len(arrival.rows), arrival.pool.period)].append(digest)
    opened = {_Alike(*alike): number for number, *alike, frozen in live if frozen is None}
    if missing := [alike for alike in new if alike not in opened]:
        of = {arrival.number: arrival.pool for arrival in arrivals}
        name_pools(connection, {of[alike.pool].digest: of[alike.pool].series for alike in missing})
        opened |= _open(connection, missing)
    rows = [
        {"batch": opened[alike], "digest": digest, "day": day, "sealed": fresh[digest].rows}
        for alike, digests in new.items()
        for digest in digests
    ]
    if rows:
        connection.execute(_ADD, rows)


def _open(connection: sa.Connection, missing: Sequence[_Alike]) -> dict[_Alike, int]:
    """Open a batch for each pool and length; return their numbers."""
    last = connection.scalar(sa.select(sa.func.max(BATCHES.c.number))) or 0
    made = {alike: last + place for place, alike in enumerate(missing, 1)}
    connection.execute(sa.insert(BATCHES), [{"number": number, **alike._asdict()} for alike, number in made.items()])
    return made
