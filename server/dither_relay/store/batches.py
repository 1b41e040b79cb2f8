"""The life of a batch: freeze it, read its bodies, forget what the collector has taken."""

from collections.abc import Callable
from datetime import date
from typing import NamedTuple

import sqlalchemy as sa

from dither_shared.sealed import SUITES, Pool, Suite

from .schema import BATCHES, FORWARDED, POOLS, SEALED


class SealedPool(NamedTuple):
    """A pool whose name is known: how its rows are sealed, and the bytes of a sealed row."""

    pool: Pool
    suite: Suite
    length: int


Cut = Callable[[SealedPool, int], int | None]
"""Returns the reports per body of a batch, given its pool and its reports; None leaves the batch open."""


_AT_ONCE = 4_096
"""Reports of an open batch that are dropped in one transaction, and digests that are forgotten in one."""


class Frozen(NamedTuple):
    """A batch that does not change any more: ``total`` reports, to be posted in bodies of ``share``."""

    number: int
    pool: Pool
    suite: Suite
    total: int
    share: int


class Sealed(NamedTuple):
    """A sealed report under its digest."""

    digest: bytes
    sealed: bytes


def freeze(connection: sa.Connection, day: date, cut: Cut) -> None:
    """Freeze the open batches that ``cut`` cuts. What comes from now on goes into another batch."""
    opened = (
        sa.select(BATCHES.c.number, POOLS.c.pool, POOLS.c.suite, BATCHES.c.length)
        .join(POOLS, POOLS.c.number == BATCHES.c.pool)
        .where(BATCHES.c.frozen.is_(None))
        .with_for_update(of=BATCHES)
    )
    for number, pool, suite, length in connection.execute(opened).all():
        total = connection.scalar(sa.select(sa.func.count()).where(SEALED.c.batch == number)) or 0
        share = cut(SealedPool(Pool.parse(pool), SUITES[suite], length), total)
        if total and share is not None:
            fixed = {"frozen": day, "total": total, "share": share}
            connection.execute(sa.update(BATCHES).where(BATCHES.c.number == number).values(fixed))


def read_frozen(connection: sa.Connection) -> list[Frozen]:
    """Return the batches that are on their way."""
    columns = sa.select(BATCHES.c.number, POOLS.c.pool, POOLS.c.suite, BATCHES.c.total, BATCHES.c.share)
    frozen = columns.join(POOLS, POOLS.c.number == BATCHES.c.pool).where(BATCHES.c.frozen.is_not(None))
    return [
        Frozen(number, Pool.parse(pool), SUITES[suite], total, share)
        for number, pool, suite, total, share in connection.execute(frozen.order_by(POOLS.c.pool, BATCHES.c.number))
    ]


def read_rows(connection: sa.Connection, batch: Frozen, after: bytes) -> list[Sealed]:
    """Return the reports of the first body behind a digest. Bodies leave whole, so a retry finds the same ones."""
    rows = sa.select(SEALED.c.digest, SEALED.c.sealed).where(SEALED.c.batch == batch.number, SEALED.c.digest > after)
    return [Sealed(*row) for row in connection.execute(rows.order_by(SEALED.c.digest).limit(batch.share))]


def leave(connection: sa.Connection, batch: Frozen, first: bytes, last: bytes, day: date, unread: int) -> None:
    """Keep only the digests of the body from one digest to another, which the collector has taken."""
    body = sa.and_(SEALED.c.batch == batch.number, SEALED.c.digest.between(first, last))
    digests = sa.select(SEALED.c.digest, sa.bindparam("day", day, sa.Date)).where(body).order_by(SEALED.c.digest)
    connection.execute(sa.insert(FORWARDED).from_select(["digest", "day"], digests))
    gone = connection.execute(sa.delete(SEALED).where(body)).rowcount
    counts = {"forwarded": POOLS.c.forwarded + gone, "unread": POOLS.c.unread + unread}
    connection.execute(sa.update(POOLS).where(POOLS.c.number == _pool_of(batch.number)).values(counts))
    left = sa.exists().where(SEALED.c.batch == batch.number)
    connection.execute(sa.delete(BATCHES).where(BATCHES.c.number == batch.number, ~left))


def drop(connection: sa.Connection, number: int, before: date) -> int:
    """Drop the first body of a batch that was frozen before a day, or some of an open batch's older reports.

    Return how many reports were dropped: none if nothing is as old.
    """
    batch = sa.select(BATCHES.c.frozen, BATCHES.c.share).where(BATCHES.c.number == number).with_for_update()
    found = connection.execute(batch).one_or_none()
    if found is None or (found.frozen is not None and found.frozen >= before):
        return 0
    frozen, share = found
    old = [SEALED.c.batch == number, *([SEALED.c.day < before] if frozen is None else [])]
    first = sa.select(SEALED.c.digest).where(*old).order_by(SEALED.c.digest).limit(share or _AT_ONCE).subquery()
    last = sa.select(sa.func.max(first.c.digest)).scalar_subquery()
    gone = connection.execute(sa.delete(SEALED).where(*old, SEALED.c.digest <= last)).rowcount
    counts = {"dropped": POOLS.c.dropped + gone}
    connection.execute(sa.update(POOLS).where(POOLS.c.number == _pool_of(number)).values(counts))
    if frozen is not None:
        left = sa.exists().where(SEALED.c.batch == number)
        connection.execute(sa.delete(BATCHES).where(BATCHES.c.number == number, ~left))
    return gone


def old_digests(connection: sa.Connection, before: date, after: bytes) -> list[bytes]:
    """Return in order the next digests, beyond a given one, of reports forwarded before a day; [] at the end."""
    old = sa.select(FORWARDED.c.digest).where(FORWARDED.c.day < before, FORWARDED.c.digest > after)
    return list(connection.scalars(old.order_by(FORWARDED.c.digest).limit(_AT_ONCE)))


def forget(connection: sa.Connection, before: date, after: bytes, last: bytes) -> None:
    """Forget the digests beyond one, up to another, of what left before a day."""
    part = (FORWARDED.c.digest > after, FORWARDED.c.digest <= last)
    connection.execute(sa.delete(FORWARDED).where(FORWARDED.c.day < before, *part))


def _pool_of(number: int) -> sa.ScalarSelect[int]:
    return sa.select(BATCHES.c.pool).where(BATCHES.c.number == number).scalar_subquery()
