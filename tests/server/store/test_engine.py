"""Opening a database: URLs, files that are none, and durable connections."""

import os
import shutil
import sqlite3
import stat
from contextlib import closing
from itertools import product
from pathlib import Path

import pytest

from dither_server.store import Store, StoreError
from dither_server.store.engine import message_of
from dither_shared import ParameterError
from server.collecting import SHARD, THEME, TODAY, upload
from server.database import connected, url_of


@pytest.mark.usefixtures("store")
def test_sqlite_is_durable(tmp_path: Path) -> None:
    with connected(url_of(tmp_path)) as connection:
        for pragma, value in (("journal_mode", "wal"), ("synchronous", 2), ("foreign_keys", 1)):
            assert connection.exec_driver_sql(f"PRAGMA {pragma}").scalar() == value


@pytest.mark.skipif(os.name != "posix", reason="of POSIX permissions")
def test_database_files_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with closing(Store(url_of(tmp_path))) as store:
            store.register([THEME])
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes.keys() >= {"dither.db", "dither.db-wal", "dither.db-shm"}
    assert set(modes.values()) == {0o600}


def test_reader_reads_the_log_of_a_writer_and_makes_none_where_there_is_none(tmp_path: Path) -> None:
    url, log = url_of(tmp_path), tmp_path / "dither.db-wal"
    with closing(Store(url)) as store:
        store.register([THEME])
        store.commit([upload(rows=b"\x00")], TODAY, SHARD)
        assert log.stat().st_size > 0
        (tmp_path / "link.db").symlink_to("dither.db")
        linked = f"sqlite:///{tmp_path}/link.db"
        for one in (url, linked):
            with closing(Store(one, create=False, read_only=True)) as reader:
                assert reader.tally(THEME).total == 1
        with (
            closing(Store(linked)) as other,
            store.folds.exclusive_lock(0),
            pytest.raises(StoreError, match="another fold"),
            other.folds.exclusive_lock(0),
        ):
            pass
    assert not log.exists()
    with closing(Store(url, create=False, read_only=True)) as reader:
        assert reader.tally(THEME).total == 1
        assert not log.exists()


def test_chosen_mode_of_the_database_file_is_kept(tmp_path: Path) -> None:
    Store(url_of(tmp_path)).close()
    (tmp_path / "dither.db").chmod(0o640)
    with closing(Store(url_of(tmp_path))) as store:
        store.register([THEME])
        assert stat.S_IMODE((tmp_path / "dither.db-wal").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "dither.db").stat().st_mode) == 0o640


def test_opening_for_reading_creates_no_database(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    for path, create, what in (
        ("/nowhere/at/all/dither.db", True, "folder does not exist"),
        (f"{tmp_path}/missing.db", False, "missing.db does not exist"),
        (f"{tmp_path}/empty.db", False, "no dither tables"),
    ):
        with pytest.raises(ParameterError, match=what):
            Store(f"sqlite:///{path}", create=create)
    assert [path.name for path in tmp_path.iterdir()] == ["empty.db"]


def test_file_of_another_program_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "notes.py").write_text("print('certainly not SQLite')\n" * 100)
    with closing(sqlite3.connect(tmp_path / "places.sqlite")) as other:
        other.execute("CREATE TABLE places (url TEXT)")
    foreign = (("notes.py", "is not a SQLite database"), ("places.sqlite", "belongs to another program"))
    for (name, what), create in product(foreign, (True, False)):
        before = (tmp_path / name).read_bytes()
        with pytest.raises(StoreError, match=rf"{tmp_path}/{name} {what}, .*; name the file of a collector"):
            Store(f"sqlite:///{tmp_path}/{name}", create=create)
        assert (tmp_path / name).read_bytes() == before, (name, create)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
@pytest.mark.usefixtures("store")
def test_a_file_without_permission_is_named(tmp_path: Path) -> None:
    file = tmp_path / "dither.db"
    for mode, what in ((0o400, "write"), (0o000, "read")):
        file.chmod(mode)
        with pytest.raises(ParameterError, match=f"no permission to {what} {file}; run as its owner"):
            Store(f"sqlite:///{file}")
    file.chmod(0o600)
    tmp_path.chmod(0o600)
    with pytest.raises(ParameterError, match="no permission to enter its folder"):
        Store(f"sqlite:///{file}")
    tmp_path.chmod(0o700)


def test_the_first_line_of_an_error_is_its_message() -> None:
    errors = OSError("no answer\n\tIs the server running?"), MemoryError()
    assert list(map(message_of, errors)) == ["database: no answer", "database: MemoryError"]


@pytest.mark.skipif(os.name != "posix", reason="no open file may be moved there")
@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("ending", ["", "-wal"])
def test_a_file_that_is_moved_while_it_is_open_takes_no_commits(
    store: Store, tmp_path: Path, replaced: bool, ending: str
) -> None:
    """SQLite itself would go on, and lose what it takes when the last process closes the file."""
    path = tmp_path / f"dither.db{ending}"
    before, after = upload(), upload()
    store.commit([before], TODAY, SHARD)
    path.rename(tmp_path / "aside")
    if replaced:
        shutil.copyfile(tmp_path / "aside", path)
    for _ in range(2):
        with pytest.raises(StoreError, match=f"{path} was deleted or replaced while it was open; move it back, or res"):
            store.commit([after], TODAY, SHARD)
        with pytest.raises(StoreError, match="deleted or replaced"):
            store.require_writable()
    (tmp_path / "aside").rename(path)
    store.require_writable()
    store.commit([after, before], TODAY, SHARD)
    assert store.tally(THEME).total == 2 * before.reports
