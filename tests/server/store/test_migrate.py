"""The schema: migrations make it, old databases are upgraded, newer ones are refused."""

import sqlite3
from contextlib import closing
from datetime import UTC, date, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
import sqlalchemy
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext

from dither_server.store import Basis, Refusal, Sealed, Store, StoredToken, StoreError
from dither_server.store.counting.folds import Sums
from dither_server.store.tables.definitions import to_json
from dither_server.store.tables.schema import HEAD, NUMBERS, SCHEMA
from dither_server.tally.blocks import to_blocks, to_bytes
from dither_server.tally.fold import fold
from dither_server.tally.tally import Tally
from dither_shared import ParameterError, parse_metrics
from server.collecting import (
    COUNTED,
    THEME,
    TODAY,
    rows_of,
    same,
    sealed_upload,
    upload,
)
from server.database import connected, execute, listening, url_of

SHARD = b"s" * 16


def migrated(folder: Path, revision: str) -> None:
    """Make a database as far as a former program did."""
    engine = sqlalchemy.create_engine(url_of(folder))
    with engine.begin() as connection:
        alembic = Config()
        alembic.set_main_option("script_location", "dither_server.store:migrations")
        alembic.attributes["connection"] = connection
        command.upgrade(alembic, revision)
    engine.dispose()


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
    migrated(tmp_path, "0002")
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


def without_strata(folder: Path) -> tuple[Tally, list[tuple[object, ...]]]:
    """A database from before strata: its tally of THEME over three days and two shards, and its rows."""
    migrated(folder, "0009")
    rows = [rows_of(THEME, 5 + number, bytes([number])) for number in range(6)]
    with closing(sqlite3.connect(folder / "dither.db")) as old, old:
        old.execute("INSERT INTO metrics VALUES (?, 'theme', ?)", (THEME.version, to_json(THEME)))
        for number, sent in enumerate(rows):
            day, shard = f"2026-11-{18 + number % 3}", bytes([number // 3]) * 16
            blocks = to_blocks(THEME.mechanism, fold(THEME.mechanism, sent))
            for block, counts in zip(blocks.numbers.tolist(), to_bytes(blocks.counts), strict=True):
                old.execute("INSERT INTO tallies VALUES (?, ?, ?, ?, ?)", (THEME.version, day, shard, block, counts))
        stored = old.execute("SELECT version, day, shard, block, counts FROM tallies ORDER BY 1, 2, 3, 4").fetchall()
    return Tally.fold(THEME.mechanism, b"".join(rows)), stored


def test_tallies_without_strata_are_carried_over(tmp_path: Path) -> None:
    tally, stored = without_strata(tmp_path)
    with closing(Store(url_of(tmp_path))) as upgraded:
        assert same(upgraded.tally(THEME), tally)
        assert same(upgraded.tally(THEME, places=(0,)), tally)
        assert upgraded.reports_by_day(THEME) == {date(2026, 11, 18 + turn): 13 + 2 * turn for turn in range(3)}
        kept = execute(url_of(tmp_path), "SELECT version, day, shard, block, counts FROM tallies ORDER BY 1, 2, 3, 4")
        assert kept == stored
        assert upgraded.commit([upload()], date(2026, 11, 18), bytes(16)) == [COUNTED]  # in a row that is there
        assert upgraded.tally(THEME).total == tally.total + 3
        tables = execute(url_of(tmp_path), "SELECT name FROM sqlite_master WHERE name LIKE '%before%'")
        assert (tables, execute(url_of(tmp_path), "PRAGMA foreign_key_check")) == ([], [])


def test_an_upgrade_that_is_cut_off_leaves_the_database_as_it_was(tmp_path: Path) -> None:
    tally, stored = without_strata(tmp_path)

    def cut(_: object, __: object, statement: str, *___: object) -> None:
        if "DROP TABLE tallies_before" in statement:
            raise MemoryError

    with listening("before_cursor_execute", cut), pytest.raises(MemoryError):
        Store(url_of(tmp_path))
    assert execute(url_of(tmp_path), "SELECT * FROM tallies ORDER BY 1, 2, 3, 4") == stored
    assert execute(url_of(tmp_path), "SELECT version_num FROM alembic_version") == [("0009",)]
    with closing(Store(url_of(tmp_path))) as upgraded:
        assert same(upgraded.tally(THEME), tally)


def test_an_upgrade_asks_for_room_on_the_disk_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tally, stored = without_strata(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=2000))
        with pytest.raises(StoreError, match="takes 1 MB of free disk, and there are 0; it is as it was"):
            Store(url_of(tmp_path))
    assert execute(url_of(tmp_path), "SELECT * FROM tallies ORDER BY 1, 2, 3, 4") == stored
    with closing(Store(url_of(tmp_path))) as upgraded:
        assert same(upgraded.tally(THEME), tally)


def test_a_database_without_numbers_gets_their_table_and_view(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/dither.db"
    migrated(tmp_path, "0008")
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("INSERT INTO metrics VALUES (?, 'theme', ?)", (THEME.version, to_json(THEME)))
        connection.exec_driver_sql("INSERT INTO estimated_days VALUES (?, '2026-11-20', 7, x'00')", (THEME.version,))
        share = "INSERT INTO estimates VALUES (?, '2026-11-20', 0, 'dark', .5, .1, .1, .3, .7)"
        connection.exec_driver_sql(share, (THEME.version,))
    engine.dispose()
    with closing(Store(url)) as upgraded:
        row = {name: 0.5 for name in NUMBERS.c.keys() if name not in {"version", "day", "place"}}  # noqa: SIM118
        number = parse_metrics('[metrics.x]\ntype = "number"\nlow = 0\nhigh = 1\nepsilon = 1.0\n')["x"]
        upgraded.register([number])
        upgraded.write_estimates(number.version, TODAY, Basis(3, b"l"), "numbers", [row])
        assert execute(url_of(tmp_path), "SELECT metric, reports, mean, p95_high FROM daily_numbers") == [
            ("x", 3, 0.5, 0.5)
        ]
        assert execute(url_of(tmp_path), "SELECT metric, value FROM daily_estimates") == [("theme", "dark")]
        upgraded.purge_day(number.version, TODAY)
        assert execute(url_of(tmp_path), "SELECT * FROM numbers") == []
        assert len(execute(url_of(tmp_path), "SELECT * FROM estimates")) == 1


def test_a_database_without_folds_gets_their_tables(tmp_path: Path) -> None:
    one = upload()
    migrated(tmp_path, "0010")
    blocks = to_blocks(THEME.mechanism, fold(THEME.mechanism, one.rows))
    with closing(sqlite3.connect(tmp_path / "dither.db")) as old, old:
        old.execute("INSERT INTO metrics VALUES (?, 'theme', ?)", (THEME.version, to_json(THEME)))
        for block, counts in zip(blocks.numbers.tolist(), to_bytes(blocks.counts), strict=True):
            row = (THEME.version, TODAY.isoformat(), 0, SHARD, block, counts)
            old.execute("INSERT INTO tallies VALUES (?, ?, ?, ?, ?, ?)", row)
    with closing(Store(url_of(tmp_path))) as upgraded:
        upgraded.folds.begin(SHARD, datetime(2026, 11, 20, tzinfo=UTC))
        assert upgraded.folds.add(SHARD, 255, {(THEME.version, TODAY, 0): blocks}, Sums()) is True
        assert same(upgraded.tally(THEME), Tally.fold(THEME.mechanism, one.rows * 2))


def test_a_database_without_sealed_batches_gets_their_table(tmp_path: Path) -> None:
    one = upload()
    migrated(tmp_path, "0011")
    blocks = to_blocks(THEME.mechanism, fold(THEME.mechanism, one.rows))
    with closing(sqlite3.connect(tmp_path / "dither.db")) as old, old:
        old.execute("INSERT INTO metrics VALUES (?, 'theme', ?)", (THEME.version, to_json(THEME)))
        for block, counts in zip(blocks.numbers.tolist(), to_bytes(blocks.counts), strict=True):
            row = (THEME.version, TODAY.isoformat(), 0, SHARD, block, counts)
            old.execute("INSERT INTO tallies VALUES (?, ?, ?, ?, ?, ?)", row)
    with closing(Store(url_of(tmp_path))) as upgraded:
        assert upgraded.sealed(THEME) is None
        assert upgraded.commit([sealed_upload(total=500)], TODAY, SHARD) == [COUNTED]
        assert upgraded.sealed(THEME) == Sealed(1, 3, 500, 0)
        assert same(upgraded.tally(THEME), Tally.fold(THEME.mechanism, one.rows * 2))
