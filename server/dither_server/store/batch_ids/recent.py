"""Keep the ids that a SQLite database received last, in memory and in a table of one row a commit.

A random id that is inserted into a large B-tree dirties a page of its own, which costs more than all else of an upload
together. So a commit appends its ids to the journal, which is one page, and they move to the B-tree of their day later,
many at a time and in its order. Until then each process knows them by heart.

There is one writer at a time, and rows leave the journal only at its old end. So whoever holds the writer's lock knows
the whole journal once it has read what is new.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

import sqlalchemy as sa

from ..hot import Hot
from ..tables.schema import JOURNAL
from .day_partitions import LEAST, Days

__all__ = ["Journal"]

_ID, _RECORD = 16, 32
"""Bytes of an id, and of an id with its digest."""

_SETTLE = 65_536
"""Ids in the journal at which they begin to move."""

_STEP = 1_024
"""Ids that move in one transaction."""

_OLDEST = sa.select(sa.func.min(JOURNAL.c.number)).scalar_subquery()
_NEW = Hot(
    sa.select(JOURNAL.c.number, JOURNAL.c.ids, JOURNAL.c.ordered, _OLDEST)
    .where(JOURNAL.c.number > sa.bindparam("last"))
    .order_by(JOURNAL.c.number)
)
_ROWS = sa.select(JOURNAL.c.number, JOURNAL.c.day, JOURNAL.c.ordered, JOURNAL.c.ids).order_by(JOURNAL.c.number)
_DAYS = sa.select(
    JOURNAL.c.day, sa.func.min(JOURNAL.c.number).label("first"), sa.func.max(JOURNAL.c.number).label("last")
).group_by(JOURNAL.c.day)
_FIRST = Hot(sa.select(_OLDEST))
_APPEND = Hot(sa.insert(JOURNAL))
_MOVE = "INSERT OR IGNORE INTO batches (day, batch, digest) VALUES (?, ?, ?)"


class Journal:
    """What this process knows of the journal, which is all of it after ``refresh``."""

    def __init__(self) -> None:
        self._digests: dict[bytes, bytes] = {}
        self._rows: dict[int, bytes] = {}
        self._ordered: set[int] = set()
        self._last = 0

    @property
    def full(self) -> bool:
        """Whether ids are to be moved."""
        return bool(self._ordered) or len(self._digests) >= _SETTLE

    def refresh(self, connection: sa.Connection) -> Mapping[bytes, bytes]:
        """Read what is new, in the writer's transaction and before it writes; return the digest of each id."""
        rows = _NEW.rows(connection, {"last": self._last})
        oldest = rows[0][3] if rows else _FIRST.rows(connection)[0][0]
        self._leave(self._last + 1 if oldest is None else oldest)
        for number, ids, ordered, _ in rows:
            self._rows[number] = ids
            self._digests.update((record[:_ID], record[_ID:]) for record in _records(ids))
            self._last = number
            if ordered:
                self._ordered.add(number)
        return self._digests

    def append(self, connection: sa.Connection, day: date, records: Sequence[bytes]) -> None:
        """Add ids, each with its digest behind it."""
        _APPEND.each(connection, [{"day": day, "ordered": False, "ids": b"".join(records)}])

    def settle(self, connection: sa.Connection, days: Days) -> None:
        """Move some ids to their day, in the order of its B-tree; or, if none is in order, put all in order first."""
        row = connection.execute(_ROWS.limit(1)).first()
        if row is None or not row.ordered:
            self._ordered.clear()
            self._put_in_order(connection)
        else:
            stored = days.open(connection, row.day).isoformat()
            connection.exec_driver_sql(_MOVE, [(stored, one[:_ID], one[_ID:]) for one in _records(row.ids)])
            connection.execute(sa.delete(JOURNAL).where(JOURNAL.c.number == row.number))
            self._ordered.discard(row.number)

    def forget(self, connection: sa.Connection, before: date) -> set[date]:
        """Drop rows of ids received before a day, and followed by ``LEAST`` days, from the old end on.

        Return the days of the rows.
        """
        rows = connection.execute(_DAYS).all()
        last = {row.day: row.last for row in rows}
        old = {day for day in last if day < before and sum(other > last[day] for other in last.values()) >= LEAST}
        if old:  # and others that are kept, for nothing follows the newest
            kept = min(row.first for row in rows if row.day not in old)
            connection.execute(sa.delete(JOURNAL).where(JOURNAL.c.number < kept))
        return last.keys() - old

    def _put_in_order(self, connection: sa.Connection) -> None:
        records: dict[date, list[bytes]] = {}
        for row in connection.execute(_ROWS):
            records.setdefault(row.day, []).extend(_records(row.ids))
        connection.execute(sa.delete(JOURNAL))
        parts: list[dict[str, Any]] = []
        for day, some in records.items():  # in the order in which days began, which their names may not tell
            some.sort()
            slices = (some[start : start + _STEP] for start in range(0, len(some), _STEP))
            parts += [{"day": day, "ordered": True, "ids": b"".join(part)} for part in slices]
        if parts:
            _APPEND.each(connection, parts)

    def _leave(self, oldest: int) -> None:
        """Drop the rows that have left the old end. What was put in order comes again, in rows that are new."""
        for number in [number for number in self._rows if number < oldest]:
            for record in _records(self._rows.pop(number)):
                self._digests.pop(record[:_ID], None)
            self._ordered.discard(number)


def _records(ids: bytes) -> Iterator[bytes]:
    return (ids[start : start + _RECORD] for start in range(0, len(ids), _RECORD))
