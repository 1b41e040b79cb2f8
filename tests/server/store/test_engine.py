"""Opening a database: URLs, files that are none, and durable connections."""

from pathlib import Path

import pytest

from dither_server.store import Store, StoreError
from dither_shared import ParameterError
from server.database import connected, url_of


@pytest.mark.usefixtures("store")
def test_sqlite_is_durable(tmp_path: Path) -> None:
    with connected(url_of(tmp_path)) as connection:
        for pragma, value in (("journal_mode", "wal"), ("synchronous", 2), ("foreign_keys", 1)):
            assert connection.exec_driver_sql(f"PRAGMA {pragma}").scalar() == value


@pytest.mark.parametrize(
    ("url", "match"),
    [
        ("nonsense", "not a database URL"),
        ("sqlite://", "in memory"),
        ("sqlite:///:memory:", "in memory"),
        ("unheard-of://host/db", "not a database URL"),
        ("sqlite:////nowhere/at/all/dither.db", "folder does not exist"),
    ],
)
def test_urls_that_cannot_be_used_are_told(url: str, match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        Store(url)


def test_reading_makes_no_database(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="does not exist"):
        Store(f"sqlite:///{tmp_path}/missing.db", create=False)
    assert not (tmp_path / "missing.db").exists()
    (tmp_path / "empty.db").touch()
    with pytest.raises(ParameterError, match="no dither tables"):
        Store(f"sqlite:///{tmp_path}/empty.db", create=False)


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    (tmp_path / "dither.db").write_bytes(b"certainly not SQLite\n" * 100)
    with pytest.raises(StoreError, match="not a database"):
        Store(f"sqlite:///{tmp_path}/dither.db")
