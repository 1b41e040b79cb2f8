"""The store: what the rest of the collector needs from a database, and what was collected, read at one moment."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date, datetime
from typing import NamedTuple, TypeVar

import sqlalchemy as sa

from dither_shared import Metric

from ..tally.tally import Tally
from .batch_ids import Expiry, count_ids, current_day
from .database import Condition, Database, bytes_of, disk_of
from .definitions import Definitions, register
from .engine import LOCK_WAIT, RacedError, sqlite_path
from .folds import Folds
from .schema import IDENTITY
from .tallies import (
    Days,
    Estimates,
    Places,
    Refusal,
    Refusals,
    Sealed,
    add_refusals,
    read_folded_up_to,
    read_refused,
    read_reports,
    read_sealed,
    read_stored_rows,
    read_tally,
)
from .tokens import Tokens
from .uploads import Upload, UploadOutcome, count

T = TypeVar("T")


class Slice(NamedTuple):
    """What was collected of a metric version from ``since`` to ``until`` in the strata at ``places``.

    ``reports`` are those of each day with any, ascending. Without ``since`` the slice begins with the first such day,
    without ``until`` it ends with the last.

    Equal slices have equal tallies: each report adds one to the reports of its day, and only a purge removes any, which
    ``purges`` counts. So whatever is computed from a slice and its tally may be cached by the slice.
    """

    version: str
    since: date | None
    until: date | None
    places: tuple[int, ...] | None
    reports: tuple[tuple[date, int], ...]
    refused: tuple[tuple[str, int], ...]
    sealed: Sealed | None
    purges: int

    @property
    def total(self) -> int:
        """The number of its reports."""
        return sum(number for _, number in self.reports)

    @property
    def days(self) -> tuple[date | None, date | None]:
        """The first and the last day, as asked for or else with reports."""
        first, last = (self.reports[0][0], self.reports[-1][0]) if self.reports else (None, None)
        return self.since or first, self.until or last


@dataclass(frozen=True)
class History:
    """What was collected of a metric version: for each day, reports and sealed ones by place of the stratum.

    ``refused`` counts the refused batches of each day by kind of problem. ``blocks`` and ``chunks`` are the stored rows
    that make up the tally, and ``folded_up_to`` is when the last finished fold of a spool began.
    """

    version: str
    reports: Mapping[date, Mapping[int, int]]
    refused: Mapping[date, Mapping[str, int]]
    sealed: Mapping[date, Mapping[int, Sealed]]
    purges: int
    blocks: int
    chunks: int
    folded_up_to: datetime | None

    def days(self, places: Places = None) -> dict[date, int]:
        """Return the reports of each day with any in these strata, ascending."""
        return _by_day(self.reports, None, None, places)

    def strata(self) -> Counter[int]:
        """Return the reports of each stratum, by its place."""
        reports: Counter[int] = Counter()
        for by_place in self.reports.values():
            reports.update(by_place)
        return reports

    def slice(self, since: date | None, until: date | None, places: Places = None) -> Slice:
        """Return what was collected on these days, both included, in these strata."""
        reports = tuple(_by_day(self.reports, since, until, places).items())
        chosen = None if places is None else tuple(places)
        unsealed = Slice(self.version, since, until, chosen, reports, (), None, self.purges)
        refused: Counter[str] = Counter()
        for _, kinds in _within(self.refused, *unsealed.days):
            refused.update(kinds)
        sealed = None
        for _, parts in _within(self.sealed, since, until):
            for place, part in parts.items():
                if places is None or place in places:
                    sealed = part.plus(sealed)
        return unsealed._replace(refused=tuple(sorted(refused.items())), sealed=sealed)


class Snapshot:
    """A database at one moment: everything here is read in one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def history(self, metric: Metric, since: date | None = None, until: date | None = None) -> History:
        """Return what was collected of a metric version on these days, both included, without its counts."""
        refused: defaultdict[date, Counter[str]] = defaultdict(Counter)
        for refusal, number in read_refused(self._connection, metric.name, since, until).items():
            refused[refusal.day][refusal.kind] += number
        return History(
            metric.version,
            _nested(read_reports(self._connection, metric, since, until)),
            refused,
            _nested(read_sealed(self._connection, metric, since, until)),
            int(self._connection.execute(sa.select(IDENTITY.c.purges)).scalar_one()),
            *read_stored_rows(self._connection, metric, since, until),
            read_folded_up_to(self._connection),
        )

    def tally(
        self, metric: Metric, since: date | None = None, until: date | None = None, places: Places = None
    ) -> "Tally":
        """Return the tally of a metric version over these days, both included, and the strata at ``places``."""
        return read_tally(self._connection, metric, since, until, places)


def _nested(flat: Mapping[tuple[date, int], T]) -> dict[date, dict[int, T]]:
    by_day: defaultdict[date, dict[int, T]] = defaultdict(dict)
    for (day, place), value in flat.items():
        by_day[day][place] = value
    return dict(by_day)


def _by_day(
    reports: Mapping[date, Mapping[int, int]], since: date | None, until: date | None, places: Places
) -> dict[date, int]:
    sums = (
        (day, sum(number for place, number in parts.items() if places is None or place in places))
        for day, parts in _within(reports, since, until)
    )
    return {day: number for day, number in sums if number}


def _within(by_day: Mapping[date, T], since: date | None, until: date | None) -> Iterator[tuple[date, T]]:
    """Yield the days from ``since`` to ``until``, both included; a single day is looked up directly."""
    days = [since] if since is not None and since == until else by_day
    for day in days:
        if day in by_day and (since is None or day >= since) and (until is None or day <= until):
            yield day, by_day[day]


_TRIES = 5
"""How often a commit is tried while other processes add the same ids first."""


class Store(Database):
    """One database: its commits, the resulting tallies, and repositories of everything else.

    Safe to use from many threads and processes, if one thread of each process writes.
    """

    def __init__(self, url: str, *, create: bool = True, lock_wait: float = LOCK_WAIT, read_only: bool = False) -> None:
        """Open the database at ``url``, as ``Database`` does; raise what that raises."""
        super().__init__(url, create=create, lock_wait=lock_wait, read_only=read_only)
        self._expiry = Expiry()
        self.days = Days(self._transaction)
        self.definitions = Definitions(self._transaction)
        self.estimates = Estimates(self._transaction)
        self.folds = Folds(self._engine, self._transaction)
        self.refusals = Refusals(self._transaction)
        self.tokens = Tokens(self._transaction)

    def condition(self) -> Condition:
        """Return the size of the database and the free space on its disk."""
        path = sqlite_path(self._engine)
        with self._transaction() as connection:
            ids = count_ids(connection)
            if path is None:
                size = int(connection.scalars(sa.select(sa.func.pg_database_size(sa.func.current_database()))).one())
                version = str(connection.exec_driver_sql("SHOW server_version").scalar())
                return Condition(f"postgresql {version.partition(' ')[0]}", size, None, ids, None)
            version = str(connection.scalar(sa.select(sa.func.sqlite_version())))
        wal = bytes_of(path.with_name(path.name + "-wal"))
        return Condition(f"sqlite {version}", bytes_of(path) + wal, wal, ids, disk_of(path))

    def register(self, metrics: Collection[Metric]) -> None:
        """Store the definitions of these versions. What numbers depend on cannot change within a version."""
        try:
            with self._transaction(write=True) as connection:
                register(connection, metrics)
        except RacedError:  # another collector that starts at the same time was first; what it wrote is visible now
            with self._transaction(write=True) as connection:
                register(connection, metrics)

    def identity(self) -> str:
        """Return the random name of the database, in 32 hexadecimal digits; a backup of it has the same."""
        with self._transaction() as connection:
            return bytes(connection.execute(sa.select(IDENTITY.c.identity)).scalar_one()).hex()

    def commit(self, uploads: Sequence[Upload], day: date, shard: bytes) -> list[UploadOutcome]:
        """Count each upload once, all in one transaction, and return the outcome of each.

        A batch whose id was counted before, or that appears twice in ``uploads``, is counted once and is COUNTED each
        time. Raises StoreError if nothing was counted.
        """
        for left in reversed(range(_TRIES)):
            try:
                with self._transaction(write=True) as connection:
                    return count(connection, uploads, day, shard)
            except RacedError:  # another process was first; its batch ids are visible now
                if not left:
                    raise
        raise AssertionError

    def note_day(self, today: date) -> None:
        """Record that a collector runs today: ids grow old by such days, even if no others come."""
        with suppress(RacedError), self._transaction(write=True) as connection:  # another process has recorded it
            current_day(connection, today)

    def forget(self, before: date) -> bool:
        """Delete some of the ids that came before a day, and return whether there may be more.

        A batch whose id is deleted would be counted again: ``before`` must be farther back than any device retries.
        """
        try:
            with self._transaction(write=True) as connection:
                return self._expiry.step(connection, before)
        except BaseException:
            self._expiry.restart()
            raise

    def tally(
        self, metric: Metric, since: date | None = None, until: date | None = None, places: Places = None
    ) -> Tally:
        """Return the tally of a metric version over the days from ``since`` to ``until``, both included.

        It holds all strata together, or only those at ``places``.
        """
        with self.snapshot() as snapshot:
            return snapshot.tally(metric, since, until, places)

    def history(self, metric: Metric, since: date | None = None, until: date | None = None) -> History:
        """Return what was collected of a metric version on these days, both included, without its counts."""
        with self.snapshot() as snapshot:
            return snapshot.history(metric, since, until)

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Open a read transaction: everything that is read in it is of one moment. Keep it short."""
        with self._transaction() as connection:
            yield Snapshot(connection)

    def reports_by_day(self, metric: Metric, places: Places = None) -> dict[date, int]:
        """Return the reports of each day with any of a metric version, ascending: of all strata, or at ``places``."""
        return self.history(metric).days(places)

    def sealed(
        self, metric: Metric, since: date | None = None, until: date | None = None, places: Places = None
    ) -> Sealed | None:
        """Return the counts of sealed reports of a metric version on these days, or None without any."""
        return self.history(metric, since, until).slice(since, until, places).sealed

    def add_refusals(self, refused: Mapping[Refusal, int], shard: bytes) -> None:
        """Add to the counts of refused batches."""
        with self._transaction(write=True) as connection:
            add_refusals(connection, refused, shard)
