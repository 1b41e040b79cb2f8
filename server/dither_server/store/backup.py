"""Copy a SQLite database while collectors write to it, and restore it from the copy.

A plain copy of the file is no backup: the last commits are still in the ``-wal`` file beside it.
"""

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from dither_shared import ParameterError

from .database import require_known
from .engine import StoreError, make_private, open_engine, sqlite_path, sync, unwritten

_STEP = 1024
"""Pages copied per step, after which the copy can be interrupted: 4 MiB."""

_BESIDE = ("", "-journal", "-wal", "-shm")
"""Suffixes of the files that a SQLite database may consist of."""


def back_up(url: str, target: Path, *, overwrite: bool = False) -> int:
    """Write a copy of the current database to one file, and return its size. Writers continue during the copy.

    The file appears only when it is complete. Raises ParameterError for an impossible target, StoreError if the copy
    fails.
    """
    source = _file_of(url, create=False, instead=f"pg_dump --format=custom --file={target}")
    _check_target(target, source, overwrite)
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
        os.close(descriptor)
    except OSError as error:
        raise unwritten(str(target), error) from None
    part = Path(name)
    try:
        with _sqlite_errors(source), closing(_connect(source)) as ours:
            _require_dither(ours, source)
            with _sqlite_errors(target), closing(_connect(part)) as copy:
                _copy(ours, copy)
                copy.execute("PRAGMA journal_mode=DELETE")  # one complete file
        _put_in_place(part, target)
    finally:
        _remove(part)
    return target.stat().st_size


def restore(url: str, source: Path, *, overwrite: bool = False) -> str:
    """Make the database a copy of the file that ``back_up`` wrote, and return the file's schema.

    The file is checked first; the database is unchanged if anything fails. Raises ParameterError for a file that is no
    such copy, and for an existing database unless it may be overwritten; StoreError if the copy fails or another
    process has the database open.
    """
    target = _file_of(url, create=True, instead=f"pg_restore --clean --if-exists {source}")
    there = target.exists() and target.stat().st_size > 0
    if not source.is_file():
        raise ParameterError(str(source), "is not a file")
    if target.exists() and target.samefile(source):
        raise ParameterError(str(source), "is the database itself")
    if there and not overwrite:
        raise ParameterError(str(target), "already exists; --overwrite replaces all that is in it")
    with _sqlite_errors(source), closing(_connect(source, "ro")) as backup:
        schema = _checked(backup, source)
        make_private(target)
        try:
            with _sqlite_errors(target), closing(_connect(target, "rwc")) as database:
                _take_alone(database, target)
                _copy(backup, database)
        except BaseException:
            if not there:
                _remove(target)
            raise
    return schema


def _file_of(url: str, *, create: bool, instead: str) -> Path:
    """Return the file behind a URL; raise ParameterError that says what to do ``instead`` if there is none."""
    engine = open_engine(url, create, 5.0)
    path = sqlite_path(engine)
    engine.dispose()
    if path is None:
        plain = engine.url.set(drivername="postgresql").render_as_string(hide_password=True)
        raise ParameterError("db", f"PostgreSQL's own tools copy it: {instead} --dbname={plain}")
    return path.resolve()


def _check_target(target: Path, source: Path, overwrite: bool) -> None:
    if target.is_dir():
        raise ParameterError(str(target), "is a folder; name a file")
    if target.resolve() in {source.with_name(source.name + ending) for ending in (*_BESIDE, ".lock", ".fold.lock")}:
        raise ParameterError(str(target), "is the database itself; name another file")
    if target.exists() and not target.is_file():
        raise ParameterError(str(target), "is not a plain file")
    if target.exists() and not overwrite:
        raise ParameterError(str(target), "already exists; --overwrite replaces it")


def _connect(path: Path, mode: str = "rw") -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None, timeout=1.0)


def _copy(source: sqlite3.Connection, target: sqlite3.Connection) -> None:
    """Copy all pages as they are now. Without a transaction each commit would restart the copy."""
    source.execute("BEGIN")
    source.execute("SELECT count(*) FROM sqlite_master").fetchone()
    source.backup(target, pages=_STEP, progress=lambda *_: None)  # the callback runs Python code, so Ctrl-C works
    source.execute("ROLLBACK")


def _checked(backup: sqlite3.Connection, path: Path) -> str:
    """Return the schema of a backup; raise ParameterError unless it is complete and this program knows the schema."""
    schema = _require_dither(backup, path)
    require_known(schema, str(path))
    (found,) = backup.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok":
        raise ParameterError(str(path), f"is damaged: {found}")
    return schema


def _require_dither(connection: sqlite3.Connection, path: Path) -> str:
    """Return the schema of a dither database; raise ParameterError for another program's."""
    names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if not {"alembic_version", "tallies", "batches"} <= names:
        raise ParameterError(str(path), "holds no dither tables")
    found = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    if found is None:
        raise ParameterError(str(path), "holds dither tables, but not their schema: it is damaged")
    return str(found[0])


def _take_alone(database: sqlite3.Connection, path: Path) -> None:
    """Lock a database; a collector that has it open caches what it has counted, and the cache would be wrong."""
    try:
        (mode,) = database.execute("PRAGMA journal_mode=DELETE").fetchone()  # fails while another process has it open
        database.execute("PRAGMA synchronous=FULL")
    except sqlite3.OperationalError:
        mode = "wal"
    if mode != "delete":
        raise StoreError(f"{path}: in use; stop every collector and command that has it open first")


def _put_in_place(part: Path, target: Path) -> None:
    """Rename a finished file and make that durable."""
    try:
        sync(part)
        part.replace(target)
        sync(target.parent)
    except OSError as error:
        raise StoreError(f"{target}: cannot be written ({error.strerror})") from None


def _remove(path: Path) -> None:
    for ending in _BESIDE:
        with suppress(OSError):
            path.with_name(path.name + ending).unlink()


@contextmanager
def _sqlite_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into a StoreError that names the file."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"{path}: {error}") from None
