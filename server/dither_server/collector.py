"""Put a collector together from metrics, database, committer and ingest, and close them in order."""

import logging
from collections.abc import Iterator
from datetime import timedelta
from types import TracebackType
from typing import Self

from prometheus_client.core import GaugeMetricFamily

from dither_shared import Metric, ParameterError

from .access.gatekeeper import Gatekeeper
from .access.known_tokens import KnownTokens
from .config.settings import Config
from .ingest.committer import Committer, Limits
from .ingest.ingest import Ingest
from .observability.database_gauges import Vitals
from .observability.prometheus import Prometheus
from .observability.spool_gauges import SpoolGauges
from .reading.estimate_cache import EstimateCache
from .reading.estimates import EstimateReader
from .reading.places import Analyses
from .store import Store
from .store.removal import Housekeeper
from .store.spool.database_link import DatabaseLink
from .store.spool.owner import claim
from .store.spool.spool import Spool

__all__ = ["Collector"]

_log = logging.getLogger(__name__)


class Collector:
    """The parts that run behind the routes. Raises ParameterError or StoreError for a configuration it cannot use."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.metrics: dict[str, Metric] = config.load()
        self.store = Store(config.db, lock_wait=config.lock_wait)
        try:
            self.spool = _spool(config, self.store)
            self.store.register(self.metrics.values())
            versions = {name: _versions(self.store, metric) for name, metric in self.metrics.items()}
        finally:
            self.store.close()  # a server may fork now; connections open again on demand
        self.prometheus = Prometheus(self.metrics)
        self.reader = EstimateReader(self.store, EstimateCache(config.cache_bytes), config.estimates_limit)
        self.analyses = Analyses(config.analyses, self.prometheus, config.analysis_wait)
        self._gauges: list[Vitals | SpoolGauges] = [Vitals(self.store)]
        if self.spool is not None:
            self._gauges.append(SpoolGauges(self.spool.rooms, self.store.folds))
        limits = Limits(config.queue_limit, config.group_limit, config.queue_bytes)
        self.committer = Committer(
            self.spool or self.store, config.today, limits, timedelta(days=config.horizon), self.prometheus
        )
        self.housekeeper = Housekeeper(config.retention, self._opened, config.today)
        self.gatekeeper = Gatekeeper(KnownTokens(self.store, config.today), config.open, config.here)
        self.ingest = Ingest(
            versions,
            self.committer,
            self.gatekeeper,
            self.prometheus,
            config.body_limit,
            config.rows_limit,
            config.origins,
        )

    def start(self) -> None:
        """Start the collector's own threads. A server that forks calls this after the fork."""
        self.housekeeper.start()
        if self.spool is not None:
            self.spool.start()

    def ready(self) -> None:
        """Raise StoreError if reports cannot be taken. For that a spool needs no database."""
        (self.spool or self.store).ping()

    def gauges(self) -> Iterator[GaugeMetricFamily]:
        """Yield how the database fares, and the spool if there is one."""
        for one in self._gauges:
            yield from one.families()

    def former(self) -> list[str]:
        """Return the names of metrics that were collected here and are no longer asked."""
        return sorted({name for name, _ in self.store.registered()} - self.metrics.keys())

    def _opened(self) -> Store:
        return Store(self.config.db, create=False, lock_wait=self.config.lock_wait)

    def close(self) -> None:
        """Commit what was accepted and let go of the database, whose file is whole then by itself."""
        self.committer.close()
        if self.spool is not None:
            self.spool.close()
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


def _spool(config: Config, store: Store) -> Spool | None:
    """Return what a collector appends to, if it is to. Raises ParameterError if that is of another database."""
    if not config.spool:
        return None
    rooms = config.rooms()
    claim(rooms.place, store.identity())
    return Spool(DatabaseLink(store), rooms, config.spool_bytes, config.spool_seconds)


def _versions(store: Store, metric: Metric) -> dict[str, Metric]:
    """Return every version of a metric of which reports are counted: apps in the field still send the former ones."""
    known = {metric.version: metric}
    for version in store.versions(metric.name):
        try:
            known[version] = store.metric(metric.name, version) or metric
        except ParameterError as error:
            _log.warning("%s: %s", metric.name, error)
    return known
