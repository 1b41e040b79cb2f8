"""The store: the interface of the rest of the relay to its database."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date, timedelta

import sqlalchemy as sa

from dither_server.store.database import Database, bytes_of
from dither_server.store.engine import LOCK_WAIT, sqlite_path
from dither_server.store.lock import ProcessLock
from dither_serving.problems import StoreError
from dither_shared.seal_key import SUITES
from dither_shared.sealed import Pool

from .pools import (
    Arrival,
    Cut,
    Held,
    ListedPool,
    PoolBatch,
    hold,
    list_pools,
    read_held,
    read_pools,
)
from .schema import BATCHES, FORWARDED, POOLS, RELAY, SEALED, STATE

_KEYS = {"relay": 0x72656C6179, "round": 0x726F756E64}
"""The numbers of PostgreSQL's advisory locks: the names in ASCII."""

_HOUR, _DAY = "hour", "day"

_ONE_DAY = timedelta(days=1)

_AT_ONCE = 4_096
"""Maximum reports of an open batch that are dropped, and digests that are forgotten, in one transaction."""

_BATCHES = sa.select(
    BATCHES.c.number, POOLS.c.pool, BATCHES.c.period, POOLS.c.suite, BATCHES.c.length, BATCHES.c.total, BATCHES.c.share
).join(POOLS, POOLS.c.number == BATCHES.c.pool)
_OPEN = _BATCHES.where(BATCHES.c.frozen.is_(None))
_ON_THEIR_WAY = _BATCHES.where(BATCHES.c.frozen.is_not(None)).order_by(POOLS.c.pool, BATCHES.c.number)


class RelayStore(Database):
    """One relay's database. Safe to use from many threads.

    It has its own calendar, by which reports and digests grow old: a day for each forwarding hour that is used. So a
    clock that jumps makes nothing look old. ``day`` is the current day, None before the first hour.
    """

    room = 1 << 26
    """Bytes kept free for forwarding the largest body: measured to be at most 34 MB, and more while a reader keeps
    SQLite from emptying its log. Otherwise a full disk that holds only the reports would stay full for ever.
    """

    def __init__(self, url: str, *, create: bool = True, lock_wait: float = LOCK_WAIT, read_only: bool = False) -> None:
        """Open the database at ``url``; raise what ``Database`` raises."""
        super().__init__(url, create=create, lock_wait=lock_wait, read_only=read_only, schema=RELAY)
        try:
            self.day = _day_of(self.state())
        except StoreError:
            self.close()
            raise

    def commit(self, uploads: Sequence[Arrival], day: date, shard: bytes) -> list[None]:
        """Store each of these reports once, durably. Raises StoreError if none is stored.

        It stores none while less than ``room`` is free.
        """
        self.require_room()
        with self._transaction(write=True) as connection:
            hold(connection, uploads, day)
        return [None] * len(uploads)

    def require_room(self, spare: int = 0) -> None:
        """Raise StoreError as ``Database`` does, but count SQLite's log and free pages as free space.

        Both are overwritten. Free pages count for at most half of ``room``, because the log cannot use them.
        """
        path = sqlite_path(self._engine)
        log = 0 if path is None else bytes_of(path.with_name(f"{path.name}-wal"))
        try:
            super().require_room(spare + log)
        except StoreError:
            super().require_room(spare + log + min(self._free_pages(), self.room // 2))

    def _free_pages(self) -> int:
        with self._transaction() as connection:
            pages, size = (
                connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("freelist_count", "page_size")
            )
        return int(pages or 0) * int(size or 0)

    def list_pools(self, listed: Collection[ListedPool], limits: Mapping[str, int]) -> None:
        """Store the series of pools that the collector lists, and its limits."""
        with self._transaction(write=True) as connection:
            list_pools(connection, listed)
            for name, value in limits.items():
                _note(connection, name, str(value))

    def pools(self) -> dict[str, dict[int, int]]:
        """Return the number of each listed pool, by its digest and the length of its sealed rows."""
        with self._transaction() as connection:
            return read_pools(connection)

    def held(self) -> list[Held]:
        """Return the counts of each series of pools, also of those that are no longer listed."""
        with self._transaction() as connection:
            return read_held(connection)

    def freeze(self, day: date, cut: Cut, hour: date | None) -> None:
        """Freeze the open batches that ``cut`` accepts; in the same transaction mark the hour as used, if given."""
        with self._transaction(write=True) as connection:
            day = day if hour is None else _use(connection, hour)
            freeze_batches(connection, day, cut)
        if hour is not None:
            self.day = day

    def use_hour(self, hour: date) -> None:
        """Mark the hour of a day as used, and freeze nothing."""
        with self._transaction(write=True) as connection:
            day = _use(connection, hour)
        self.day = day

    def last_hour(self) -> date | None:
        """Return the day of the last hour that was used."""
        hour = self.state().get(_HOUR)
        return None if hour is None else date.fromisoformat(hour)

    def frozen(self) -> list[PoolBatch]:
        """Return the batches that are being forwarded."""
        with self._transaction() as connection:
            return [_batch(*row) for row in connection.execute(_ON_THEIR_WAY)]

    def body(self, batch: PoolBatch, after: bytes = b"") -> dict[bytes, bytes]:
        """Return the sealed reports of the next body of a batch after a digest, by ascending digest; none at the end.

        Bodies are always posted whole, so a retry finds the same ones.
        """
        behind = (SEALED.c.batch == batch.number, SEALED.c.digest > after)
        rows = sa.select(SEALED.c.digest, SEALED.c.sealed).where(*behind).order_by(SEALED.c.digest).limit(batch.share)
        with self._transaction() as connection:
            return {row.digest: row.sealed for row in connection.execute(rows)}

    def leave(self, batch: PoolBatch, digests: Collection[bytes], day: date, unread: int) -> None:
        """Keep only the digests of a body that the collector has accepted, except for ``unread`` reports."""
        taken = sa.and_(SEALED.c.batch == batch.number, SEALED.c.digest.between(min(digests), max(digests)))
        kept = sa.select(SEALED.c.digest, sa.bindparam("day", day, sa.Date)).where(taken).order_by(SEALED.c.digest)
        with self._transaction(write=True) as connection:
            connection.execute(sa.insert(FORWARDED).from_select(["digest", "day"], kept))
            gone = connection.execute(sa.delete(SEALED).where(taken)).rowcount
            _add_to_pool(connection, batch.number, forwarded=gone, unread=unread)
            delete_if_empty(connection, batch.number)

    def drop(self, before: date, is_over: Callable[[Pool], bool] = lambda _: True) -> int:
        """Drop reports from before a day that are in open batches, or in batches frozen before it; return their number.

        None is dropped until ``is_over`` holds for its pool. A clock that was ahead may have frozen a batch long before
        the collector can take it.

        Each transaction drops at most one body, because SQLite overwrites what it deletes: everything at once would not
        fit into the remaining space. Bodies are dropped whole, so that the others are the same when they are posted
        again.
        """
        dropped = 0
        for number, pool in self._all():
            gone = int(is_over(pool))
            while gone:
                with self._transaction(write=True) as connection:
                    gone = drop_part(connection, number, before)
                dropped += gone
        return dropped

    def forget_digests(self, before: date) -> None:
        """Forget digests of reports forwarded before a day, some thousands at a time, so that no commit waits long."""
        after: bytes | None = b""
        while after is not None:
            old = sa.and_(FORWARDED.c.day < before, FORWARDED.c.digest > after)
            oldest = sa.select(FORWARDED.c.digest).where(old).order_by(FORWARDED.c.digest).limit(_AT_ONCE)
            with self._transaction() as connection:
                digests = list(connection.scalars(oldest))
            if digests:
                with self._transaction(write=True) as connection:
                    connection.execute(sa.delete(FORWARDED).where(old, FORWARDED.c.digest <= digests[-1]))
            after = digests[-1] if digests else None

    def note(self, name: str, value: str) -> None:
        """Store a text under a name."""
        with self._transaction(write=True) as connection:
            _note(connection, name, value)

    def state(self) -> dict[str, str]:
        """Return the stored texts by name."""
        with self._transaction() as connection:
            return _state(connection)

    def _all(self) -> list[tuple[int, Pool]]:
        """Return the number of each batch, and its pool."""
        with self._transaction() as connection:
            return [(row.number, Pool.of(row.pool, row.period)) for row in connection.execute(_BATCHES)]

    @contextmanager
    def exclusive_lock(self, what: str, taken: str, wait: float = 0.0) -> Iterator[None]:
        """Hold one of the locks ``relay`` and ``round`` between processes; raise StoreError if another has it."""
        path = sqlite_path(self._engine)
        if path is not None:
            with ProcessLock(path.with_name(f"{path.name}.{what}"), taken=taken).held(wait):
                yield
            return
        with self._engine.connect() as connection:
            if not connection.scalar(sa.select(sa.func.pg_try_advisory_lock(_KEYS[what]))):
                raise StoreError(f"database: {taken}")
            connection.commit()
            try:
                yield
            finally:
                # The lock also goes with the connection, but only once PostgreSQL notices that it is closed.
                with suppress(sa.exc.DBAPIError):
                    connection.execute(sa.select(sa.func.pg_advisory_unlock(_KEYS[what])))
                connection.invalidate()


def freeze_batches(connection: sa.Connection, day: date, cut: Cut) -> None:
    """Freeze the open batches that ``cut`` accepts. Later reports go into another batch."""
    for row in connection.execute(_OPEN.with_for_update(of=BATCHES)).all():
        total = connection.scalar(sa.select(sa.func.count()).where(SEALED.c.batch == row.number)) or 0
        share = cut(_batch(*row)._replace(total=total))
        if total and share is not None:
            fixed = {"frozen": day, "total": total, "share": share}
            connection.execute(sa.update(BATCHES).where(BATCHES.c.number == row.number).values(fixed))


def _batch(
    number: int, series: str, period: str, suite: str, length: int, total: int | None, share: int | None
) -> PoolBatch:
    """Return a batch of the table; an open one has neither total nor share there."""
    return PoolBatch(number, Pool.of(series, period), SUITES[suite], length, total or 0, share or 0)


def drop_part(connection: sa.Connection, number: int, before: date) -> int:
    """Drop the first body of a batch that was frozen before a day, or some of an open batch's older reports.

    Return how many reports were dropped: none if nothing is that old.
    """
    batch = sa.select(BATCHES.c.frozen, BATCHES.c.share).where(BATCHES.c.number == number).with_for_update()
    row = connection.execute(batch).one_or_none()
    if row is None or (row.frozen is not None and row.frozen >= before):
        return 0
    frozen, share = row
    old = [SEALED.c.batch == number, *([SEALED.c.day < before] if frozen is None else [])]
    first = sa.select(SEALED.c.digest).where(*old).order_by(SEALED.c.digest).limit(share or _AT_ONCE).subquery()
    last = sa.select(sa.func.max(first.c.digest)).scalar_subquery()
    gone = connection.execute(sa.delete(SEALED).where(*old, SEALED.c.digest <= last)).rowcount
    _add_to_pool(connection, number, dropped=gone)
    if frozen is not None:
        delete_if_empty(connection, number)
    return gone


def _add_to_pool(connection: sa.Connection, number: int, **counts: int) -> None:
    """Add to the counts of the pool that a batch belongs to."""
    pool = sa.select(BATCHES.c.pool).where(BATCHES.c.number == number).scalar_subquery()
    more = {name: POOLS.c[name] + count for name, count in counts.items()}
    connection.execute(sa.update(POOLS).where(POOLS.c.number == pool).values(more))


def delete_if_empty(connection: sa.Connection, number: int) -> None:
    """Delete a batch of which no report is left."""
    left = sa.exists().where(SEALED.c.batch == number)
    connection.execute(sa.delete(BATCHES).where(BATCHES.c.number == number, ~left))


def _use(connection: sa.Connection, hour: date) -> date:
    """Mark an hour as used; return the day that begins: the next one if the clock has advanced at all."""
    state = _state(connection)
    day, last = _day_of(state), state.get(_HOUR)
    if day is None or last is None:
        day = hour
    elif hour.isoformat() > last:
        day += _ONE_DAY
    _note(connection, _HOUR, hour.isoformat())
    _note(connection, _DAY, day.isoformat())
    return day


def _day_of(state: Mapping[str, str]) -> date | None:
    """Return the current day of the relay's own calendar, or None before its first forwarding time."""
    day = state.get(_DAY)
    return None if day is None else date.fromisoformat(day)


def _state(connection: sa.Connection) -> dict[str, str]:
    return {row.name: row.value for row in connection.execute(sa.select(STATE))}


def _note(connection: sa.Connection, name: str, value: str) -> None:
    connection.execute(sa.delete(STATE).where(STATE.c.name == name))
    connection.execute(sa.insert(STATE).values(name=name, value=value))
