"""The schema: migrations make it, old databases are upgraded, newer ones are refused."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext

from dither_server.store import Refusal, Store, StoredToken
from dither_server.store.tables.definitions import to_json
from dither_server.store.tables.schema import HEAD, SCHEMA
from dither_server.tally.blocks import to_blocks
from dither_server.tally.fold import fold
from dither_server.tally.tally import Tally
from dither_shared import ParameterError
from server.collecting import (
    COUNTED,
    THEME,
    TODAY,
    same,
    upload,
)
from server.database import connected, execute, url_of

SHARD = b"s" * 16


@pytest.mark.usefixtures("store")
def test_the_migrations_make_what_the_schema_says(tmp_path: Path) -> None:
    with connected(url_of(tmp_path)) as connection:
        assert compare_metadata(MigrationContext.configure(connection), SCHEMA) == []
        assert connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar() == HEAD


@pytest.mark.usefixtures("store")
def test_a_schema_of_a_newer_program_is_told_to_everyone(tmp_path: Path) -> None:
    execute(url_of(tmp_path), "UPDATE alembic_version SET version_num = '9999'")
    for create in (True, False):
        with pytest.raises(ParameterError, match=f"has schema 9999 of a newer dither, this program {HEAD}; install"):
            Store(f"sqlite:///{tmp_path}/dither.db", create=create)


@pytest.mark.usefixtures("store")
def test_a_schema_of_another_program_is_told_to_a_reader(tmp_path: Path) -> None:
    execute(url_of(tmp_path), "UPDATE alembic_version SET version_num = '0000'")
    with pytest.raises(ParameterError, match=f"has schema 0000, this program {HEAD}"):
        Store(f"sqlite:///{tmp_path}/dither.db", create=False)


def test_an_old_database_is_upgraded_with_all_that_is_in_it(tmp_path: Path) -> None:
    """As one of the first collectors left it."""
    url = f"sqlite:///{tmp_path}/dither.db"
    one = upload()
    engine = sqlalchemy.create_engine(url)
    with engine.connect() as connection:
        alembic = Config()
        alembic.set_main_option("script_location", "dither_server.store:migrations")
        alembic.attributes["connection"] = connection
        command.upgrade(alembic, "0002")
        connection.commit()
    engine.dispose()
    metric = (THEME.version, "theme", to_json(THEME))
    blocks = to_blocks(THEME.mechanism, fold(THEME.mechanism, one.rows))
    with closing(sqlite3.connect(tmp_path / "dither.db")) as old, old:
        old.execute("INSERT INTO tokens VALUES (?, 'read', 'for Ann', ?)", (b"d" * 32, TODAY.isoformat()))
        old.execute("INSERT INTO metrics (version, name, definition) VALUES (?, ?, ?)", metric)
        old.execute("INSERT INTO batches VALUES (?, ?, ?)", (one.batch, one.digest, TODAY.isoformat()))
        for number, counts in zip(blocks.numbers, blocks.counts, strict=True):
            row = (THEME.version, TODAY.isoformat(), SHARD, int(number), counts.astype("<i8").tobytes())
            old.execute("INSERT INTO tallies VALUES (?, ?, ?, ?, ?)", row)
        old.execute("INSERT INTO refusals VALUES ('theme', ?, 'malformed', ?, 7)", (TODAY.isoformat(), SHARD))
    with pytest.raises(ParameterError, match="has schema 0002"):
        Store(url, create=False)
    with closing(Store(url)) as upgraded:
        assert same(upgraded.tally(THEME), Tally.fold(THEME.mechanism, one.rows))
        assert upgraded.commit([one], TODAY, SHARD) == [COUNTED]
        assert upgraded.tally(THEME).total == 3
        assert upgraded.tokens() == [StoredToken(b"d" * 32, "read", "for Ann", TODAY)]  # it does not expire
        upgraded.add_refusals({Refusal("theme", TODAY, "malformed", THEME.version): 2}, SHARD)
        assert upgraded.refusals("theme") == {"malformed": 9}
