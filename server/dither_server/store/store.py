"""The store: what the rest of the collector asks of a database."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from typing import Any

import sqlalchemy as sa

from dither_shared import Metric

from ..tally.tally import Tally
from .batch_ids import Expiry
from .condition import Condition, condition_of
from .counting.both_ways import days_counted_both_ways
from .counting.folds import Folds
from .counting.uploads import Outcome, Upload, count
from .database import Database
from .errors import RacedError
from .history import History, Snapshot, read_history
from .lock import exclusive_lock
from .purge import purge_day, purge_refusals, refusal_rows, reported_before, rows_by_day
from .tables.definitions import read_definition, read_registered, read_reported_last, read_versions, register
from .tables.disabled import disable, enable, read_disabled
from .tables.estimates import Basis, read_bases, write_estimates
from .tables.refusals import Refusal, add_refusals, read_refused
from .tables.schema import IDENTITY
from .tables.sealed import Sealed
from .tables.tallies import Places, close_day, read_days_by_version, read_open_days, read_tally
from .tables.tokens import StoredToken, add_token, drop_tokens, end_token, read_tokens, use_tokens

_TRIES = 5
"""How often a commit is tried while other processes add the same ids first."""


class Store(Database):
    """One database. Safe to use from many threads and processes, with one thread of each writing."""

    def __init__(self, url: str, *, create: bool = True, lock_wait: float = 5.0, read_only: bool = False) -> None:
        """Open the database at ``url``, as ``Database`` does; raise what that raises."""
        super().__init__(url, create=create, lock_wait=lock_wait, read_only=read_only)
        self._expiry = Expiry()
        self.folds = Folds(self._engine, self._transaction)

    def condition(self) -> Condition:
        """Return how the database fares."""
        with self._transaction() as connection:
            return condition_of(connection)

    def register(self, metrics: Collection[Metric]) -> None:
        """Write down the definitions of these versions; what numbers depend on cannot change under a version."""
        try:
            with self._transaction(write=True) as connection:
                register(connection, metrics)
        except RacedError:  # another collector that starts was first; what it wrote is visible now
            with self._transaction(write=True) as connection:
                register(connection, metrics)

    def identity(self) -> str:
        """Return the random name of the database, in 32 hexadecimal digits; a backup of it has the same."""
        with self._transaction() as connection:
            return bytes(connection.execute(sa.select(IDENTITY.c.identity)).scalar_one()).hex()

    def versions(self, name: str) -> list[str]:
        """Return every registered version of a metric."""
        with self._transaction() as connection:
            return read_versions(connection, name)

    def registered(self) -> list[tuple[str, str]]:
        """Return the name and the version of everything that was ever registered."""
        with self._transaction() as connection:
            return read_registered(connection)

    def former(self, name: str) -> Metric | None:
        """Return a metric in the version that was reported last, or None if none was ever registered.

        Raises ParameterError if this program cannot read its definition.
        """
        with self._transaction() as connection:
            version = read_reported_last(connection, name)
            return None if version is None else read_definition(connection, name, version)

    def metric(self, name: str, version: str) -> Metric | None:
        """Return a metric as it was registered in ``version``, or None if it was not.

        Raises ParameterError if this program cannot read its definition.
        """
        with self._transaction() as connection:
            return read_definition(connection, name, version)

    def disabled(self) -> dict[str, date]:
        """Return the disabled versions of all metrics, with the day since when."""
        with self._transaction() as connection:
            return read_disabled(connection)

    def disable(self, name: str, version: str | None, day: date) -> list[str]:
        """Count no more reports of a version of a metric, or of all (None); return those newly disabled."""
        with self._transaction(write=True) as connection:
            return disable(connection, name, version, day)

    def enable(self, name: str, version: str | None) -> list[str]:
        """Count them again; return those newly enabled."""
        with self._transaction(write=True) as connection:
            return enable(connection, name, version)

    def commit(self, uploads: Sequence[Upload], day: date, shard: bytes) -> list[Outcome]:
        """Count each upload once, all in one transaction, and return the outcome of each.

        A batch whose id was counted before, or appears twice in ``uploads``, is counted once and is COUNTED each
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

        It holds all strata together, or those at ``places`` alone.
        """
        with self._transaction() as connection:
            return read_tally(connection, metric, since, until, places)

    def history(self, metric: Metric, since: date | None = None, until: date | None = None) -> History:
        """Return what was collected of a metric version on these days, both included, without its counts."""
        with self._transaction() as connection:
            return read_history(connection, metric, since, until)

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Open a read transaction: everything that is read in it is of one moment. Keep it short."""
        with self._transaction() as connection:
            yield Snapshot(connection)

    def open_days(self, version: str, before: date) -> list[date]:
        """Return the days of a version before a day that are not closed, ascending."""
        with self._transaction() as connection:
            return read_open_days(connection, version, before)

    def close_day(self, metric: Metric, day: date) -> None:
        """Store a day of a metric version so that it is quick to read; no number changes."""
        with self._transaction(write=True) as connection:
            exclusive_lock(connection)  # or a commit under way would add to rows that are gone
            close_day(connection, metric, day)

    def days_by_version(self) -> dict[str, tuple[date, date]]:
        """Return the first and the last day with reports of every version that has any."""
        with self._transaction() as connection:
            return read_days_by_version(connection)

    def reports_by_day(self, metric: Metric, places: Places = None) -> dict[date, int]:
        """Return the reports of each day with any of a metric version, ascending: of all strata, or at ``places``."""
        return self.history(metric).days(places)

    def reports_by_stratum(
        self, metric: Metric, since: date | None = None, until: date | None = None
    ) -> dict[int, int]:
        """Return the reports of each stratum with any on these days, by its place among those of the metric."""
        return dict(self.history(metric, since, until).strata(since, until))

    def sealed(
        self, metric: Metric, since: date | None = None, until: date | None = None, places: Places = None
    ) -> Sealed | None:
        """Return what came sealed of a metric version on these days, None if nothing did."""
        return self.history(metric, since, until).slice(since, until, places).sealed

    def rows_by_day(self, version: str, before: date | None = None) -> dict[date, int]:
        """Return the days of a version that have anything, before a day or ever, with the number of their rows."""
        with self._transaction() as connection:
            return rows_by_day(connection, version, before)

    def purge_day(self, version: str, day: date) -> int:
        """Remove a day of a version, with the estimates that were made of it; return the number of rows."""
        with self._transaction(write=True) as connection:
            exclusive_lock(connection)  # or a commit under way would add to what it has just seen
            return purge_day(connection, version, day)

    def refusal_rows(self, metric: str, before: date | None = None) -> int:
        """Return the number of rows that count refused batches of a metric."""
        with self._transaction() as connection:
            return refusal_rows(connection, metric, before)

    def purge_refusals(self, metric: str, before: date | None = None) -> int:
        """Remove them; return their number."""
        with self._transaction(write=True) as connection:
            return purge_refusals(connection, metric, before)

    def reported_before(self, today: date) -> date | None:
        """Return the last day before today with reports of anything."""
        with self._transaction() as connection:
            return reported_before(connection, today)

    def counted_both_ways(self, since: date) -> list[date]:
        """Return the days from one on of which a fold counted reports, and a collector by itself, too."""
        with self._transaction() as connection:
            return days_counted_both_ways(connection, since)

    def estimated(self, version: str) -> dict[date, Basis]:
        """Return what the written estimates of each day of a version were made from."""
        with self._transaction() as connection:
            return read_bases(connection, version)

    def write_estimates(
        self, version: str, day: date, basis: Basis, kept_in: str, rows: Sequence[Mapping[str, Any]]
    ) -> None:
        """Write a day's estimates down in place of those that are there, or leave these if that fails.

        Where another process writes the same day at the same time, one of the two does.
        """
        with suppress(RacedError), self._transaction(write=True) as connection:
            write_estimates(connection, version, day, basis, kept_in, rows)

    def add_refusals(self, refused: Mapping[Refusal, int], shard: bytes) -> None:
        """Add to the counts of refused batches."""
        with self._transaction(write=True) as connection:
            add_refusals(connection, refused, shard)

    def refusals(self, metric: str, since: date | None = None, until: date | None = None) -> dict[str, int]:
        """Return how many batches of a metric were refused, by the end of the problem's type, such as ``malformed``.

        The days are both included. Under the name "" are those that named no metric of ours. Each try counts, so
        a batch that was asked to come again is counted here each time, and once more where it was accepted.
        """
        kinds: Counter[str] = Counter()
        for refusal, batches in self.refused(metric, since, until).items():
            kinds[refusal.kind] += batches
        return dict(sorted(kinds.items()))

    def refused(
        self, metric: str | None = None, since: date | None = None, until: date | None = None
    ) -> dict[Refusal, int]:
        """Return the same of a metric or of all by name, day, kind and version, in this order."""
        with self._transaction() as connection:
            return read_refused(connection, metric, since, until)

    def tokens(self) -> list[StoredToken]:
        """Return every token, oldest first."""
        with self._transaction() as connection:
            return read_tokens(connection)

    def add_token(self, token: StoredToken) -> None:
        """Write a token down."""
        with self._transaction(write=True) as connection:
            add_token(connection, token)

    def rotate_token(self, digest: bytes, fresh: StoredToken, day: date) -> None:
        """Write a token down in the place of another, which opens nothing from a day on."""
        with self._transaction(write=True) as connection:
            end_token(connection, digest, day)
            add_token(connection, fresh)

    def use_tokens(self, digests: Collection[bytes], day: date) -> None:
        """Write down that tokens were used on a day."""
        with self._transaction(write=True) as connection:
            use_tokens(connection, digests, day)

    def drop_token(self, digest: bytes) -> bool:
        """Drop the token of a digest; return whether there was one."""
        with self._transaction(write=True) as connection:
            return drop_tokens(connection, digest) > 0
