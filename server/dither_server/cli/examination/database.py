"""The database: whether it is whole, what it takes, and whether its clock is ours."""

from collections.abc import Iterator
from datetime import UTC, datetime

from dither_shared.counted import counted

from ...store import Condition, Store
from .findings import Finding, ok, problem, warning
from .times import compared
from .words import size

__all__ = ["in_database"]

_LARGE = 1_000_000_000
"""Bytes above which a database is not read whole unasked: it takes some seconds for each GB."""

_LONG_LOG = 1_000_000_000


def in_database(store: Store, thorough: bool) -> Iterator[Finding]:
    """Yield what is found in an open database."""
    condition = store.condition()
    ids = counted(condition.ids, "batch id")
    about = f"{condition.engine}, schema {store.schema()}, {size(condition.size)}, about {ids}"
    yield ok("database", about)
    yield from _whole(store, condition, thorough)
    if condition.wal is not None and condition.wal > _LONG_LOG:
        advice = "Some process has read for long and holds it, an export say; end that"
        yield warning("database", f"the write-ahead log has {size(condition.wal)}", advice)
    before = datetime.now(UTC)
    there = store.clock()
    if there is not None:
        yield compared("the database's clock", there, before, datetime.now(UTC))


def _whole(store: Store, condition: Condition, thorough: bool) -> Iterator[Finding]:
    """Look whether a SQLite file is damaged; PostgreSQL's own tools do that for it."""
    if condition.wal is None:
        return
    if condition.size > _LARGE and not thorough:
        yield ok("database", f"not read whole, for it has {size(condition.size)}; --thorough does")
        return
    if store.damage():
        store.close()  # a collector that writes again by now makes a file look so, that is read as if nobody did
    if damage := store.damage():
        advice = "Stop the collector, keep a copy of all its files, and restore the last backup"
        yield problem("database", f"it is damaged: {damage}", advice)
    else:
        yield ok("database", "read whole, and not damaged")
