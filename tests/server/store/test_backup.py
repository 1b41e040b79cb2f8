"""Backup and restore: whole or not there, under load, and nothing lost that was acknowledged before."""

import os
import signal
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dither_server.cli.main import cli
from dither_server.store import Store, StoreError, back_up
from dither_server.store.database import COLLECTOR
from dither_shared import ParameterError
from dither_shared.metrics.period import utc_today
from forkserver import run
from server.collecting import COUNTED, METRICS, SHARD, THEME, TODAY, batch, environment, running, upload
from server.database import url_of
from server.test_process import PATIENCE, send, tally


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a collector has counted three reports."""
    (tmp_path / "old").mkdir()
    with closing(Store(url_of(tmp_path))) as store:
        store.register(METRICS.values())
        store.commit([upload()], TODAY, SHARD)
    return tmp_path


def invoke(folder: Path, *arguments: object) -> Result:
    return CliRunner().invoke(cli, list(map(str, arguments)), env=environment(folder))


def tried(folder: Path, *arguments: object) -> tuple[int, str]:
    result = invoke(folder, *arguments)
    assert isinstance(result.exception, SystemExit)
    assert result.stderr.count("\n") == 1
    return result.exit_code, result.stderr


def into(folder: Path) -> Path:
    """A folder for another database."""
    (folder / "new").mkdir()
    return folder / "new"


def test_a_backup_under_load_holds_all_that_was_acknowledged_before_it_began(tmp_path: Path) -> None:
    ids = [os.urandom(16) for _ in range(150)]
    bodies = [batch(THEME, b"\x00", one.hex()).encode() for one in ids]
    saved = tmp_path / "saved.db"
    with running(tmp_path) as (address, process):
        assert send(address, bodies[:50], 50, threading.Event()) == []
        under_way, left = threading.Event(), list[bytes]()
        load = threading.Thread(target=lambda: left.extend(send(address, bodies[50:], 30, under_way)))
        load.start()
        assert under_way.wait(PATIENCE)  # these 80 are acknowledged, and more are being sent
        assert invoke(tmp_path, "backup", saved).exit_code == 0
        load.join(3 * PATIENCE)
        assert left == []
        refused = tried(tmp_path, "restore", saved, "--overwrite")
        assert refused == (1, f"dither-server: {tmp_path}/dither.db: in use; stop every collector and command that has "
                              "it open first\n")  # fmt: skip
        process.kill()
        process.communicate()
    new = into(tmp_path)
    assert invoke(new, "restore", saved).exit_code == 0
    held = tally(new, THEME).total
    assert 80 <= held <= 150
    with closing(Store(url_of(new))) as store:  # devices retry as long as they may: each batch still counts once
        for some, counted in ((ids[:50], held), (ids, 150)):
            uploads = [upload(rows=b"\x00", name=one) for one in some]
            assert store.commit(uploads, utc_today(), SHARD) == [COUNTED] * len(some)
            assert store.tally(THEME).total == counted


def test_a_copy_of_the_file_alone_lacks_what_came_last(folder: Path) -> None:
    """The reason for the command: while a collector runs, its latest counts are in the log beside the file."""
    with closing(Store(url_of(folder))) as store:
        store.commit([one := upload()], TODAY, SHARD)
        (folder / "old" / "dither.db").write_bytes((folder / "dither.db").read_bytes())
        assert back_up(url_of(folder), folder / "saved.db") == (folder / "saved.db").stat().st_size
    assert tally(folder / "old", THEME).total < 6
    new = into(folder)
    assert invoke(new, "restore", folder / "saved.db").exit_code == 0
    with closing(Store(url_of(new))) as store:
        assert store.tally(THEME).total == 6
        assert store.commit([one], TODAY, SHARD) == [COUNTED]
        assert store.tally(THEME).total == 6


def test_a_backup_is_one_file_that_only_its_owner_reads(folder: Path) -> None:
    saved = folder / "old" / "saved.db"
    assert invoke(folder, "backup", saved).exit_code == 0
    assert [path.name for path in saved.parent.iterdir()] == ["saved.db"]
    assert saved.stat().st_mode & 0o777 == 0o600
    assert invoke(new := into(folder), "restore", saved).exit_code == 0
    assert (new / "dither.db").stat().st_mode & 0o777 == 0o600
    assert tried(folder, "backup", saved)[1].endswith("already exists; --overwrite replaces it\n")
    assert invoke(folder, "backup", saved, "--overwrite").exit_code == 0


def test_backup_to_the_database_itself_or_to_no_plain_file_is_refused(folder: Path) -> None:
    (folder / "link.db").symlink_to(folder / "dither.db")
    before = (folder / "dither.db").read_bytes()
    for name, what in (
        ("dither.db", "is the database itself"),
        ("old/../dither.db", "is the database itself"),
        ("link.db", "is the database itself"),
        ("dither.db-wal", "is the database itself"),
        ("dither.db.lock", "is the database itself"),
        ("old", "is a folder; name a file"),
        ("/dev/full", "is not a plain file"),
        ("missing/saved.db", "cannot be written: No such file or directory"),
    ):
        code, line = tried(folder, "backup", folder / name, "--overwrite")
        assert (code, what in line) == (2, True), line
        assert (folder / "dither.db").read_bytes() == before, name


FULL = """
import resource, signal, sys
from dither_server.cli.main import cli

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, 65_536))
cli(sys.argv[1:], prog_name="dither-server")
"""
"""The command, in a process that can write no file beyond 64 KiB; the database is larger."""


def fail_for_room(folder: Path, *arguments: object) -> None:
    ended = run("-c", FULL, *map(str, arguments), "--overwrite", env=environment(folder))
    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1), ended.stderr


def test_a_disk_that_fills_leaves_no_half_file_and_what_was_there(folder: Path) -> None:
    saved = folder / "old" / "saved.db"
    saved.write_text("the backup of yesterday", encoding="utf-8")
    fail_for_room(folder, "backup", saved)
    assert [path.name for path in saved.parent.iterdir()] == ["saved.db"]
    assert saved.read_text(encoding="utf-8") == "the backup of yesterday"


def test_a_disk_that_fills_while_restoring_leaves_the_database_as_it_was(folder: Path) -> None:
    saved, new = folder / "saved.db", into(folder)
    back_up(url_of(folder), saved)
    fail_for_room(new, "restore", saved)
    assert list(new.iterdir()) == []
    anothers(new / "dither.db")
    before = (new / "dither.db").read_bytes()
    fail_for_room(new, "restore", saved)
    assert (new / "dither.db").read_bytes() == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_backup_leaves_no_half_file(
    number: signal.Signals, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(sqlite3.Connection):
        def backup(self, *arguments: object, progress: Callable[..., object], **extra: object) -> None:  # type: ignore[override]
            def interrupting(_: int, remaining: int, total: int) -> object:
                if remaining < total - 3:
                    signal.raise_signal(number)
                return progress(0, remaining, total)

            super().backup(*arguments, progress=interrupting, **extra | {"pages": 1})  # type: ignore[arg-type]

    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Interrupted))
    result = invoke(folder, "backup", folder / "old" / "saved.db")
    assert result.exit_code == (1 if number == signal.SIGINT else 128 + number)
    assert list((folder / "old").iterdir()) == []


def test_restore_overwrites_only_with_the_option(folder: Path) -> None:
    saved, new = folder / "saved.db", into(folder)
    back_up(url_of(folder), saved)
    with closing(Store(url_of(new))) as store:
        store.register(METRICS.values())
        store.commit([upload(), upload()], TODAY, SHARD)
    code, line = tried(new, "restore", saved)
    assert (code, "--overwrite" in line, tally(new, THEME).total) == (2, True, 6)
    assert invoke(new, "restore", saved, "--overwrite").exit_code == 0
    assert tally(new, THEME).total == 3
    assert tried(new, "restore", new / "dither.db", "--overwrite")[1].endswith("is the database itself\n")


def changed(*statements: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection, connection:
            for statement in statements:
                connection.execute(statement)

    return change


def damaged(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096 * 3 : 4096 * 4] = os.urandom(4096)
    path.write_bytes(content)


def anothers(path: Path) -> None:
    path.unlink(missing_ok=True)
    changed("CREATE TABLE songs (name)")(path)


def test_restore_refuses_a_file_that_is_no_whole_backup(folder: Path) -> None:
    saved, new = folder / "saved.db", into(folder)
    newer = changed("UPDATE alembic_version SET version_num = '9999'")
    for spoil, what in (
        (damaged, "saved.db: "),
        (lambda path: path.write_bytes(path.read_bytes()[:-5000]), "saved.db: "),
        (lambda path: path.write_bytes(b""), "holds no dither tables"),
        (lambda path: path.write_bytes(b"certainly not SQLite\n" * 1000), "file is not a database"),
        (newer, f"has schema 9999 of a newer dither, this program {COLLECTOR.head}"),
        (changed("DELETE FROM alembic_version"), "holds dither tables, but not their schema: it is damaged"),
        (anothers, "holds no dither tables"),
        (Path.unlink, "is not a file"),
    ):
        back_up(url_of(folder), saved, overwrite=True)
        spoil(saved)
        code, line = tried(new, "restore", saved)
        assert (code in {1, 2}, what in line) == (True, True), line
        assert list(new.iterdir()) == [], spoil


def test_an_older_database_is_saved_before_the_upgrade(folder: Path) -> None:
    changed("UPDATE alembic_version SET version_num = '0000'")(folder / "dither.db")
    assert invoke(folder, "backup", folder / "saved.db").exit_code == 0
    changed(f"UPDATE alembic_version SET version_num = '{COLLECTOR.head}'")(folder / "saved.db")  # noqa: S608
    assert invoke(new := into(folder), "restore", folder / "saved.db").exit_code == 0
    assert tally(new, THEME).total == 3


def test_only_a_database_of_ours_is_saved(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="does not exist"):
        back_up(url_of(tmp_path), tmp_path / "saved.db")
    anothers(tmp_path / "dither.db")
    with pytest.raises((ParameterError, StoreError), match="holds no dither tables"):
        back_up(url_of(tmp_path), tmp_path / "saved.db")
    assert not (tmp_path / "saved.db").exists()


def test_backup_and_restore_of_postgresql_name_the_tools_to_use(folder: Path) -> None:
    db = ("--db", "postgresql://user:secret@host/telemetry")
    for verb, tool in (("backup", "pg_dump --format=custom"), ("restore", "pg_restore --clean")):
        code, line = tried(folder, verb, folder / "saved.db", *db)
        assert (code, tool in line, "secret" in line) == (2, True, False)
        assert "--dbname=postgresql://user:***@host/telemetry" in line
