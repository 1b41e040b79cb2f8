"""Put a relay together from store, collector, pools, endpoint and forwarder, and close them in order."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from datetime import date

from prometheus_client.core import Metric

from dither_serving.addresses import Proxies
from dither_serving.committer import Committer, Limits
from dither_serving.problems import StoreError
from dither_serving.prometheus import CachedReading
from dither_serving.server import Served

from .calendar import Calendar
from .collector import CollectorClient
from .config import RelayConfig
from .endpoint import SealedEndpoint
from .forwarding.forwarder import Forwarder, is_overdue
from .forwarding.rounds import TROUBLE, Rounds, Rules
from .listed_pools import Pools
from .prometheus import RelayCondition, RelayNumbers, relay_gauges
from .rates import Rates
from .store import Arrival, RelayStore


def rounds_of(
    config: RelayConfig, store: RelayStore, collector: CollectorClient, goes_on: Callable[[], bool] = lambda: True
) -> Rounds:
    """Return the rounds of a configuration."""
    rules = Rules(config.batch, config.max_age, config.horizon)
    return Rounds(store, collector, rules, calendar_of(config), lambda: store.day or config.now().date(), goes_on)


def calendar_of(config: RelayConfig) -> Calendar:
    """Return the calendar of a configuration."""
    return Calendar(lambda: config.now().date(), config.grace, config.max_age)


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
        self.committer: Committer[Arrival, None] = Committer(
            self.store,
            self._today,
            Limits(config.queue_limit, config.group_limit, config.queue_bytes),
            numbers=self.numbers,
        )
        self.rates = Rates(config.rate, self.proxies.forget_addresses)
        self.endpoint = SealedEndpoint(
            self.pools, calendar_of(config), self.committer, self.rates, self.proxies, self.numbers, config.body_limit
        )
        self.forwarder = Forwarder(
            self.store, lambda goes_on: rounds_of(config, self.store, collector, goes_on), config.hour(), config.now
        )
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
        return self.store.day or self.config.now().date()
