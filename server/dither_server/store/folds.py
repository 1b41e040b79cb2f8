"""Add what a run of ``dither-server fold`` counted, bucket by bucket and each once, and record how far runs have come.

A run is a set of segments that are folded together. The transaction that counts a bucket also notes it, so one shard
serves all runs, and a run that was killed resumes after the last noted bucket.
"""

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, date, datetime
from types import MappingProxyType
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from ..tally.blocks import Blocks
from .engine import StoreError, message_of, sqlite_path
from .lock import ProcessLock, shared_lock
from .schema import FOLD_RUNS, FOLDS, METRICS, SEALED, TALLIES, Repository
from .tallies import Refusal, add_refusals, read_folded_up_to
from .uploads import add_counts

SHARD = uuid.uuid5(uuid.NAMESPACE_URL, "dither:fold").bytes
"""The shard of everything that is folded. Folds add to it one at a time."""

_FOLDING, _ADDING = 0x666F6C64, 0x666F6C65
"""Keys of PostgreSQL's advisory locks: "fold" for the one running fold, the next number for a transaction that adds."""

_LOCK_NOT_AVAILABLE = "55P03"
"""PostgreSQL's error code for a lock that could not be acquired in time."""

_BUSY = "another fold is under way on this database; try again when it has ended"

Tallies = Mapping[tuple[str, date, int], Blocks]
"""The counts to add, by version, day and place of the stratum."""


class FoldSums(NamedTuple):
    """The outcomes of the batches of a bucket or of a run.

    ``batches`` with their ``rows`` were counted, ``repeated`` had been counted before, ``conflicts`` had an id that
    belongs to other content, and ``damaged`` held rows that no device could have sent.
    """

    batches: int = 0
    rows: int = 0
    repeated: int = 0
    conflicts: int = 0
    damaged: int = 0

    def plus(self, other: "FoldSums") -> "FoldSums":
        """Return both together."""
        return FoldSums(*(one + more for one, more in zip(self, other, strict=True)))


class _FoldRun(NamedTuple):
    """The state of a run: when it began, whether it is counted completely, and the counted buckets."""

    begun: datetime
    finished: bool
    buckets: Mapping[int, FoldSums]


class Folds(Repository):
    """The runs of one database. Raises StoreError where the database fails."""

    def __init__(self, engine: sa.Engine, transaction: Callable[..., AbstractContextManager[sa.Connection]]) -> None:
        super().__init__(transaction)
        self._engine = engine

    @contextmanager
    def exclusive_lock(self, wait: float) -> Iterator[Callable[[], None]]:
        """Hold the lock of the only running fold; yield a function that raises StoreError if the lock is lost.

        Raises StoreError if another fold runs and does not end in ``wait`` seconds. The lock is released when the
        process ends, however that happens.
        """
        path = sqlite_path(self._engine)
        if path is None:
            yield from self._lock_in_postgresql(wait)
        else:
            with ProcessLock(path.with_name(path.name + ".fold.lock"), taken=_BUSY).held(wait):
                yield lambda: None

    def _lock_in_postgresql(self, wait: float) -> Iterator[Callable[[], None]]:
        """Hold a lock of a separate session, which ends with its connection."""
        try:
            connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        except SQLAlchemyError as error:
            raise StoreError(message_of(error)) from error
        with connection:
            connection.detach()  # closed at the end, which ends the session
            try:
                connection.exec_driver_sql(f"SET lock_timeout = {max(1, int(wait * 1000))}")
                connection.execute(sa.select(sa.func.pg_advisory_lock(_FOLDING)))
            except SQLAlchemyError as error:
                is_held = getattr(getattr(error, "orig", None), "sqlstate", "") == _LOCK_NOT_AVAILABLE
                raise StoreError(f"database: {_BUSY}" if is_held else message_of(error)) from error
            yield lambda: _require_held(connection)

    def begin(self, run: bytes, at: datetime) -> None:
        """Record that a run began, unless it is recorded already."""
        with self._adding() as connection:
            if _finished(connection, run) is None:
                begun = at.astimezone(UTC).replace(tzinfo=None)
                connection.execute(sa.insert(FOLD_RUNS), {"run": run, "begun": begun, "finished": False})

    def run(self, run: bytes) -> _FoldRun | None:
        """Return the state of a run, or None if it is unknown."""
        query = sa.select(FOLD_RUNS.c.begun, FOLD_RUNS.c.finished).where(FOLD_RUNS.c.run == run)
        columns = [FOLDS.c[name] for name in FoldSums._fields]
        notes = sa.select(FOLDS.c.bucket, *columns).where(FOLDS.c.run == run).order_by(FOLDS.c.bucket)
        with self._transaction() as connection:
            known = connection.execute(query).one_or_none()
            if known is None:
                return None
            buckets = {bucket: FoldSums(*sums) for bucket, *sums in connection.execute(notes)}
        return _FoldRun(known.begun.replace(tzinfo=UTC), known.finished, buckets)

    def add(
        self,
        run: bytes,
        bucket: int,
        tallies: Tallies,
        sums: FoldSums,
        refused: Mapping[Refusal, int] = MappingProxyType({}),
    ) -> bool:
        """Add a bucket of a run to the counts and note it, in one transaction; return False if it was noted before.

        ``refused`` are added to the counts of refused batches. Raises StoreError if the run has not begun.
        """
        ours = sa.select(FOLDS.c.bucket).where(FOLDS.c.run == run, FOLDS.c.bucket == bucket)
        with self._adding() as connection:
            finished = _finished(connection, run)
            if finished is None:
                raise StoreError(f"database: the run {run.hex()} has not begun here")
            if finished or connection.scalar(ours) is not None:
                return False
            shared_lock(connection)
            connection.execute(sa.insert(FOLDS), {"run": run, "bucket": bucket, **sums._asdict()})
            for (version, day, stratum), blocks in sorted(tallies.items(), key=lambda item: item[0]):
                add_counts(connection, {"version": version, "day": day, "stratum": stratum, "shard": SHARD}, blocks)
            add_refusals(connection, refused, SHARD)
        return True

    def finish(self, run: bytes) -> None:
        """Record that a run is counted completely. Nothing is added to it from then on.

        Finished runs with a later beginning had a wrong clock: their beginning is set to that of this run.
        """
        begun = sa.select(FOLD_RUNS.c.begun).where(FOLD_RUNS.c.run == run).scalar_subquery()
        later = sa.update(FOLD_RUNS).where(FOLD_RUNS.c.finished, FOLD_RUNS.c.begun > begun)
        with self._adding() as connection:
            connection.execute(later.values(begun=begun))
            connection.execute(sa.update(FOLD_RUNS).where(FOLD_RUNS.c.run == run).values(finished=True))

    def forget(self, before: date) -> None:
        """Delete the notes of finished runs, and all runs that began before a day, except the last finished one.

        An unfinished run that began before that day has lost its manifest, so no fold can resume it.
        """
        finished = sa.select(FOLD_RUNS.c.run).where(FOLD_RUNS.c.finished)
        last = finished.order_by(FOLD_RUNS.c.begun.desc()).limit(1).scalar_subquery()
        midnight = datetime(before.year, before.month, before.day)  # noqa: DTZ001 - as it is stored, in UTC
        old = sa.and_(FOLD_RUNS.c.begun < midnight, ~FOLD_RUNS.c.finished | (FOLD_RUNS.c.run != last))
        without_notes = sa.select(FOLD_RUNS.c.run).where(FOLD_RUNS.c.finished | old)
        with self._adding() as connection:
            connection.execute(sa.delete(FOLDS).where(FOLDS.c.run.in_(without_notes)))
            connection.execute(sa.delete(FOLD_RUNS).where(old))

    def days(self) -> set[date]:
        """Return the days on which runs began, as far back as ``forget`` has left them."""
        with self._transaction() as connection:
            return {begun.date() for begun in connection.scalars(sa.select(FOLD_RUNS.c.begun))}

    def up_to(self) -> datetime | None:
        """Return when the last finished run began, or None; all segments that existed then are counted."""
        with self._transaction() as connection:
            return read_folded_up_to(connection)

    def counted_both_ways(self, since: date) -> list[date]:
        """Return the days, from ``since`` on, with reports counted by a fold and others by a collector itself.

        The two do not know each other's batch ids. Sealed reports do not matter, because collectors always count them.
        """
        registered = TALLIES.c.version.in_(sa.select(METRICS.c.version))  # otherwise the whole table would be read
        same = [SEALED.c[name] == TALLIES.c[name] for name in ("version", "day", "stratum", "shard")]
        of_collectors = sa.and_(TALLIES.c.shard != SHARD, ~sa.exists().where(*same))
        days = sa.select(TALLIES.c.day).distinct().where(registered, TALLIES.c.day >= since)
        with self._transaction() as connection:
            folded, others = (
                set(connection.scalars(days.where(part))) for part in (TALLIES.c.shard == SHARD, of_collectors)
            )
        return sorted(folded & others)

    @contextmanager
    def _adding(self) -> Iterator[sa.Connection]:
        """Open a transaction that excludes every other fold from writing, even one that has lost its lock."""
        with self._transaction(write=True) as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_ADDING)))
            yield connection


def _require_held(connection: sa.Connection) -> None:
    """Raise StoreError if a connection no longer belongs to the session that took the lock."""
    mine = sa.text("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND granted")
    try:
        held = connection.scalar(mine)
    except SQLAlchemyError as error:
        raise StoreError(f"the lock of the fold is lost; {message_of(error)}") from error
    if held is None:
        raise StoreError("database: the lock of the fold is lost")


def _finished(connection: sa.Connection, run: bytes) -> bool | None:
    """Return whether a run is finished, None if it is not known."""
    finished: bool | None = connection.scalar(sa.select(FOLD_RUNS.c.finished).where(FOLD_RUNS.c.run == run))
    return finished
