"""The schema: new databases get all tables, older ones are upgraded step by step, and other schemas are refused."""

from pathlib import Path

import pytest
import sqlalchemy as sa

from dither_server.store import Store
from dither_server.store.database import COLLECTOR, migrate
from dither_shared import ParameterError
from server.database import connected, execute, listening, url_of


@pytest.mark.usefixtures("pg")
def test_commits_are_synchronous_on_postgresql(postgresql_url: str) -> None:
    url = sa.make_url(postgresql_url)
    for default in ("on", "off"):
        asked = url.update_query_dict({"options": f"-c synchronous_commit={default}"})
        with connected(asked.render_as_string(hide_password=False)) as connection:
            assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"


@pytest.mark.usefixtures("store")
def test_newer_or_unknown_schema_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    newer = f"has schema 9999 of a newer dither, this program {COLLECTOR.head}; install"
    for schema, create, said in (
        ("9999", True, newer),
        ("9999", False, newer),
        ("0000", True, "has the unknown schema 0000, which this program cannot upgrade"),
        ("0000", False, f"has schema 0000, this program {COLLECTOR.head}"),
    ):
        execute(url_of(tmp_path), f"UPDATE alembic_version SET version_num = '{schema}'")  # noqa: S608
        with pytest.raises(ParameterError, match=said):
            Store(url_of(tmp_path), create=create)
        assert execute(url_of(tmp_path), "SELECT version_num FROM alembic_version") == [(schema,)]


@pytest.mark.usefixtures("store")
def test_tables_whose_schema_is_lost_are_refused_and_stay_as_they_are(tmp_path: Path) -> None:
    for lost in ("DELETE FROM alembic_version", "DROP TABLE alembic_version"):
        execute(url_of(tmp_path), lost)
        for create in (True, False):
            with pytest.raises(ParameterError, match="holds dither tables, but not their schema: it is damaged"):
                Store(url_of(tmp_path), create=create)


@pytest.mark.usefixtures("store")
def test_upgrades_that_a_database_lacks_are_made_once_and_in_order(tmp_path: Path) -> None:
    made: list[str] = []
    first, second = (lambda _, name=name: made.append(name) for name in ("first", "second"))
    for upgrades, head in (((first,), "0002"), ((first, second), "0003"), ((first, second), "0003")):
        with connected(url_of(tmp_path)) as connection:
            migrate(connection, COLLECTOR._replace(upgrades=(*COLLECTOR.upgrades, *upgrades)))
            assert connection.scalar(sa.select(COLLECTOR.revision)) == head
    assert made == ["first", "second"]


def test_creation_that_is_cut_off_leaves_no_tables(tmp_path: Path) -> None:
    def cut(_: object, __: object, statement: str, *___: object) -> None:
        if "INSERT INTO identity" in statement:
            raise MemoryError

    (tmp_path / "dither.db").touch()
    with listening("before_cursor_execute", cut), pytest.raises(MemoryError):
        Store(url_of(tmp_path))
    assert execute(url_of(tmp_path), "SELECT name FROM sqlite_master") == []
    Store(url_of(tmp_path)).close()
