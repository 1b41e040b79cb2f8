"""What the migrations make of a database of a former program, on a real PostgreSQL server."""

from contextlib import closing
from datetime import UTC, datetime

import psycopg
import pytest
import sqlalchemy
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext

from dither_server.store import Refusal, Store
from dither_server.store.counting.folds import Sums
from dither_server.store.tables.definitions import to_json
from dither_server.store.tables.schema import SCHEMA
from dither_server.tally.blocks import to_blocks, to_bytes
from dither_server.tally.fold import fold
from dither_server.tally.tally import Tally
from server.collecting import (
    COUNTED,
    THEME,
    TODAY,
    rows_of,
    same,
    upload,
)
from server.database import connected

SHARD = b"s" * 16


@pytest.mark.usefixtures("pg")
def test_the_migrations_make_what_the_schema_says(url: str) -> None:
    with connected(url) as connection:
        assert compare_metadata(MigrationContext.configure(connection), SCHEMA) == []
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"


def former(url: str, revision: str) -> None:
    """Make the tables as a former program did."""
    engine = sqlalchemy.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        alembic = Config()
        alembic.set_main_option("script_location", "dither_server.store:migrations")
        alembic.attributes["connection"] = connection
        command.upgrade(alembic, revision)
    engine.dispose()


def test_refusals_of_a_former_schema_are_kept(url: str) -> None:
    former(url, "0007")
    with psycopg.connect(url) as old:
        old.execute("INSERT INTO refusals VALUES ('theme', %s, 'malformed', %s, 7)", (TODAY, SHARD))
    with closing(Store(url)) as upgraded:
        upgraded.add_refusals({Refusal("theme", TODAY, "malformed", THEME.version): 2}, SHARD)
        assert upgraded.refusals("theme") == {"malformed": 9}


def test_tallies_without_strata_are_carried_over(url: str) -> None:
    """While a former program still counts, which knows no such column."""
    former(url, "0009")
    blocks = to_blocks(THEME.mechanism, fold(THEME.mechanism, rows := rows_of(THEME, 50)))
    insert = "INSERT INTO tallies (version, day, shard, block, counts) VALUES (%s, %s, %s, %s, %s)"

    def count(shard: bytes) -> None:
        with psycopg.connect(url) as old:
            for block, counts in zip(blocks.numbers.tolist(), to_bytes(blocks.counts), strict=True):
                old.execute(insert.encode(), (THEME.version, TODAY, shard, block, counts))

    with psycopg.connect(url) as old:
        old.execute("INSERT INTO metrics VALUES (%s, 'theme', %s)", (THEME.version, to_json(THEME)))
    count(SHARD)
    with closing(Store(url)) as upgraded:
        assert same(upgraded.tally(THEME), Tally.fold(THEME.mechanism, rows))
        count(b"t" * 16)
        assert same(upgraded.tally(THEME, places=(0,)), Tally.fold(THEME.mechanism, rows * 2))
        assert upgraded.commit([upload(THEME, rows)], TODAY, SHARD) == [COUNTED]  # in the rows that are there
        assert same(upgraded.tally(THEME), Tally.fold(THEME.mechanism, rows * 3))


def test_a_database_without_folds_gets_their_tables(url: str) -> None:
    """While a former program still counts."""
    former(url, "0010")
    blocks = to_blocks(THEME.mechanism, fold(THEME.mechanism, rows := rows_of(THEME, 50)))
    insert = "INSERT INTO tallies (version, day, shard, block, counts) VALUES (%s, %s, %s, %s, %s)"
    with psycopg.connect(url) as old:
        old.execute("INSERT INTO metrics VALUES (%s, 'theme', %s)", (THEME.version, to_json(THEME)))
        old.commit()
        with closing(Store(url)) as upgraded:
            for block, counts in zip(blocks.numbers.tolist(), to_bytes(blocks.counts), strict=True):
                old.execute(insert.encode(), (THEME.version, TODAY, SHARD, block, counts))
            old.commit()
            upgraded.folds.begin(SHARD, datetime(2026, 11, 20, tzinfo=UTC))
            assert upgraded.folds.add(SHARD, 255, {(THEME.version, TODAY, 0): blocks}, Sums()) is True
            assert same(upgraded.tally(THEME), Tally.fold(THEME.mechanism, rows * 2))
