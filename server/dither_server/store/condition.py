"""The size of a database, about how many batch ids it stores, and the free space on its disk."""

import shutil
from pathlib import Path
from typing import NamedTuple

import sqlalchemy as sa

from .batch_ids import count_ids
from .engine import sqlite_path


class Disk(NamedTuple):
    """Bytes of a file system: those that may still be written, and all."""

    free: int
    size: int


class Condition(NamedTuple):
    """What a monitoring system asks of a database.

    ``engine`` is its name and version, ``size`` its bytes in all, and ``wal`` those of the write-ahead log beside a
    SQLite file. ``ids`` is the number of stored batch ids, estimated if they are many. ``disk`` is None if the
    database is on another machine.
    """

    engine: str
    size: int
    wal: int | None
    ids: int
    disk: Disk | None


def condition_of(connection: sa.Connection) -> Condition:
    """Return the condition of a database."""
    ids = count_ids(connection)
    path = sqlite_path(connection.engine)
    if path is None:
        size = connection.scalar(sa.select(sa.func.pg_database_size(sa.func.current_database()))) or 0
        version = str(connection.exec_driver_sql("SHOW server_version").scalar())
        return Condition(f"postgresql {version.partition(' ')[0]}", int(size), None, ids, None)
    version = str(connection.scalar(sa.select(sa.func.sqlite_version())))
    wal = bytes_of(path.with_name(path.name + "-wal"))
    return Condition(f"sqlite {version}", bytes_of(path) + wal, wal, ids, disk_of(path))


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
