"""The relay's numbers for Prometheus: counts and times, nothing about any person."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.core import Metric as Family

from dither_server.prometheus import of_disk, of_up
from dither_server.store import Disk
from dither_serving.prometheus import ServerNumbers, gauge

from .store import Held

_LABELS = ("pool", "suite")


class RelayNumbers(ServerNumbers):
    """The numbers of one process."""

    def __init__(self) -> None:
        super().__init__(answers="dither_relay_answers", to="POST /v1/sealed")
        self._answers.labels("202")  # so that the counter exists, at 0, before the first report
        about = "Sealed reports that were refused, by the end of the problem's type."
        self._refused = self.counter("dither_relay_refused", about, ["reason"])

    def refused(self, reason: str) -> None:
        """Count a refused report, without its pool, because strangers invent names."""
        self._refused.labels(reason).inc()


class RelayCondition(NamedTuple):
    """The state of a relay's database: its pools, its disk, whether an hour was missed, and the last failures.

    ``disk`` is None if the database is on another machine.
    """

    held: Sequence[Held]
    disk: Disk | None
    is_overdue: bool
    troubles: Sequence[str]


def relay_gauges(known: RelayCondition | None, is_ready: bool, rejected: int) -> Iterator[Family]:
    """Yield all gauges of a relay; if the condition of its database is not known, only those that need none."""
    yield gauge("dither_relay_ready", "Whether reports are taken, as /readyz says: 1 or 0.", is_ready)
    about = "Bodies of this round that the collector rejected; they are kept for the next."
    yield gauge("dither_relay_rejected_bodies", about, rejected)
    yield of_up(known is not None)
    if known is not None:
        yield from _families(known)


def _families(known: RelayCondition) -> Iterator[Family]:
    yield from of_disk(known.disk)
    about = "1 if the last try to ask or to post failed."
    yield gauge("dither_relay_trouble", about, bool(known.troubles))
    yield gauge(
        "dither_relay_overdue", "1 if the hour to forward has come and nothing was forwarded.", known.is_overdue
    )
    gauges = {"waiting": "wait until there are enough", "frozen": "are in a batch that is being forwarded"}
    for name, about in gauges.items():
        family = GaugeMetricFamily(f"dither_relay_{name}", f"Sealed reports that {about}.", labels=_LABELS)
        yield _of_pools(family, name, known.held)
    counts = {
        "forwarded": "the collector has taken",
        "unread": "the collector has taken and could not read",
        "dropped": "were dropped because they became too old",
    }
    for name, about in counts.items():
        counter = CounterMetricFamily(f"dither_relay_{name}", f"Sealed reports that {about}.", labels=_LABELS)
        yield _of_pools(counter, name, known.held)


def _of_pools(family: GaugeMetricFamily | CounterMetricFamily, name: str, held: Sequence[Held]) -> Family:
    for one in held:
        if not one.is_named:  # otherwise its series would change their name with the first report
            continue
        family.add_metric([one.pool, one.suite], getattr(one, name))
    return family
