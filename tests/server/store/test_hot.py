"""Statements that are compiled once and run by the driver: what they read and write, and what becomes of errors."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
import sqlalchemy as sa

from dither_server.store import Store, StoreError
from dither_server.store.errors import RacedError
from dither_server.store.hot import Hot
from dither_server.store.tables.schema import BATCHES, JOURNAL, METRICS
from server.collecting import COUNTED, THEME, TODAY, upload

FOUND = sa.select(BATCHES.c.day, BATCHES.c.batch).where(BATCHES.c.batch.in_(sa.bindparam("asked", expanding=True)))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(f"sqlite:///{tmp_path}/dither.db")
    store.register([THEME])
    yield store
    store.close()


def test_it_tells_what_sqlalchemy_tells(store: Store) -> None:
    rows = [{"day": date(2026, 1, 1 + number), "batch": bytes([number]), "digest": b"d"} for number in range(20)]
    add, hot = Hot(sa.insert(BATCHES)), Hot(FOUND.order_by(BATCHES.c.batch))
    with store._transaction(write=True) as connection:
        add.each(connection, rows[:1])
        add.each(connection, rows[1:])
        for count in range(1, 21):
            asked = [bytes([number]) for number in range(count)]
            plain = connection.execute(FOUND.order_by(BATCHES.c.batch), {"asked": asked}).all()
            assert [tuple(row) for row in hot.rows(connection, {"asked": asked})] == [tuple(row) for row in plain]
        Hot(sa.insert(JOURNAL)).each(connection, [{"day": TODAY, "ordered": True, "ids": b""}])
        ((ordered, seven),) = Hot(sa.select(JOURNAL.c.ordered, sa.literal(7))).rows(connection)
        assert (ordered, seven) == (True, 7)
    lengths = {lists for _, lists in hot._compiled}
    assert lengths == {(("asked", 1 << power),) for power in range(6)}


def test_what_the_driver_raises_is_the_stores(store: Store) -> None:
    add = Hot(sa.insert(METRICS))
    row = {"version": THEME.version, "name": "secret", "definition": "x"}
    with (
        pytest.raises(RacedError, match=r"^database: UNIQUE constraint failed: metrics.version$"),
        store._transaction() as one,
    ):
        add.each(one, [row])
    with pytest.raises(StoreError, match=r"^database: no such table: nowhere$"), store._transaction() as one:
        Hot(sa.select(sa.table("nowhere", sa.column("x")))).rows(one)
    assert store.commit([upload()], TODAY, b"s" * 16) == [COUNTED]
    gone = pytest.raises(StoreError, match=r"^database: Cannot operate on a closed database")
    with gone, store._transaction() as one:
        one.connection.driver_connection.close()  # type: ignore[union-attr]
        try:
            Hot(sa.select(METRICS.c.name)).rows(one)
        finally:
            assert one.invalidated
    assert store.commit([upload()], TODAY, b"s" * 16) == [COUNTED]
    assert store.tally(THEME).total == 6
