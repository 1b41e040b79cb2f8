"""A collector: metrics, database, committer and ingest, put together and taken apart in order."""

import logging
from collections.abc import Iterator
from datetime import date, timedelta
from itertools import groupby
from types import TracebackType
from typing import Self

from dither_shared import Metric, ParameterError

from .analysis.answers import Answer, answer
from .analysis.compare import Compared, compared
from .analysis.trend import Stretch
from .auth import Gatekeeper
from .committer import Committer, Limits
from .config import Config
from .dashboard.daily import DailyEstimates
from .estimate import estimate
from .gauges import Gauges
from .ingest import Ingest
from .known_tokens import KnownTokens
from .purging import Housekeeper
from .query import Comparison, Query
from .store import Store

__all__ = ["Collector", "stretches", "told", "told_apart", "told_each"]

_log = logging.getLogger(__name__)


class Collector:
    """What runs behind the routes. Raises ParameterError or StoreError if the configuration cannot be used."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.metrics: dict[str, Metric] = config.load()
        self.store = Store(config.db, lock_wait=config.lock_wait)
        try:
            self.store.register(self.metrics.values())
            versions = {name: _versions(self.store, metric) for name, metric in self.metrics.items()}
        finally:
            self.store.close()  # a server may fork now; connections open again on demand
        self.daily = DailyEstimates(self.store)
        self.gauges = Gauges()
        limits = Limits(config.queue_limit, config.group_limit, config.queue_bytes)
        self.committer = Committer(self.store, config.today, limits, timedelta(days=config.horizon), self.gauges)
        self.housekeeper = Housekeeper(config.retention, self._opened, config.today)
        self.gatekeeper = Gatekeeper(KnownTokens(self.store, config.today), config.open, config.here)
        self.ingest = Ingest(
            versions,
            self.committer,
            self.gatekeeper,
            self.gauges,
            config.body_limit,
            config.rows_limit,
        )

    def start(self) -> None:
        """Begin what a collector does unasked. A server that forks calls it after that."""
        self.housekeeper.start()

    def former(self) -> list[str]:
        """Return the names of metrics that were collected here and are asked no more."""
        return sorted({name for name, _ in self.store.registered()} - self.metrics.keys())

    def _opened(self) -> Store:
        return Store(self.config.db, create=False, lock_wait=self.config.lock_wait)

    def close(self) -> None:
        """Commit what was accepted and let go of the database, whose file is whole then by itself."""
        self.committer.close()
        self.gatekeeper.close()
        self.housekeeper.close()
        self.store.fold_in()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _versions(store: Store, metric: Metric) -> dict[str, Metric]:
    """Return every version of a metric of which reports are counted: apps in the field still send the former ones."""
    known = {metric.version: metric}
    for version in store.versions(metric.name):
        try:
            known[version] = store.metric(metric.name, version) or metric
        except ParameterError as error:
            _log.warning("%s: %s", metric.name, error)
    return known


def told(
    store: Store,
    metric: Metric,
    since: date | None = None,
    until: date | None = None,
    confidence: float = 0.95,
    candidates: tuple[str, ...] | None = None,
    *,
    simultaneous: bool = False,
    forged: float = 0.01,
) -> Answer:
    """Return the estimates of a metric version from the database, over the days ``since`` to ``until``, both included.

    A day that is not given is the first or the last with reports. Raises what ``answer`` and the store raise.
    """
    tally = store.tally(metric, since, until)
    first, last = store.days(metric) or (None, None)
    days = (since or first, until or last)
    refused = store.refusals(metric.name, *days)
    return answer(
        metric, tally, days, confidence, candidates, simultaneous=simultaneous, forged=forged, refused=refused
    )


def told_each(store: Store, metric: Metric, query: Query) -> Iterator[Answer]:
    """Return the answers to a query, made one at a time: one, or by day one for each day with reports."""
    spans: list[tuple[date | None, date | None]] = [(query.since, query.until)]
    if query.by_day:
        first, last = query.since or date.min, query.until or date.max
        spans = [(day, day) for day in store.active_days(metric) if first <= day <= last]
    return (
        told(store, metric, *span, query.confidence, simultaneous=query.simultaneous, forged=query.forged)
        for span in spans
    )


def told_apart(store: Store, first: Metric, second: Metric, asked: Comparison) -> Compared:
    """Return the comparison of two metric versions, which may be one on different days."""
    if first.version == second.version:
        days = store.days(first)
        asked = asked.apart(days and days[1])
    before = told(store, first, asked.since, asked.until, asked.confidence)
    after = told(store, second, asked.other_since, asked.other_until, asked.confidence)
    return compared(before, after, (first.mechanism, second.mechanism), asked.confidence, asked.change)


def stretches(
    store: Store,
    metric: Metric,
    since: date | None = None,
    until: date | None = None,
    confidence: float = 0.95,
    step: str = "day",
) -> list[Stretch]:
    """Return the estimates of every day, or week from Monday to Sunday, that has reports; oldest first."""
    days = [day for day in store.active_days(metric) if (since or day) <= day <= (until or day)]
    length = 7 if step == "week" else 1
    found = []
    for number, _ in groupby(days, lambda day: (day.toordinal() - 1) // length):  # day 1 was a Monday
        first, last = (date.fromordinal(number * length + place) for place in (1, length))
        first, last = max(first, since or first), min(last, until or last)
        tally = store.tally(metric, first, last)
        found.append(Stretch(first, last, estimate(metric.mechanism, metric.labels, tally, confidence)))
    return found
