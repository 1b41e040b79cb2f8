"""How a relay fares, for Prometheus: counts and times, and nothing of any person."""

from collections.abc import Callable, Iterator, Sequence
from time import monotonic

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.core import Metric as Family

from dither_server.observability.kept import Kept
from dither_server.observability.prometheus import ServerNumbers

from .store import Held

__all__ = ["Gauges", "RelayNumbers"]


class RelayNumbers(ServerNumbers):
    """The numbers of one process."""

    def __init__(self) -> None:
        super().__init__()
        self._answers = self._counter("dither_relay_answers", "Answers to POST /v1/sealed.", ["status"])
        about = "Sealed reports that were refused, by the end of the problem's type."
        self._refused = self._counter("dither_relay_refused", about, ["reason"])

    def answered(self, status: int) -> None:
        """Count an answer."""
        self._answers.labels(str(status)).inc()

    def refused(self, reason: str) -> None:
        """Count a refused report; of which pool is not told, for strangers make names up."""
        self._refused.labels(reason).inc()


class Gauges:
    """What the database says of each pool, and whether the last try was in vain."""

    def __init__(self, held: Callable[[], Sequence[Held]], troubles: Callable[[], Sequence[str]]) -> None:
        self._held = Kept("relay's database", held, monotonic)
        self._troubles = troubles

    def families(self) -> Iterator[Family]:
        """Yield everything; of the database nothing if it cannot be read."""
        trouble = GaugeMetricFamily("dither_relay_trouble", "1 if the last try to ask or to post was in vain.")
        trouble.add_metric([], float(bool(self._troubles())))
        yield trouble
        held = self._held.value()
        if held is None:
            return
        gauges = {"waiting": "wait for their number", "frozen": "are frozen, and on their way"}
        for name, about in gauges.items():
            gauge = GaugeMetricFamily(f"dither_relay_{name}", f"Sealed reports that {about}.", labels=["pool", "suite"])
            for one in held:
                gauge.add_metric([one.pool, one.suite], getattr(one, name))
            yield gauge
        counts = {
            "forwarded": "the collector has taken",
            "unread": "the collector has taken and could not read",
            "dropped": "grew too old before they could leave",
        }
        for name, about in counts.items():
            family = CounterMetricFamily(
                f"dither_relay_{name}", f"Sealed reports that {about}.", labels=["pool", "suite"]
            )
            for one in held:
                family.add_metric([one.pool, one.suite], getattr(one, name))
            yield family
