"""Put a collector together from metrics, database, committer and ingest, and close them in order."""

import logging
from collections.abc import Iterator, Mapping

from prometheus_client.core import GaugeMetricFamily

from dither_serving.addresses import Proxies
from dither_serving.prometheus import CachedReading
from dither_serving.server import Served
from dither_shared import Metric, ParameterError

from .access.gatekeeper import Gatekeeper, proxy_login
from .access.tokens import KnownTokens
from .analysis.population import KnownPopulation
from .analysis.shuffling.amplified import require_mixed
from .config.settings import Config
from .ingest.committer import ReportCommitter
from .ingest.ingest import Ingest, PlainUpload, UploadFormat
from .ingest.seal_keys import KeyFile, pools
from .ingest.sealed import SealedUpload
from .prometheus import Prometheus, database_gauges
from .reading.analysis_limiter import AnalysisLimiter
from .reading.estimates import EstimateReader
from .reading.sources import AnswerCache
from .store import Store, StoreError
from .store.removal import Housekeeper
from .store.sink import Sink, spool_package

_log = logging.getLogger(__name__)


class Collector(Served):
    """A collector: the store, threads and limits that the routes use.

    Raises ParameterError or StoreError for a configuration that it cannot use.
    """

    def __init__(self, config: Config) -> None:
        self.config = self.limits = config
        self.metrics: dict[str, Metric] = config.load()
        require_mixed(self.metrics.values())
        self.store = Store(config.db, lock_wait=config.lock_wait)
        try:
            self.spool = spool_package().open_sink(config, self.store) if config.spool else None
            self.store.register(self.metrics.values())
            versions = {name: _versions(self.store, metric) for name, metric in self.metrics.items()}
        finally:
            self.store.close()  # a server may fork now; connections open again on demand
        self.prometheus = Prometheus(self.metrics)
        self.proxies = Proxies(config.proxies)
        self.analyses = AnalysisLimiter(config.analyses, self.prometheus, config.analysis_wait)
        cache, limit = AnswerCache(config.cache_bytes), config.estimates_limit
        self.population = KnownPopulation.load(config.population, self.metrics) if config.population else None
        self.reader = EstimateReader(self.store, cache, limit, demand=self.analyses.demand, population=self.population)
        self._condition = CachedReading("database", self.store.condition)
        self._engine = "unknown"
        self.committer = self._committer(self.spool or self.store, self.prometheus)
        # Sealed reports come in few large bodies, and are counted at once: a spool keeps the ids of batches, not of
        # rows.
        self._direct = self.committer if self.spool is None else self._committer(self.store, None)
        self.housekeeper = Housekeeper(config.retention, self._opened, config.today, config.horizon)
        login = proxy_login(config.login_header, self.proxies, self.prometheus.login_ignored)
        self.gatekeeper = Gatekeeper(KnownTokens(self.store.tokens, config.today), config.open, config.here, login)
        self.ingest = self.endpoint = self._ingest(versions, PlainUpload(config.rows_limit), self.committer)
        keys = KeyFile(config.seal_file())
        alarm, peer_of = config.seal_alarm, self.proxies.peer_of
        self._seals = SealedUpload(
            keys, config.rows_limit, alarm, self.prometheus, peer_of, config.today, config.horizon
        )
        self.sealed = self._ingest(versions, self._seals, self._direct)

    def _committer(self, sink: Store | Sink, prometheus: Prometheus | None) -> ReportCommitter:
        return ReportCommitter(sink, self.config.today, self.config, prometheus)

    def _ingest(
        self, versions: Mapping[str, Mapping[str, Metric]], posts: UploadFormat, committer: ReportCommitter
    ) -> Ingest:
        config = self.config
        return Ingest(versions, posts, committer, self.gatekeeper, self.prometheus, config.body_limit, config.origins)

    def start(self) -> None:
        """Start the collector's own threads. A server that forks calls this after the fork."""
        self.housekeeper.start()
        if self.spool is not None:
            self.spool.start()

    def ready(self) -> None:
        """Raise StoreError if reports cannot be taken. For that a spool needs no database."""
        (self.spool or self.store).require_writable()

    def gauges(self) -> Iterator[GaugeMetricFamily]:
        """Yield the gauges of the database, and of the spool if there is one."""
        known = self._condition.value()
        self._engine = self._engine if known is None else known.engine
        yield from database_gauges(known, self._engine)
        if self.spool is not None:
            yield from self.spool.families()

    def pools(self) -> dict[str, object]:
        """Return what a relay asks for: a digest of each pool, and how much it may send at a time.

        They are those of the metrics that are sealed in metrics.toml, in all versions that are counted. Raises
        StoreError if the keys or the database cannot be read.
        """
        disabled = self.store.definitions.disabled()
        sealed = {
            name: {version: one for version, one in self.ingest.metrics[name].items() if version not in disabled}
            for name, metric in self.metrics.items()
            if metric.seal is not None
        }
        try:
            suites = self._seals.keys.suites()
        except ParameterError as error:
            _log.error("sealed reports cannot be opened: %s", error)
            raise StoreError("the seal keys cannot be read") from None
        limits = {"batch_limit": self._seals.limit, "body_limit": self.config.body_limit}
        listed = sorted(pools(sealed, suites), key=lambda one: (one["pool"], one["suite"]))
        return {"pools": listed, **limits}

    def former(self) -> list[str]:
        """Return the names of metrics that were collected here and are no longer asked."""
        return sorted({name for name, _ in self.store.definitions.registered()} - self.metrics.keys())

    def _opened(self) -> Store:
        return Store(self.config.db, create=False, lock_wait=self.config.lock_wait)

    def close(self) -> None:
        """Commit what was accepted, and close the database, so that its file alone is complete."""
        self.committer.close()
        self._direct.close()
        if self.spool is not None:
            self.spool.close()
        self.gatekeeper.close()
        self.housekeeper.close()
        self.store.checkpoint()
        self.store.close()


def _versions(store: Store, metric: Metric) -> dict[str, Metric]:
    """Return every version of a metric whose reports are counted: apps in the field still send earlier ones."""
    known = {metric.version: metric}
    for version in store.definitions.versions(metric.name):
        try:
            known[version] = store.definitions.read(metric.name, version) or metric
        except ParameterError as error:
            _log.warning("%s: %s", metric.name, error)
    return known
