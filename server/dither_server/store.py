"""The database: registered metric versions, batch ids, and tallies per day. The only module that knows SQL.

Nothing here tells one person from another: no address, no user, no time finer than a UTC day. Of a batch there remain
its random id, a digest that recognises a retry, and the day; of its reports there remain sums.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, IntegrityError, SQLAlchemyError

from dither_shared import DitherError, Metric, ParameterError

from .blocks import Blocks, from_blocks, from_bytes, no_blocks, to_blocks, to_bytes
from .definitions import from_json, to_json
from .fold import fold
from .tally import Tally

__all__ = ["Store", "StoreError", "Upload"]

_schema = sa.MetaData()
_metrics = sa.Table(
    "metrics",
    _schema,
    sa.Column("version", sa.String(16), primary_key=True),
    sa.Column("name", sa.String(64), nullable=False, index=True),
    sa.Column("definition", sa.Text, nullable=False),
)
_batches = sa.Table(
    "batches",
    _schema,
    sa.Column("batch", sa.LargeBinary(16), primary_key=True),
    sa.Column("digest", sa.LargeBinary(16), nullable=False),
    sa.Column("day", sa.Date, nullable=False),
)
# Each process has a shard of its own, so that writers never meet on a row; a reader sums the shards.
_tallies = sa.Table(
    "tallies",
    _schema,
    sa.Column("version", sa.ForeignKey(_metrics.c.version), primary_key=True),
    sa.Column("day", sa.Date, primary_key=True),
    sa.Column("shard", sa.LargeBinary(16), primary_key=True),
    sa.Column("block", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("counts", sa.LargeBinary, nullable=False),
)


_AT_ONCE = 5_000
"""Values of one statement: PostgreSQL takes 65,535, SQLite 32,766."""


class StoreError(DitherError):
    """The database cannot be read or written now; nothing of what was asked has happened."""


@dataclass(frozen=True)
class Upload:
    """A batch that is ready to be counted: valid rows of a registered metric."""

    batch: bytes
    metric: Metric
    rows: bytes

    @cached_property
    def digest(self) -> bytes:
        """What recognises the same batch sent again. Its id is the key, so equal rows of two batches do not show."""
        content = self.metric.version.encode("ascii") + self.rows  # a version belongs to one metric
        return hashlib.blake2b(content, digest_size=16, key=self.batch).digest()


class Store:
    """One database. Safe to use from many threads, with one of them writing."""

    def __init__(self, url: str, *, create: bool = True, lock_wait: float = 5.0) -> None:
        """Open the database at ``url``; with ``create`` make what is missing.

        Raises ParameterError for a URL that cannot be used, StoreError for a database that cannot.
        """
        self._engine = _engine(url, create, lock_wait)
        try:
            with self._transaction(write=create) as connection:
                if create:
                    _schema.create_all(connection)
                elif not sa.inspect(connection).has_table(_tallies.name):
                    raise ParameterError("db", "holds no dither tables; a collector has not run on it yet")
        except DitherError:
            self.close()
            raise

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    def ping(self) -> None:
        """Raise StoreError if the database cannot be read."""
        with self._transaction() as connection:
            connection.execute(sa.select(_metrics.c.version).limit(1))

    def register(self, metrics: Iterable[Metric]) -> None:
        """Write down the definitions of these versions; what numbers depend on cannot change under a version."""
        with self._transaction(write=True) as connection:
            known = set(connection.scalars(sa.select(_metrics.c.version)))
            for metric in metrics:
                row = {"version": metric.version, "name": metric.name, "definition": to_json(metric)}
                if metric.version in known:
                    connection.execute(sa.update(_metrics).where(_metrics.c.version == metric.version).values(row))
                else:
                    connection.execute(sa.insert(_metrics).values(row))

    def versions(self, name: str) -> list[str]:
        """Return every registered version of a metric."""
        query = sa.select(_metrics.c.version).where(_metrics.c.name == name).order_by(_metrics.c.version)
        with self._transaction() as connection:
            return list(connection.scalars(query))

    def metric(self, name: str, version: str) -> Metric | None:
        """Return a metric as it was registered in ``version``, or None if it was not.

        Raises ParameterError if this program cannot read its definition.
        """
        query = sa.select(_metrics.c.definition).where(_metrics.c.name == name, _metrics.c.version == version)
        with self._transaction() as connection:
            definition = connection.scalar(query)
        return None if definition is None else from_json(definition, version)

    def commit(self, uploads: Sequence[Upload], day: date, shard: bytes) -> list[bool]:
        """Count each upload once, all in one transaction, and return for each whether it is now counted.

        False means that its batch id belongs to a batch of another content. A batch that was counted before, or
        stands twice in ``uploads``, is counted once and is True each time. Raises StoreError if nothing was counted.
        """
        try:
            return self._commit(uploads, day, shard)
        except _RacedError:
            return self._commit(uploads, day, shard)  # another process was first; its batch ids are visible now

    def _commit(self, uploads: Sequence[Upload], day: date, shard: bytes) -> list[bool]:
        with self._transaction(write=True) as connection:
            seen = _digests(connection, {upload.batch for upload in uploads})
            fresh: list[Upload] = []
            for upload in uploads:
                if upload.batch not in seen:
                    seen[upload.batch] = upload.digest
                    fresh.append(upload)
            if fresh:
                rows = [{"batch": upload.batch, "digest": upload.digest, "day": day} for upload in fresh]
                connection.execute(sa.insert(_batches), rows)
                for metric, blocks in _sums(fresh):
                    _add(connection, metric.version, day, shard, blocks)
        return [seen[upload.batch] == upload.digest for upload in uploads]

    def tally(self, metric: Metric, since: date | None = None, until: date | None = None) -> Tally:
        """Return the tally of a metric version over the days from ``since`` to ``until``, both included."""
        query = sa.select(_tallies.c.block, _tallies.c.counts).where(*_of(metric, since, until))
        blocks = no_blocks(metric.mechanism)
        with self._transaction() as connection:
            for block, counts in connection.execute(query):
                blocks[block] += from_bytes(counts)
        return from_blocks(metric.mechanism, blocks)

    def days(self, metric: Metric) -> tuple[date, date] | None:
        """Return the first and the last day with reports of a metric version, or None if there are none."""
        query = sa.select(sa.func.min(_tallies.c.day), sa.func.max(_tallies.c.day)).where(*_of(metric))
        with self._transaction() as connection:
            first, last = connection.execute(query).one()
        return None if first is None else (first, last)

    @contextmanager
    def _transaction(self, *, write: bool = False) -> Iterator[sa.Connection]:
        try:
            with self._engine.connect() as connection:
                connection.execution_options(dither_write=write)
                with connection.begin():
                    yield connection
        except IntegrityError as error:
            raise _RacedError(_told(error)) from error
        except SQLAlchemyError as error:
            raise StoreError(_told(error)) from error


class _RacedError(StoreError):
    """Another process wrote the same key between our look and our write."""


def _of(metric: Metric, since: date | None = None, until: date | None = None) -> list[sa.ColumnElement[bool]]:
    """Return the conditions on tallies of a metric version and a span of days."""
    conditions = [_tallies.c.version == metric.version]
    if since is not None:
        conditions.append(_tallies.c.day >= since)
    if until is not None:
        conditions.append(_tallies.c.day <= until)
    return conditions


def _digests(connection: sa.Connection, batches: set[bytes]) -> dict[bytes, bytes]:
    """Return the digests of those batches that are known."""
    asked, known = list(batches), dict[bytes, bytes]()
    for start in range(0, len(asked), _AT_ONCE):
        some = asked[start : start + _AT_ONCE]
        query = sa.select(_batches.c.batch, _batches.c.digest).where(_batches.c.batch.in_(some))
        known.update((row.batch, row.digest) for row in connection.execute(query))
    return known


def _sums(uploads: Iterable[Upload]) -> Iterator[tuple[Metric, Blocks]]:
    """Yield each metric among the uploads with the blocks that its rows touch."""
    rows: dict[str, tuple[Metric, list[bytes]]] = {}
    for upload in uploads:
        rows.setdefault(upload.metric.version, (upload.metric, []))[1].append(upload.rows)
    for metric, parts in rows.values():
        yield metric, to_blocks(metric.mechanism, fold(metric.mechanism, b"".join(parts)))


def _add(connection: sa.Connection, version: str, day: date, shard: bytes, blocks: Blocks) -> None:
    """Add blocks to the shard's counts of a day."""
    key = (_tallies.c.version == version, _tallies.c.day == day, _tallies.c.shard == shard)
    common = {"version": version, "day": day, "shard": shard}
    for start in range(0, len(blocks.numbers), _AT_ONCE):
        numbers, counts = blocks.numbers[start : start + _AT_ONCE].tolist(), blocks.counts[start : start + _AT_ONCE]
        query = sa.select(_tallies.c.block, _tallies.c.counts).where(*key, _tallies.c.block.in_(numbers))
        before: dict[int, bytes] = {row.block: row.counts for row in connection.execute(query)}
        changed, added = [], []
        for number, sums in zip(numbers, counts, strict=True):
            if number in before:
                changed.append({"number": number, "sums": to_bytes(sums + from_bytes(before[number]))})
            else:
                added.append(common | {"block": number, "counts": to_bytes(sums)})
        if changed:
            update = sa.update(_tallies).where(*key, _tallies.c.block == sa.bindparam("number"))
            connection.execute(update.values(counts=sa.bindparam("sums")), changed)
        if added:
            connection.execute(sa.insert(_tallies), added)


def _engine(url: str, create: bool, lock_wait: float) -> sa.Engine:
    try:
        parsed = sa.make_url(url)
        if parsed.get_backend_name() != "sqlite":
            return sa.create_engine(parsed)
        _check_file(parsed.database, create)
        engine = sa.create_engine(parsed, connect_args={"timeout": lock_wait})
    except ArgumentError:
        raise ParameterError("db", "not a database URL; for example sqlite:///dither.db") from None
    except ImportError as error:
        raise ParameterError("db", f"the database's driver is not installed ({error})") from None
    _speak_sqlite(engine)
    return engine


def _check_file(path: str | None, create: bool) -> None:
    if not path or path == ":memory:":
        raise ParameterError("db", "a database in memory forgets; name a file, for example sqlite:///dither.db")
    if not create and not Path(path).is_file():
        raise ParameterError("db", f"{path} does not exist; a collector has not run on it yet")
    if create and not Path(path).absolute().parent.is_dir():
        raise ParameterError("db", f"{path} cannot be made; its folder does not exist")


def _speak_sqlite(engine: sa.Engine) -> None:
    """Make SQLite durable, and let transactions begin where we say, not where its Python driver guesses."""

    @sa.event.listens_for(engine, "connect")
    def _connected(connection: Any, _record: object) -> None:
        connection.isolation_level = None
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}").close()

    @sa.event.listens_for(engine, "begin")
    def _begun(connection: sa.Connection) -> None:
        # A writer takes its lock at once: upgrading a read lock later can fail however long one waits.
        writes = connection.get_execution_options().get("dither_write")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _told(error: SQLAlchemyError) -> str:
    """Return what the database said, without the statement and its values."""
    return f"database: {getattr(error, 'orig', None) or type(error).__name__}"
