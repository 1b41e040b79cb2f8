"""Statements that are compiled once and run by the driver: what they read and write, and what becomes of errors."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from dither_server.store import Store, StoreError
from dither_server.store.engine import open_engine
from dither_server.store.errors import RacedError
from dither_server.store.hot import Hot
from dither_server.store.tables.schema import BATCHES, JOURNAL, METRICS
from server.collecting import METRICS as METRICS_HERE
from server.collecting import THEME, TODAY
from server.database import url_of

FOUND = sa.select(BATCHES.c.day, BATCHES.c.batch).where(BATCHES.c.batch.in_(sa.bindparam("asked", expanding=True)))


@pytest.fixture
def engine(store: Store, tmp_path: Path) -> Iterator[sa.Engine]:
    """An engine of a database with the tables of the store."""
    store.close()
    engine = open_engine(url_of(tmp_path), False, 5.0)
    yield engine
    engine.dispose()


def test_it_tells_what_sqlalchemy_tells_and_compiles_few_lengths(
    engine: sa.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"day": date(2026, 1, 1 + number), "batch": bytes([number]), "digest": b"d"} for number in range(20)]
    add, hot = Hot(sa.insert(BATCHES)), Hot(FOUND.order_by(BATCHES.c.batch))
    compiled: list[sa.Select[Any]] = []
    compile_one = sa.Select.compile

    def counted(statement: sa.Select[Any], **options: Any) -> Any:
        compiled.append(statement)
        return compile_one(statement, **options)

    monkeypatch.setattr(sa.Select, "compile", counted)
    with engine.begin() as connection:
        add.each(connection, rows[:1])
        add.each(connection, rows[1:])
        for count in range(1, 21):
            asked = [bytes([number]) for number in range(count)]
            plain = connection.execute(FOUND.order_by(BATCHES.c.batch), {"asked": asked}).all()
            assert [tuple(row) for row in hot.rows(connection, {"asked": asked})] == [tuple(row) for row in plain]
        assert len(compiled) == 6  # for lists of 1, 2, 4, 8, 16 and 32
        Hot(sa.insert(JOURNAL)).each(connection, [{"day": TODAY, "ordered": True, "ids": b""}])
        ((ordered, seven),) = Hot(sa.select(JOURNAL.c.ordered, sa.literal(7))).rows(connection)
        assert (ordered, seven) == (True, 7)


def test_what_the_driver_raises_is_the_stores(engine: sa.Engine) -> None:
    add = Hot(sa.insert(METRICS))
    row = {"version": THEME.version, "name": "secret", "definition": "x"}
    with (
        pytest.raises(RacedError, match=r"^database: UNIQUE constraint failed: metrics.version$"),
        engine.begin() as one,
    ):
        add.each(one, [row])
    with pytest.raises(StoreError, match=r"^database: no such table: nowhere$"), engine.begin() as one:
        Hot(sa.select(sa.table("nowhere", sa.column("x")))).rows(one)
    gone = pytest.raises(StoreError, match=r"^database: Cannot operate on a closed database")
    with gone, engine.begin() as one:
        one.connection.driver_connection.close()  # type: ignore[union-attr]
        try:
            Hot(sa.select(METRICS.c.name)).rows(one)
        finally:
            assert one.invalidated
    with engine.begin() as another:
        assert len(Hot(sa.select(METRICS.c.name)).rows(another)) == len(METRICS_HERE)
