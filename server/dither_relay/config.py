"""The configuration of a relay: every setting, with its default and its help text."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, time
from typing import Any

from dither_server.config.common import RETRY_DAYS, check_common
from dither_server.config.sources import Sources, settings_of
from dither_serving.collector_url import CollectorUrl
from dither_shared import ParameterError
from dither_shared.sealed import SUITES, Pool, SealedReport

_LEAST_BODY = len(SealedReport(Pool("a", "0" * 16), bytes(SUITES["xwing"].overhead + 1)).encode())
"""Bytes of the smallest report sealed by X-Wing; a collector may switch to X-Wing at any time."""


def _setting(default: Any, about: str) -> Any:
    """Return the dataclass field of a setting, which flags, environment and file may give."""
    return field(default=default, metadata={"about": about})


@dataclass(frozen=True, kw_only=True)
class RelayConfig:
    """Every setting, and the clock. Raises ParameterError for an invalid value."""

    db: str = field(metadata={"about": "The database's URL, for example sqlite:///relay.db."})
    collector: str = field(metadata={"about": "The collector's URL, for example https://collector.example."})
    token: str = _setting("", "Token of the role report, if the collector asks for one.")
    batch: int = _setting(500, "Minimum number of reports that are forwarded together.")
    at: str = _setting("03:00", "Hour of the day, in UTC, at which reports are forwarded.")
    max_age: int = _setting(
        14, "Days after which reports are dropped if there are still too few, or if the collector did not take them."
    )
    horizon: int = _setting(45, "Days for which forwarded reports are remembered, so that no retry counts.")
    rate: int = _setting(600, "Maximum reports of one address in an hour; loopback may send any number.")
    host: str = _setting("127.0.0.1", "Address to listen on.")
    port: int = _setting(8080, "Port to listen on; 0 takes any free one.")
    proxies: str = _setting(
        "", "Addresses or networks of proxies in front; their requests count for the address that they forward."
    )
    open_metrics: bool = _setting(False, "Show /metrics to anyone who reaches the port, not only to this machine.")
    threads: int = _setting(8, "Threads for everything but small reports, which need none.")
    connections: int = _setting(
        1000, "Maximum simultaneous connections; beyond it, the one that has waited longest is closed."
    )
    connections_per_address: int = _setting(
        100, "Maximum simultaneous connections of one address; loopback may have any number."
    )
    request_seconds: float = _setting(30.0, "Seconds for a request to arrive, and for its answer to be read.")
    collector_seconds: float = _setting(300.0, "Seconds to wait for the collector, which opens each report of a body.")
    body_limit: int = _setting(1 << 16, "Maximum bytes of a request's body.")
    queue_limit: int = _setting(1024, "Maximum reports that wait for their commit.")
    queue_bytes: int = _setting(
        1 << 26, "Maximum bytes of requests that wait for their commit; those in transfer may take half as many again."
    )
    group_limit: int = _setting(512, "Maximum reports in one transaction.")
    lock_wait: float = _setting(5.0, "Seconds to wait for another process's write lock.")
    log_level: str = _setting("info", "Lowest level that is logged: debug, info, warning, error.")
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def __post_init__(self) -> None:
        check_common(self)
        self.hour()
        CollectorUrl.parse("collector", self.collector)
        if self.batch < 2:
            raise ParameterError("batch", f"{self.batch} is below 2; a report alone is not hidden among others")
        if self.max_age > RETRY_DAYS:
            raise ParameterError(
                "max_age", f"{self.max_age} is above {RETRY_DAYS}, the days for which a collector recognizes retries"
            )

        if self.body_limit < _LEAST_BODY:
            raise ParameterError("body_limit", f"{self.body_limit} is below {_LEAST_BODY}; no report of X-Wing fits")
        if self.queue_bytes < self.body_limit:
            message = f"{self.queue_bytes} is below body_limit, {self.body_limit}; the largest report would never fit"
            raise ParameterError("queue_bytes", message)

    def hour(self) -> time:
        """Return the hour of the day, in UTC; raise ParameterError if it is not one."""
        try:
            return datetime.strptime(self.at, "%H:%M").replace(tzinfo=UTC).timetz()
        except ValueError:
            raise ParameterError("at", f"{self.at!r} is not a time of day in UTC, such as 03:00") from None


RELAY = Sources(
    RelayConfig,
    settings_of(RelayConfig),
    "DITHER_RELAY_",
    "relay.toml",
    {"db": "sqlite:///relay.db", "collector": "https://collector.example"},
)
"""Where a relay's settings come from."""
