"""Put a relay together from store, collector, pools, endpoint and forwarder, and close them in order."""

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from datetime import date

from prometheus_client.core import Metric

from dither_serving.addresses import Proxies
from dither_serving.committer import Committer
from dither_serving.problems import StoreError
from dither_serving.prometheus import CachedReading
from dither_serving.server import Served

from .collector import CollectorClient, Pools
from .config import RelayConfig
from .endpoint import Rates, RelayNumbers, SealedEndpoint
from .forwarding import TROUBLE, Forwarder, is_overdue
from .status import RelayCondition, relay_gauges
from .store import Arrival, RelayStore


class Relay(Served):
    """The parts behind the routes. Raises ParameterError or StoreError for a configuration that it cannot use."""

    def __init__(self, config: RelayConfig) -> None:
        self.config = self.limits = config
        self.proxies = Proxies(config.proxies)
        self.numbers = RelayNumbers()
        with ExitStack() as opened:
            self.store = RelayStore(config.db, lock_wait=config.lock_wait)
            opened.callback(self.store.close)
            opened.enter_context(
                self.store.exclusive_lock(
                    "relay", "another relay already uses it; a second one would give each address a second limit"
                )
            )
            collector = CollectorClient(config.collector, config.token, config.collector_seconds)
            self.pools = Pools(self.store, collector)
            self._opened = opened.pop_all()
        self.committer: Committer[Arrival, None] = Committer(self.store, self._today, config, self.numbers)
        self.rates = Rates(config.rate, self.proxies.forget_addresses)
        self.endpoint = SealedEndpoint(config, self.pools, self.committer, self.rates, self.proxies, self.numbers)
        self.forwarder = Forwarder(config, self.store, collector)
        self._condition = CachedReading("relay's database", self._read_condition)

    def start(self) -> None:
        """Start the relay's own threads."""
        self.pools.start()
        self.rates.start()
        self.forwarder.start()

    def ready(self) -> None:
        """Raise StoreError if reports cannot be taken."""
        self.store.require_writable()

    def is_ready(self) -> bool:
        """Return whether the store takes reports and the list of pools is known."""
        with suppress(StoreError):
            self.ready()
            return self.pools.is_known
        return False

    def families(self) -> Iterator[Metric]:
        """Yield the gauges for Prometheus."""
        yield from relay_gauges(self._condition.value(), self.is_ready(), self.forwarder.rejected)

    def close(self) -> None:
        """Commit what was accepted, and close the database."""
        self.pools.close()
        self.rates.close()
        self.committer.close()
        self.forwarder.close()
        self.store.checkpoint()
        self._opened.close()

    def _read_condition(self) -> RelayCondition:
        config = self.config
        troubles = (self.pools.trouble, self.forwarder.trouble, self.store.state().get(TROUBLE, ""))
        is_late = is_overdue(config.now(), config.hour(), self.store.last_hour())
        known = [trouble for trouble in troubles if trouble]
        return RelayCondition(self.store.held(), self.store.disk(), is_late, known)

    def _today(self) -> date:
        return self.store.day or self.config.today()
