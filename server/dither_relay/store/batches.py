"""Batches of sealed reports, and the transaction that adds each report once."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import date
from hashlib import blake2b
from typing import NamedTuple

import sqlalchemy as sa

from dither_shared.seal_key import Suite
from dither_shared.sealed import Pool

from .pools import name_pools
from .schema import BATCHES, FORWARDED, SEALED

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


class SealedPool(NamedTuple):
    """A pool that has reports: how its rows are sealed, and the length of a sealed row."""

    pool: Pool
    suite: Suite
    length: int


Cut = Callable[[SealedPool, int], int | None]
"""Returns the reports per body of a batch, given its pool and its reports; None leaves the batch open."""


class Frozen(NamedTuple):
    """A batch that does not change any more: ``total`` reports, to be posted in bodies of ``share`` reports."""

    number: int
    pool: Pool
    suite: Suite
    total: int
    share: int


class SealedRow(NamedTuple):
    """A sealed report under its digest."""

    digest: bytes
    sealed: bytes


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


class _Alike(NamedTuple):
    """The attributes that all reports of a batch share: series, length and period.

    Rows of two lengths could be distinguished, and a device may have a report in each period.
    """

    pool: int
    length: int
    period: str


def hold(connection: sa.Connection, arrivals: Sequence[Arrival], day: date) -> None:
    """Add each of these to the open batch of its pool and length, unless it waits already or was forwarded."""
    fresh = {arrival.digest: arrival for arrival in arrivals}
    pools = {arrival.number for arrival in arrivals}
    live = connection.execute(_LIVE, {"pools": sorted(pools)}).all()
    known = set(connection.scalars(_LEFT, {"digests": list(fresh)}))
    if live:
        batches = sorted(number for number, *_ in live)
        known.update(connection.scalars(_HELD, {"batches": batches, "digests": list(fresh)}))
    new: dict[_Alike, list[bytes]] = defaultdict(list)
    for digest in sorted(fresh.keys() - known):
        one = fresh[digest]
        new[_Alike(one.number, len(one.rows), one.pool.period)].append(digest)
    opened = {_Alike(*alike): number for number, *alike, frozen in live if frozen is None}
    if missing := [alike for alike in new if alike not in opened]:
        of = {arrival.number: arrival.pool for arrival in arrivals}
        name_pools(connection, {of[one.pool].digest: of[one.pool].series for one in missing})
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
