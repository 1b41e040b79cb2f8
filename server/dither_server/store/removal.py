"""Remove whole days, on an operator's command or by the setting ``retention``; close days; forget ids of batches.

A collector does the last three by itself, in a thread.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import repeat

from dither_shared import Metric, ParameterError
from dither_shared.counted import counted

from ..tally.retention import Retention
from . import Store, StoreError

_log = logging.getLogger(__name__)

_LOOK = 3600.0
"""Seconds between two checks of the date."""

_CLOSED_AFTER = timedelta(days=7)
"""Days older than this are closed: a fold of a spool seldom adds to them, and readers see both kinds of rows alike."""

_SILENCE = timedelta(days=7)
"""If the last reports are older than this, the clock may have jumped, and nothing is removed before tomorrow."""


@dataclass(frozen=True)
class Removal:
    """Whole days of a version, with their rows; ``reports`` is None where its definition cannot be read.

    Without a version, it is ``rows`` of counts of refused batches of the metric.
    """

    metric: str
    version: str | None
    days: tuple[date, ...]
    rows: int
    reports: int | None
    before: date | None

    def carry_out(self, store: Store, ended: threading.Event | None = None) -> None:
        """Remove it, one transaction per day, until ``ended`` is set.

        Raises StoreError; the days that were removed before stay removed.
        """
        for day in _spaced(self.days, ended or threading.Event()):
            store.days.purge(self.version or "", day)
        if self.version is None:
            store.refusals.purge(self.metric, self.before)


def removals(store: Store, metric: str, version: str | None, before: date | None) -> Iterator[Removal]:
    """Find what is stored of a metric or of one version, before a day or in all; "" stands for unknown metrics."""
    for one in store.definitions.versions(metric):
        if version in {None, one} and (rows := store.days.rows(one, before)):
            reports = _reports(store, metric, one, before)
            yield Removal(metric, one, tuple(rows), sum(rows.values()), reports, before)
    if version is None and (refused := store.refusals.rows(metric, before)):
        yield Removal(metric, None, (), refused, 0, before)


def _spaced(days: Iterable[date], ended: threading.Event) -> Iterator[date]:
    """Yield days until ``ended`` is set, each after a pause as long as the work on the one before took.

    A database has one writer at a time. A process that releases the lock and takes it again at once would starve the
    others: commits waited for seconds, and some timed out.
    """
    for day in days:
        if ended.is_set():
            return
        began = time.monotonic()
        yield day
        ended.wait(time.monotonic() - began)


def _reports(store: Store, name: str, version: str, before: date | None) -> int | None:
    metric = _readable(store, name, version)
    if metric is None:
        return None
    return sum(reports for day, reports in store.reports_by_day(metric).items() if before is None or day < before)


def _readable(store: Store, name: str, version: str) -> Metric | None:
    """Return a registered metric version, or None if this program cannot read its definition."""
    try:
        return store.definitions.read(name, version)
    except ParameterError:
        return None


class Housekeeper:
    """A thread that, at the start and once a day, forgets ids older than ``horizon`` days and closes days.

    It also removes what ``retention`` no longer keeps. It opens the database itself and closes it again, so that a
    server may fork in between.
    """

    def __init__(
        self, retention: Retention, open_store: Callable[[], Store], today: Callable[[], date], horizon: int
    ) -> None:
        self._retention = retention
        self._horizon = timedelta(days=horizon)
        self._open = open_store
        self._today = today
        self._done: date | None = None
        self._doubted: date | None = None
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self._starting = threading.Lock()

    def start(self) -> None:
        """Start the thread, once in each process."""
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="dither-housekeeper", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """End the thread after the day that it is working on."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._ended.is_set():
            self.look()
            self._ended.wait(_LOOK)

    def look(self) -> None:
        """Do what is due today, unless it is done; if it fails, try again at the next check."""
        today = self._today()
        if self._done == today:
            return
        try:
            with closing(self._open()) as store:
                self._forget(store, today)
                if self._retention.days and self._trusts(store, today):
                    self._apply(store, today)
                self._close(store, today)
        except StoreError as error:
            _log.warning("old ids and days were not removed or closed: %s", error)
            return
        except Exception:
            _log.exception("old ids and days could not be removed or closed")
        self._done = today

    def _forget(self, store: Store, today: date) -> None:
        """Delete the ids beyond the horizon, a few per transaction, whether or not reports come."""
        store.note_day(today)
        for before in _spaced(repeat(today - self._horizon), self._ended):
            if not store.forget(before):
                return

    def _trusts(self, store: Store, today: date) -> bool:
        """Return whether the clock is trusted: a suspicious date is trusted on its second day."""
        last = store.days.last_before(today)
        if last is None or today - last <= _SILENCE or self._doubted not in {None, today}:
            return True
        self._doubted = today
        _log.warning("retention: no reports since %s; is the clock right? Nothing is removed before tomorrow", last)
        return False

    def _close(self, store: Store, today: date) -> None:
        """Close old days, one per transaction. This removes nothing, so a wrong clock does no harm."""
        for name, version in store.definitions.registered():
            days = store.days.open(version, today - _CLOSED_AFTER)
            if not days or (metric := _readable(store, name, version)) is None:
                continue
            for day in _spaced(days, self._ended):
                store.days.close(metric, day)

    def _apply(self, store: Store, today: date) -> None:
        for name in {"": None} | dict.fromkeys(name for name, _ in store.definitions.registered()):
            before = self._retention.before(name, today)
            for removal in removals(store, name, None, before) if before is not None else ():
                if self._ended.is_set():
                    return
                removal.carry_out(store, self._ended)
                if removal.version and not self._ended.is_set():
                    days, ends = counted(len(removal.days), "day"), (removal.days[0], removal.days[-1])
                    _log.info("retention: removed %s of %s %s, %s to %s", days, name, removal.version, *ends)
