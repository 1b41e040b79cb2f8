"""The days under which batch ids are kept: in one B-tree, day first (SQLite), or a partition for each (PostgreSQL).

Ids are added under one day at a time, the current one. When another has taken its place the day is closed: its ids
change no more, and a filter of them is written down, so that a look-up seldom asks the database about it.
"""

from collections.abc import Collection, Iterator, Sequence
from datetime import date, timedelta
from itertools import chain, islice, product
from typing import NamedTuple

import sqlalchemy as sa

from ..hot import Hot
from ..tables.schema import BATCH_DAYS, BATCH_FILTERS, BATCHES
from .filters import Filters

__all__ = ["LEAST", "Day", "Days", "ids_of"]

LEAST = 30
"""Days with ids that must have been opened after one before it is forgotten, however old its name looks: devices retry
for as many."""

_ALL = sa.select(BATCH_DAYS.c.day, BATCH_DAYS.c.opened, BATCH_DAYS.c.closed)
_TURNS = Hot(sa.select(sa.func.max(BATCH_DAYS.c.opened), sa.func.max(BATCH_DAYS.c.closed)))
_BITS = sa.select(BATCH_FILTERS.c.bits).where(BATCH_FILTERS.c.day == sa.bindparam("day"))
_PAGE = (
    sa.select(BATCHES.c.batch)
    .where(BATCHES.c.day == sa.bindparam("day"), BATCHES.c.batch > sa.bindparam("after"))
    .order_by(BATCHES.c.batch)
    .limit(sa.bindparam("limit"))
)
_FOUND = """
SELECT batches.batch, batches.digest
FROM pairs CROSS JOIN batches
WHERE batches.day = pairs.day AND batches.batch = pairs.batch
"""

_AT_ONCE = 5_000
"""Values of one statement: PostgreSQL takes 65,535, SQLite 32,766."""

_SKEW = timedelta(days=1)
"""The most by which the current day may be ahead of a clock before it is set back: machines pass midnight in turn."""


class Day(NamedTuple):
    """A day with ids, and in which turn it was made current, and closed if it is."""

    day: date
    opened: int
    closed: int | None


class Days:
    """What this process knows of the days, which is what the database says after ``refresh``."""

    def __init__(self) -> None:
        self._known: dict[date, Day] = {}
        self._closed: list[date] = []
        self._filters = Filters()
        self._turns: tuple[int | None, int | None] = (None, None)

    @property
    def current(self) -> Day | None:
        """The day under which ids are added."""
        return max(self._known.values(), key=lambda one: one.opened, default=None)

    @property
    def unclosed(self) -> list[Day]:
        """The days that could be closed, oldest first."""
        return sorted(one for one in self._known.values() if one.closed is None and one != self.current)

    def __iter__(self) -> Iterator[date]:
        return iter(self._known)

    def refresh(self, connection: sa.Connection) -> None:
        """Look whether a day was opened or closed since. One that was dropped meanwhile does no harm until then."""
        ((opened, closed),) = _TURNS.rows(connection)
        turns = (opened, closed)
        if turns != self._turns:
            self._known = {row.day: Day(row.day, row.opened, row.closed) for row in connection.execute(_ALL)}
            self._closed = [one.day for one in self._known.values() if one.closed is not None]
            self._filters = Filters([connection.execute(_BITS, {"day": day}).scalar_one() for day in self._closed])
            self._turns = turns

    def doubt(self) -> None:
        """Believe nothing of this any more: a transaction in which it was read has failed."""
        self._turns = (None, None)

    def look(self, connection: sa.Connection, batches: Collection[bytes]) -> dict[bytes, bytes]:
        """Return the digests of those batches whose ids are kept."""
        ids, found = list(batches), dict[bytes, bytes]()
        open_days = self._known.keys() - set(self._closed)
        suspected = ((self._closed[day], ids[place]) for day, place in self._filters.may_hold(ids))
        pairs = chain(product(open_days, ids), suspected)
        while some := list(islice(pairs, _AT_ONCE)):
            found.update(_digests(connection, some))
        return found

    def fitting(self, today: date) -> date | None:
        """Return the current day if ids received today belong there; None if another is to be opened.

        They do too if all days from today to the current one are closed: a clock that was ahead has been set right.
        """
        now = self.current
        if now is not None and (now.day - _SKEW <= today <= now.day or now.day == self._not_closed(today)):
            return now.day
        return None

    def open(self, connection: sa.Connection, today: date) -> date:
        """Make today current, or the next day that is not closed, and return it. Nobody else may write meanwhile."""
        self.refresh(connection)
        day = self.fitting(today)
        if day is None:
            day = self._not_closed(today)
            turn = {"opened": self._next_turn(), "closed": None}
            if day in self._known:
                connection.execute(sa.update(BATCH_DAYS).where(BATCH_DAYS.c.day == day).values(turn))
            else:
                connection.execute(sa.insert(BATCH_DAYS), {"day": day, **turn})
            self.refresh(connection)
        return day

    def old(self, before: date, later: Collection[date] = ()) -> list[date]:
        """Return the days before one that were followed by ``LEAST`` others; ``later`` are not opened yet."""
        return sorted(
            one.day
            for one in self._known.values()
            if one.day < before
            and len({other.day for other in self._known.values() if other.opened > one.opened}.union(later)) >= LEAST
        )

    def close(self, connection: sa.Connection, one: Day, bits: bytes) -> None:
        """Write down the filter of a day, unless it was opened anew or closed meanwhile."""
        self.refresh(connection)
        if one in self.unclosed:
            connection.execute(sa.insert(BATCH_FILTERS), {"day": one.day, "bits": bits})
            turn = sa.update(BATCH_DAYS).where(BATCH_DAYS.c.day == one.day).values(closed=self._next_turn())
            connection.execute(turn)

    def drop(self, connection: sa.Connection, day: date) -> bool:
        """Forget a day, unless it is the current one: so turns only ever grow. Return whether it was forgotten."""
        if self.current is not None and day == self.current.day:
            return False
        for table in (BATCH_FILTERS, BATCH_DAYS):
            connection.execute(sa.delete(table).where(table.c.day == day))
        self.doubt()
        return True

    def _not_closed(self, day: date) -> date:
        """Return the first day from ``day`` on that is not closed."""
        while day in self._closed:
            day += timedelta(days=1)
        return day

    def _next_turn(self) -> int:
        return 1 + max((turn for turn in self._turns if turn is not None), default=0)


def ids_of(connection: sa.Connection, day: date, after: bytes, limit: int) -> list[bytes]:
    """Return ids of a day in their order, the first of those that follow ``after``."""
    return list(connection.scalars(_PAGE, {"day": day, "after": after, "limit": limit}))


def _digests(connection: sa.Connection, pairs: Sequence[tuple[date, bytes]]) -> Iterator[tuple[bytes, bytes]]:
    """Look each id up under its day. To ask for pairs by IN would make SQLite read all ids there are."""
    if connection.dialect.name == "sqlite":
        values = ", ".join(["(?, ?)"] * len(pairs))
        flat = tuple(part for day, batch in pairs for part in (day.isoformat(), batch))
        rows = connection.exec_driver_sql(f"WITH pairs(day, batch) AS (VALUES {values}) {_FOUND}", flat)
    else:
        days, batches = [day for day, _ in pairs], [batch for _, batch in pairs]
        table = "WITH pairs(day, batch) AS (SELECT * FROM unnest(%s::date[], %s::bytea[]))"
        rows = connection.exec_driver_sql(f"{table} {_FOUND}", (days, batches))
    return ((row[0], row[1]) for row in rows)
