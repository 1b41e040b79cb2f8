"""Keep the ids of what was counted, so that each counts once however often it is sent within the horizon.

An id names a batch that a device posted, or one sealed row, in whichever body a relay posts it.

How many days that is, is a setting: ``horizon`` in ``config/settings.py``.

Ids are kept by day. SQLite, where one process writes at a time, takes them into a journal first. In PostgreSQL, where
several do, they go into the current day's partition, whose primary key holds off all but one of those that meet; all
writers hold a shared lock, so that no two of them add ids under different days at the same time.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from datetime import date, timedelta

import sqlalchemy as sa

from ..errors import StoreError
from ..hot import Hot
from ..tables.schema import BATCHES
from .day_partitions import Day, Days, ids_of
from .filters import filter_of
from .recent import Journal

__all__ = ["BatchIds", "NewDayError", "alone", "beside_others", "ids_in"]

_COUNTING = 0x636F756E74
"""The number of PostgreSQL's advisory lock of those who count: "count"."""

_PAGE = 4_096
"""Ids of a day that are read at a time while it is closed."""

_REMEMBER = """
INSERT INTO batches (day, batch, digest)
SELECT %s, batch, digest FROM unnest(%s::bytea[], %s::bytea[]) AS fresh(batch, digest)
"""
_SHARE = Hot(sa.select(sa.func.pg_advisory_xact_lock_shared(_COUNTING)))


Id = tuple[bytes, bytes]
"""An id of 16 bytes and, in as many, a digest of what it names."""

Transaction = Callable[..., AbstractContextManager[sa.Connection]]


class NewDayError(StoreError):
    """Ids cannot be added before the day is opened."""


class BatchIds(ABC):
    """The ids of one database, as one process knows them. Used by one thread at a time."""

    def __init__(self) -> None:
        self._days = Days()
        self._closing: tuple[Day, list[bytes]] | None = None

    @abstractmethod
    def known(self, connection: sa.Connection, ids: Collection[bytes]) -> dict[bytes, bytes]:
        """Return the digest of each of these ids that is kept, in a transaction that will write."""

    @abstractmethod
    def remember(self, connection: sa.Connection, fresh: Sequence[Id], today: date) -> None:
        """Add ids that are not kept yet, in ascending order. Raises NewDayError if the day must be opened first."""

    def open(self, connection: sa.Connection, today: date) -> None:
        """Open a day, in a transaction of its own."""
        alone(connection)
        self._days.open(connection, today)

    def doubt(self) -> None:
        """Read anew what was learnt in a transaction that has failed."""
        self._days.doubt()
        self._closing = None

    def tend(self, transaction: Transaction) -> bool:
        """Do a step of what can wait, some milliseconds; return whether there is more."""
        if self._closing is None:
            self._closing = next(((one, []) for one in self._days.unclosed), None)
        if self._closing is None:
            return False
        one, ids = self._closing
        with transaction() as connection:
            page = ids_of(connection, one.day, ids[-1] if ids else b"", _PAGE)
        ids += page
        if len(page) < _PAGE:
            bits = filter_of(ids)
            with transaction(write=True) as connection:
                alone(connection)
                self._days.close(connection, one, bits)
            self._closing = None
        return True

    def forget(self, connection: sa.Connection, before: date, limit: int) -> bool:
        """Drop ids received before a day, or some of them; return whether there may be more.

        Ids are dropped only if others came on ``LEAST`` days after theirs, too. A clock that jumps makes ids look old
        that are not, or names a day long past those that have just come; batches sent again would count again.
        """
        self._days.doubt()
        self._days.refresh(connection)
        return self._forget(connection, before, limit)

    @abstractmethod
    def _forget(self, connection: sa.Connection, before: date, limit: int) -> bool: ...


class _Journalled(BatchIds):
    """SQLite: one writer at a time."""

    def __init__(self) -> None:
        super().__init__()
        self._journal = Journal()

    def known(self, connection: sa.Connection, ids: Collection[bytes]) -> dict[bytes, bytes]:
        recent = self._journal.refresh(connection)
        found = {one: recent[one] for one in ids if one in recent}
        self._days.refresh(connection)
        return found | self._days.look(connection, [one for one in ids if one not in found])

    def remember(self, connection: sa.Connection, fresh: Sequence[Id], today: date) -> None:
        self._journal.append(connection, today, [one + digest for one, digest in fresh])

    def tend(self, transaction: Transaction) -> bool:
        if not self._journal.full:
            return super().tend(transaction)
        with transaction(write=True) as connection:
            self._journal.refresh(connection)
            self._journal.settle(connection, self._days)
        return True

    def _forget(self, connection: sa.Connection, before: date, limit: int) -> bool:
        later = self._journal.forget(connection, before)
        for day in self._days.old(before, later):
            if _drop_some(connection, day, limit):
                return True
            self._days.drop(connection, day)
        return False


class _Partitioned(BatchIds):
    """PostgreSQL: several writers at a time, each day in a partition."""

    def known(self, connection: sa.Connection, ids: Collection[bytes]) -> dict[bytes, bytes]:
        _SHARE.rows(connection)
        self._days.refresh(connection)
        return self._days.look(connection, ids)

    def remember(self, connection: sa.Connection, fresh: Sequence[Id], today: date) -> None:
        day = self._days.fitting(today)
        if day is None:
            raise NewDayError("database: the day is not opened yet")
        ids, digests = zip(*fresh, strict=True)
        connection.exec_driver_sql(_REMEMBER, (day, list(ids), list(digests)))

    def open(self, connection: sa.Connection, today: date) -> None:
        super().open(connection, today)
        day = self._days.current.day if self._days.current is not None else today
        following = day + timedelta(days=1)
        connection.exec_driver_sql(
            f"CREATE TABLE IF NOT EXISTS {_partition(day)} PARTITION OF batches "
            f"FOR VALUES FROM ('{day}') TO ('{following}')"
        )

    def _forget(self, connection: sa.Connection, before: date, limit: int) -> bool:
        alone(connection)
        self._days.refresh(connection)
        for day in self._days.old(before):
            if self._days.drop(connection, day):
                connection.exec_driver_sql(f"DROP TABLE IF EXISTS {_partition(day)}")
        return False


def ids_in(engine: sa.Engine) -> BatchIds:
    """Return what is known of the ids in a database, which is nothing as yet."""
    return _Journalled() if engine.dialect.name == "sqlite" else _Partitioned()


def alone(connection: sa.Connection) -> None:
    """Wait until nobody else counts, and let nobody begin; in SQLite a writer is alone in any case."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_COUNTING)))


def beside_others(connection: sa.Connection) -> None:
    """Wait until nobody is ``alone``, and let nobody be until the transaction ends; others may count meanwhile."""
    if connection.dialect.name == "postgresql":
        _SHARE.rows(connection)


def _partition(day: date) -> str:
    return f"batches_{day:%Y%m%d}"


def _drop_some(connection: sa.Connection, day: date, limit: int) -> int:
    """Drop the first ids of a day; return how many were dropped."""
    first = sa.select(BATCHES.c.batch).where(BATCHES.c.day == day).order_by(BATCHES.c.batch).limit(limit).subquery()
    last = sa.select(sa.func.max(first.c.batch)).scalar_subquery()
    return connection.execute(sa.delete(BATCHES).where(BATCHES.c.day == day, BATCHES.c.batch <= last)).rowcount
