"""A database as a whole: its schema, opening and closing it, transactions, and checks of its condition."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from dither_shared import DitherError, ParameterError

from .engine import (
    LOCK_WAIT,
    WRITE,
    RacedError,
    StoreError,
    UnmadeError,
    make_private,
    message_of,
    open_engine,
    sqlite_path,
)
from .lock import ProcessLock
from .schema import METRICS, REVISION, SCHEMA

_ONE_AT_A_TIME = 0x646974686572
"""Key of the PostgreSQL advisory lock held while the schema is created or upgraded: "dither"."""


class DatabaseSchema(NamedTuple):
    """The tables of a program, and the steps that upgrade those of its earlier releases.

    A new database gets all ``tables``. ``revision`` is the one of them that records the schema of a database: "0001" at
    first, and one more for each of the ``upgrades``, which never change once they are released. ``table`` exists since
    the first release. ``pragmas`` are set on each SQLite connection that writes. ``apart`` is a table of the program
    that must not share a database with this one, because relay and collector must see only one half each.
    """

    maker: str
    tables: sa.MetaData
    revision: sa.Table
    table: sa.Table
    upgrades: tuple[Callable[[sa.Connection], object], ...] = ()
    pragmas: tuple[str, ...] = ()
    apart: str = ""

    @property
    def head(self) -> str:
        """The number of this program's schema."""
        return _numbered(len(self.upgrades))


COLLECTOR = DatabaseSchema("collector", SCHEMA, REVISION, METRICS, apart="relay_pools")


def migrate(connection: sa.Connection, schema: DatabaseSchema = COLLECTOR) -> None:
    """Create or upgrade the tables, in the connection's transaction.

    Raises ParameterError if this program cannot upgrade the tables that are there: if a newer program made them, if
    their schema is unknown, or if they belong to a program that must not share a database with this one.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_ONE_AT_A_TIME)))
    if sa.inspect(connection).has_table(schema.apart):
        raise ParameterError(
            "db", f"holds the table {schema.apart}; relay and collector must not share a database, so name another"
        )
    found = _revision(connection, schema)
    if found is None:
        schema.tables.create_all(connection, checkfirst=False)
        connection.execute(sa.insert(schema.revision).values(version_num=schema.head))
        return
    require_known(found, schema=schema)
    known = [_numbered(number) for number in range(len(schema.upgrades) + 1)]
    if found not in known:
        raise ParameterError("db", f"has the unknown schema {found}, which this program cannot upgrade")
    for upgrade in schema.upgrades[known.index(found) :]:
        upgrade(connection)
    if found != schema.head:
        connection.execute(sa.update(schema.revision).values(version_num=schema.head))


def require_current(connection: sa.Connection, schema: DatabaseSchema = COLLECTOR) -> None:
    """Raise ParameterError unless the tables are there, as this program knows them."""
    if not sa.inspect(connection).has_table(schema.table.name):
        raise UnmadeError(
            "db", f"{connection.engine.url.database} holds no dither tables; a {schema.maker} has not run on it yet"
        )
    found = _revision(connection, schema)
    require_known(found, schema=schema)
    if found != schema.head:
        raise UnmadeError(
            "db", f"has schema {found}, this program {schema.head}; a {schema.maker} upgrades it when it starts"
        )


def require_known(found: str | None, place: str = "db", schema: DatabaseSchema = COLLECTOR) -> None:
    """Raise ParameterError if a schema is newer than this program."""
    if found is not None and found > schema.head:  # they are numbered
        raise ParameterError(
            place, f"has schema {found} of a newer dither, this program {schema.head}; install the newer one"
        )


def _revision(connection: sa.Connection, schema: DatabaseSchema) -> str | None:
    """Return the schema of the tables, None if there are none. They are made in one transaction, so it is with them."""
    there = sa.inspect(connection)
    revision: str | None = None
    if there.has_table(schema.revision.name):
        revision = connection.scalar(sa.select(schema.revision.c.version_num))
    if revision is None and there.has_table(schema.table.name):
        raise ParameterError("db", "holds dither tables, but not their schema: it is damaged; restore the last backup")
    return revision


def _numbered(upgrades: int) -> str:
    return f"{upgrades + 1:04}"


_WRITES = {"sqlite": "PRAGMA user_version = 0", "postgresql": "SELECT txid_current()"}
"""Statements that make a transaction write, but change nothing."""


class Disk(NamedTuple):
    """Bytes of a file system: free, and total."""

    free: int
    size: int


class Condition(NamedTuple):
    """The facts about a database that a monitoring system needs.

    ``engine`` is its name and version, ``size`` its bytes in all, and ``wal`` those of the write-ahead log beside a
    SQLite file. ``ids`` is the number of stored batch ids, estimated if they are many. ``disk`` is None if the
    database is on another machine.
    """

    engine: str
    size: int
    wal: int | None
    ids: int
    disk: Disk | None


class Database:
    """A database, whatever it stores.

    ``room`` is the free disk space below which writes are likely to fail: a few commits and SQLite's log.
    """

    room = 1 << 22

    def __init__(
        self,
        url: str,
        *,
        create: bool = True,
        lock_wait: float = LOCK_WAIT,
        read_only: bool = False,
        schema: DatabaseSchema = COLLECTOR,
    ) -> None:
        """Open the database at ``url``; with ``create``, create or upgrade its tables.

        With ``read_only`` nothing is written, not even files beside the database. Raises ParameterError if the URL
        cannot be used, StoreError if the database cannot.
        """
        self._schema = schema
        self._failed = False
        self._engine = open_engine(
            url,
            create,
            lock_wait,
            read_only=read_only,
            maker=schema.maker,
            pragmas=schema.pragmas,
            tables=(schema.table.name, schema.apart),
        )
        path = sqlite_path(self._engine)
        if create and path is not None:
            make_private(path)
        taken = f"locked by another {schema.maker}'s commit"
        self._lock = None if path is None else ProcessLock(path.with_name(path.name + ".lock"), taken=taken)
        self._lock_wait = lock_wait
        try:
            with self._transaction(write=create) as connection:
                if create:
                    migrate(connection, schema)
                else:
                    require_current(connection, schema)
        except DitherError:
            self.close()
            raise

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    def checkpoint(self) -> None:
        """Copy what is committed from SQLite's log into the database file, as far as readers allow it."""
        path = sqlite_path(self._engine)
        if path is not None and path.is_file():
            with suppress(SQLAlchemyError, StoreError), self._engine.connect() as connection:
                connection.execution_options(isolation_level="AUTOCOMMIT").exec_driver_sql(
                    "PRAGMA wal_checkpoint(TRUNCATE)"
                )

    def ping(self) -> None:
        """Raise StoreError if the database cannot be read."""
        with self._transaction() as connection:
            connection.execute(sa.select(sa.literal(1)).select_from(self._schema.table).limit(1))

    def require_writable(self) -> None:
        """Raise StoreError if writes fail, or will soon.

        A write is tried only after one has failed, so that frequent health checks cost the disk nothing.
        """
        self.ping()
        self.require_room()
        if self._failed:
            with self._transaction(write=True) as connection:
                connection.exec_driver_sql(_WRITES[self._engine.dialect.name])
            self._failed = False

    def require_room(self, spare: int = 0) -> None:
        """Raise StoreError if less than ``room`` is free on the database's disk, counting ``spare`` as free.

        A database on another machine passes.
        """
        disk = self.disk()
        if disk is not None and disk.free + spare < self.room:
            raise StoreError(
                f"database: {disk.free:,} bytes are left on its disk, {self.room:,} are needed; make room there"
            )

    def disk(self) -> Disk | None:
        """Return the file system that the database is on, or None if it is on another machine. Raises StoreError."""
        path = sqlite_path(self._engine)
        try:
            return None if path is None else disk_of(path)
        except OSError as error:
            raise StoreError(f"database: the free space of its disk is unknown ({error.strerror})") from None

    def schema(self) -> str:
        """Return the schema of the tables, which is that of this program."""
        return self._schema.head

    def damage(self) -> str:
        """Check all pages of a SQLite database; return the first damage found, or ""."""
        with self._transaction() as connection:
            found = str(connection.exec_driver_sql("PRAGMA quick_check(1)").scalar())
        return "" if found == "ok" else found.splitlines()[-1]

    def clock(self) -> datetime | None:
        """Return the time of the database's machine, or None if it is this one."""
        if self._engine.dialect.name == "sqlite":
            return None
        with self._transaction() as connection:
            now: datetime | None = connection.scalar(sa.select(sa.func.clock_timestamp()))
        return now

    def doubts(self) -> list[str]:
        """Return the settings of the database that endanger acknowledged reports."""
        if self._engine.dialect.name != "postgresql":
            return []
        with self._transaction() as connection:
            settings = ("fsync", "full_page_writes")
            off = [name for name in settings if connection.exec_driver_sql(f"SHOW {name}").scalar() == "off"]
            copies = connection.scalar(sa.select(sa.func.pg_is_in_recovery()))
        doubts = [f"the database runs with {name} off: a power cut may lose what was acknowledged" for name in off]
        return [*doubts, "the database is a replica, which takes no reports"] if copies else doubts

    @contextmanager
    def _transaction(self, *, write: bool = False) -> Iterator[sa.Connection]:
        """Open a transaction. A reading one sees a snapshot of the database."""
        alone = self._lock.held(self._lock_wait) if write and self._lock is not None else nullcontext()
        try:
            with alone, self._engine.connect() as connection:
                connection.execution_options(**{WRITE: write})
                if not write and connection.dialect.name == "postgresql":
                    # SQLite reads one snapshot in any case. Without a snapshot, a day that is closed between two
                    # statements would be read twice: as blocks, and as chunks.
                    connection.execution_options(isolation_level="REPEATABLE READ")
                with connection.begin():
                    yield connection
        except IntegrityError as error:
            raise RacedError(message_of(error)) from error
        except StoreError:  # an error of the lock, or of a file that is gone
            self._failed = self._failed or write
            raise
        except SQLAlchemyError as error:
            self._failed = self._failed or write
            raise StoreError(message_of(error)) from error


def disk_of(path: Path) -> Disk:
    """Return the file system of a file. Raises OSError."""
    usage = shutil.disk_usage(path.absolute().parent)
    return Disk(usage.free, usage.total)


def bytes_of(path: Path) -> int:
    """Return the size of a file, 0 if there is none."""
    try:
        return path.stat().st_size
    except OSError:  # deleted since, as the log is when the last process closes the database
        return 0
