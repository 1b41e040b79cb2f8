"""The schema: the migrations create what ``SCHEMA`` declares, and other schemas are refused."""

from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from dither_server.store import Store, database
from dither_server.store.migrate import migrate
from dither_server.store.tables.schema import HEAD, SCHEMA
from dither_shared import ParameterError
from server.database import connected, execute, listening, url_of


@pytest.mark.usefixtures("store")
def test_migrations_create_what_the_schema_declares_on_sqlite(tmp_path: Path) -> None:
    with connected(url_of(tmp_path)) as connection:
        assert compare_metadata(MigrationContext.configure(connection), SCHEMA) == []
        assert connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar() == HEAD


@pytest.mark.usefixtures("pg")
def test_migrations_create_what_the_schema_declares_on_postgresql(url: str) -> None:
    with connected(url) as connection:
        assert compare_metadata(MigrationContext.configure(connection), SCHEMA) == []
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"


@pytest.mark.usefixtures("store")
def test_newer_or_unknown_schema_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    newer = f"has schema 9999 of a newer dither, this program {HEAD}; install"
    for schema, create, said in (
        ("9999", True, newer),
        ("9999", False, newer),
        ("0000", True, "has the unknown schema 0000, which this program cannot upgrade"),
        ("0000", False, f"has schema 0000, this program {HEAD}"),
    ):
        execute(url_of(tmp_path), f"UPDATE alembic_version SET version_num = '{schema}'")  # noqa: S608
        with pytest.raises(ParameterError, match=said):
            Store(url_of(tmp_path), create=create)
        assert execute(url_of(tmp_path), "SELECT version_num FROM alembic_version") == [(schema,)]


def test_migration_that_is_cut_off_leaves_no_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(_: object, __: object, statement: str, *___: object) -> None:
        if "INSERT INTO identity" in statement:
            raise MemoryError

    monkeypatch.setattr(database, "migrate", migrate)  # the tests of this process copy tables otherwise
    (tmp_path / "dither.db").touch()
    with listening("before_cursor_execute", cut), pytest.raises(MemoryError):
        Store(url_of(tmp_path))
    assert execute(url_of(tmp_path), "SELECT name FROM sqlite_master") == []
    Store(url_of(tmp_path)).close()
