"""Ids of what was counted, so that each counts once however often it is sent within the horizon.

An id names a batch that a device posted (16 bytes), or a sealed row in whichever body a relay posts it (17 bytes, so
that the two cannot be confused). A commit looks up its ids and adds the new ones, all in one transaction. If several
processes commit at the same time, as PostgreSQL allows, the primary key rejects the second one that adds an id; it
tries again and finds the id.

Each id is stored with the day on which it came, and is deleted with that day, ``horizon`` days later (a setting). A
clock that jumps can make recent ids look old, so the days on which ids came or a collector ran are kept, too, in the
order in which they began: the ids of a day are deleted only after ``LEAST`` later days.
"""

from collections.abc import Collection, Iterator
from datetime import date, timedelta

import sqlalchemy as sa

from .schema import BATCH_DAYS, BATCHES

LEAST = 37
"""Later days that must be known before a day's ids are deleted, however old it looks.

Devices retry for 30, and clocks that are wrong in the meantime may show a few days more.
"""

_AT_ONCE = 5_000
"""Values per statement: PostgreSQL takes 65,535, SQLite 32,766."""

_SKEW = timedelta(days=1)
"""How far the current day may be ahead of a clock that passes midnight later than another machine's."""

_SLICES = 256
"""Slices of the table, one per first byte, that are searched for old ids one by one, so that no commit waits long."""

_FEW = 1_000
"""Ids in a slice above which the table is estimated, to within about 3%, instead of counted."""

_KNOWN = sa.select(BATCHES.c.batch).where(BATCHES.c.batch.in_(sa.bindparam("ids", expanding=True)))
_CURRENT = sa.select(BATCH_DAYS.c.day, BATCH_DAYS.c.opened).order_by(BATCH_DAYS.c.opened.desc()).limit(1)
_ADD = sa.insert(BATCHES)
_DAYS = sa.select(BATCH_DAYS.c.day, BATCH_DAYS.c.opened)
_COUNT = sa.select(sa.func.count()).select_from(BATCHES)


def known_ids(connection: sa.Connection, ids: Collection[bytes]) -> set[bytes]:
    """Return which of these ids are stored."""
    known: set[bytes] = set()
    for part in _parts(sorted(ids)):
        known.update(connection.scalars(_KNOWN, {"ids": part}))
    return known


def add_ids(connection: sa.Connection, ids: Collection[bytes], today: date) -> None:
    """Store new ids. They are added in ascending order, or two writers could wait for each other."""
    day = current_day(connection, today)
    for part in _parts(sorted(ids)):
        connection.execute(_ADD, [{"batch": one, "day": day} for one in part])


def count_ids(connection: sa.Connection) -> int:
    """Return about how many ids are stored. They are random, so a large table is estimated from one slice."""
    in_slice = connection.execute(_COUNT.where(*_slice(0))).scalar_one()
    return _SLICES * in_slice if in_slice >= _FEW else connection.execute(_COUNT).scalar_one()


class Expiry:
    """Deletes old ids slice by slice. Used by one thread at a time."""

    def __init__(self) -> None:
        self._next = 0
        self._days: set[date] = set()

    def step(self, connection: sa.Connection, before: date) -> bool:
        """Delete ids that came before a day, in one slice of the table; return whether slices are left."""
        old = _old_days(connection, before)
        self._days = self._days & old if self._next else old
        if not self._days:
            self._next = 0
            return False
        connection.execute(sa.delete(BATCHES).where(*_slice(self._next), BATCHES.c.day.in_(self._days)))
        self._next = (self._next + 1) % _SLICES
        if self._next == 0:
            connection.execute(sa.delete(BATCH_DAYS).where(BATCH_DAYS.c.day.in_(self._days)))
        return self._next > 0

    def restart(self) -> None:
        """Begin with the first slice again, because a transaction has failed."""
        self._next = 0


def current_day(connection: sa.Connection, today: date) -> date:
    """Return the day under which ids that come today are stored, and make it the current one if another is.

    Each day on which a collector runs is to be made the current one: otherwise the last ids would stay for ever.
    """
    current = connection.execute(_CURRENT).one_or_none()
    if current is not None and current.day - _SKEW <= today <= current.day:
        day: date = current.day
        return day
    opened = 1 if current is None else current.opened + 1
    if not connection.execute(sa.update(BATCH_DAYS).where(BATCH_DAYS.c.day == today).values(opened=opened)).rowcount:
        connection.execute(sa.insert(BATCH_DAYS), {"day": today, "opened": opened})
    return today


def _old_days(connection: sa.Connection, before: date) -> set[date]:
    """Return the days before the given one that were followed by at least ``LEAST`` others."""
    opened = {row.day: row.opened for row in connection.execute(_DAYS)}
    followers = {day: sum(other > turn for other in opened.values()) for day, turn in opened.items()}
    return {day for day in opened if day < before and followers[day] >= LEAST}


def _slice(number: int) -> list[sa.ColumnElement[bool]]:
    conditions = [BATCHES.c.batch >= bytes([number])]
    return conditions if number + 1 == _SLICES else [*conditions, BATCHES.c.batch < bytes([number + 1])]


def _parts(ids: list[bytes]) -> Iterator[list[bytes]]:
    return (ids[start : start + _AT_ONCE] for start in range(0, len(ids), _AT_ONCE))
