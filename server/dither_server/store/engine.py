"""Read the URL of a database, and open durable connections; the errors of databases.

SQLite is in WAL mode with synchronous=FULL, and PostgreSQL commits synchronously.
"""

import os
import re
import sqlite3
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from stat import S_IFDIR, S_IFMT, S_IFREG
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from dither_serving.problems import StoreError as StoreError  # noqa: PLC0414 - the store exports it
from dither_shared import DitherError, ParameterError
from dither_shared.standard_output import FULL

WRITE = "dither_write"
"""The name of the execution option that marks a connection that will write."""

_DURABLE = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON")

_DRIVERS = {
    "sqlite": "sqlite",
    "sqlite+pysqlite": "sqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}

_EXAMPLES = "for example sqlite:///dither.db or postgresql://user@host/name"

LOCK_WAIT = 5.0
"""Seconds for which a connection waits for SQLite's write lock, unless its owner says otherwise."""


class UnmadeError(ParameterError):
    """The database, its tables or their newest form do not exist yet; a collector creates them when it starts."""


class RacedError(StoreError):
    """Another process wrote the same key after this one had looked for it."""


def sync(path: Path) -> None:
    """Make a file, or the names in a folder, durable. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def unwritten(path: str, error: OSError) -> DitherError:
    """Return the error of a file that cannot be written: a StoreError if the disk is full, else a ParameterError."""
    problem = f"cannot be written: {error.strerror}"
    return StoreError(f"{path}: {problem}") if error.errno in FULL else ParameterError(path, problem)


def message_of(error: Exception) -> str:
    """Return the text of an error: the database's message, without the statement and its values."""
    original = getattr(error, "orig", None) if isinstance(error, SQLAlchemyError) else error
    diagnosis = getattr(original, "diag", None)  # PostgreSQL's message repeats values in its details
    message = getattr(diagnosis, "message_primary", None) or str(original or "") or type(error).__name__
    return f"database: {message.splitlines()[0]}"


def open_engine(
    url: str,
    create: bool,
    lock_wait: float,
    *,
    read_only: bool = False,
    maker: str = "collector",
    pragmas: Sequence[str] = (),
    tables: Collection[str] = (),
) -> sa.Engine:
    """Return an engine for ``url``; raise ParameterError if it cannot be used. Nothing is connected yet.

    A ``read_only`` engine changes nothing, not even files beside the database. ``maker`` is the program that creates
    the database, and ``pragmas`` are further settings of SQLite connections. A SQLite file that has tables, but none
    of ``tables``, belongs to another program: connecting raises StoreError, and does not change it.
    """
    parsed = database_url(url)
    is_sqlite = parsed.get_backend_name() == "sqlite"
    if is_sqlite:
        _check_file(str(parsed.database), create, maker)
    options: dict[str, Any] = {"connect_args": {"timeout": lock_wait}} if is_sqlite else {"pool_pre_ping": True}
    if is_sqlite and read_only:
        options = {"creator": lambda: _connect_to_read(Path(str(parsed.database)), lock_wait)}
    try:
        engine = sa.create_engine(parsed, **options)
    except (ArgumentError, TypeError, ValueError):  # what follows the question mark is the driver's
        raise ParameterError("db", "has an invalid parameter after the question mark") from None
    except ImportError as error:
        raise ParameterError("db", f"the database's driver is not installed ({error})") from None
    if is_sqlite:
        _speak_sqlite(engine, () if read_only else (*pragmas, *_DURABLE), tables)
    else:
        _speak_postgresql(engine, read_only)
    return engine


def database_url(text: str) -> sa.URL:
    """Return the parsed URL of a database; raise ParameterError, which never shows a password, if it is not one."""
    try:
        url = sa.make_url(text)
    except (ArgumentError, ValueError):  # a ValueError for a port that is not a number
        raise ParameterError("db", f"not a database URL; {_EXAMPLES}") from None
    if url.drivername not in _DRIVERS:
        raise ParameterError("db", f"{url.drivername} is neither sqlite nor postgresql; {_EXAMPLES}")
    url = url.set(drivername=_DRIVERS[url.drivername])
    if url.drivername == "sqlite":
        if url.host or not url.database or url.database == ":memory:" or "\0" in url.database:
            raise ParameterError("db", "in-memory databases lose all reports; name a file such as sqlite:///dither.db")
        # SQLite follows a link, and keeps its log beside the target; so do our locks.
        if os.path.islink(url.database):  # noqa: PTH114 - Path.is_symlink raises if a folder may not be entered
            url = url.set(database=os.path.realpath(url.database))
    elif "@" in (url.host or ""):
        raise ParameterError("db", "has two @; one in a password is written %40")
    elif url.port is not None and not 0 < url.port < 1 << 16:
        raise ParameterError("db", f"the port {url.port} is not between 1 and 65535")
    return url


def without_password(text: str) -> str:
    """Return the text of a database's URL, right or wrong, with stars for its password."""
    text = re.sub(r"(://[^:/?#]*):.*@", r"\1:***@", text, flags=re.DOTALL)
    return re.sub(r"(password=)[^&]*", r"\1***", text, flags=re.IGNORECASE)


def sqlite_path(engine: sa.Engine) -> Path | None:
    """Return the file of an engine's database, or None if it is not SQLite."""
    if engine.dialect.name != "sqlite" or engine.url.database is None:
        return None
    return Path(engine.url.database)


def database_file(url: str) -> Path | None:
    """Return the file of a database, or None if it is not SQLite."""
    parsed = database_url(url)
    return Path(str(parsed.database)) if parsed.get_backend_name() == "sqlite" else None


def make_private(path: Path) -> None:
    """Create a file that only its owner may read, unless it exists; SQLite gives its log the same mode.

    Errors are ignored here, because SQLite meets and reports them next.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def _check_file(path: str, create: bool, maker: str) -> None:
    try:
        there = S_IFMT(Path(path).stat().st_mode)
    except PermissionError:
        raise ParameterError("db", f"{path} cannot be reached: no permission to enter its folder") from None
    except (OSError, ValueError):
        there = 0
    if there == S_IFDIR:
        raise ParameterError("db", f"{path} is a folder; name a file in it")
    if not create and there != S_IFREG:
        raise UnmadeError("db", f"{path} does not exist; a {maker} has not run on it yet")
    if create and not Path(path).absolute().parent.is_dir():
        raise ParameterError("db", f"{path} cannot be made; its folder does not exist")
    if there and not os.access(path, os.R_OK):
        raise ParameterError("db", f"no permission to read {path}; run as its owner")
    if there and create and not os.access(path, os.W_OK):
        raise ParameterError("db", f"no permission to write {path}; run as its owner")


def _connect_to_read(path: Path, lock_wait: float) -> sqlite3.Connection:
    """Return a connection that cannot write.

    While a collector has the file open, its log is read, too. If there is no log, SQLite would create one and leave it
    behind, possibly owned by another user, so that the collector could no longer open its own database. So SQLite is
    opened as immutable in that case.
    """
    still = "" if path.with_name(path.name + "-wal").exists() else "&immutable=1"
    uri = f"{path.absolute().as_uri()}?mode=ro{still}"
    return sqlite3.connect(uri, uri=True, timeout=lock_wait)


def _require_ours(connection: Any, path: str | None, tables: Collection[str]) -> None:
    """Raise StoreError if a file is not a database, or another program's. This only reads; pragmas would change it."""
    right = "name the file of a collector or relay, or one that does not exist yet"
    try:
        found = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_NOTADB:
            raise
        raise StoreError(f"database: {path} is not a SQLite database, or its header is damaged; {right}") from None
    if found and tables and found.isdisjoint(tables):
        raise StoreError(f"database: {path} belongs to another program, and holds no dither tables; {right}")


class _Files:
    """The files that SQLite has open. Commits to a file that was deleted or replaced would be lost."""

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()
        self._log = path.absolute().with_name(path.name + "-wal")
        self._opened: tuple[int, int] | None = None

    def connected(self) -> None:
        """Note the identity of the file at the first connection."""
        self._opened = self._opened or _identity(self._path)

    def require_same(self, info: dict[Any, Any], *, writes: bool) -> None:
        """Raise StoreError if the database file or, if ``writes``, its write-ahead log was replaced by another file.

        ``info`` is the connection's own dictionary, which keeps the identity of the log from its first write. SQLite
        removes the log only when its last connection ends.
        """
        if _identity(self._path) != self._opened:
            raise _moved(self._path)
        if writes and info.setdefault(self._log, found := _identity(self._log)) != found:
            raise _moved(self._log)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"database: {path} cannot be reached ({error.strerror})") from None
    return found.st_dev, found.st_ino


def _moved(path: Path) -> StoreError:
    return StoreError(f"database: {path} was deleted or replaced while it was open; move it back, or restart")


def _speak_sqlite(engine: sa.Engine, pragmas: Sequence[str], tables: Collection[str]) -> None:
    """Make SQLite durable, and begin transactions explicitly instead of letting the Python driver guess."""
    files = _Files(Path(str(engine.url.database)))

    @sa.event.listens_for(engine, "connect")
    def _connected(connection: Any, _record: object) -> None:
        connection.isolation_level = None
        files.connected()
        _require_ours(connection, engine.url.database, tables)
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}").close()

    @sa.event.listens_for(engine, "begin")
    def _begun(connection: sa.Connection) -> None:
        # A writer takes its lock at once: upgrading a read lock later can fail however long it waits.
        writes = connection.get_execution_options().get(WRITE)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
        files.require_same(connection.connection.info, writes=bool(writes))


def _speak_postgresql(engine: sa.Engine, read_only: bool) -> None:
    @sa.event.listens_for(engine, "connect")
    def _connected(connection: Any, _record: object) -> None:
        # Devices delete what a commit acknowledges, so a power cut must not undo it, whatever the server's default.
        with connection.cursor() as cursor:
            is_off = "current_setting('synchronous_commit') = 'off'"
            cursor.execute(f"SELECT set_config('synchronous_commit', 'on', false) WHERE {is_off}")
            if read_only:
                cursor.execute("SET default_transaction_read_only = on")
        connection.commit()

    @sa.event.listens_for(engine, "handle_error")
    def _failed(context: sa.engine.ExceptionContext) -> None:
        # A connection that fails its test, with whatever error, cannot be used again: psycopg, if cut off at that
        # moment, reports a transaction error, not a connection error, and the pool would offer the same one for ever.
        if context.is_pre_ping:
            context.is_disconnect = True
