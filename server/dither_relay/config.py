"""The configuration of a relay: every setting, with its default and its help text, and what follows from its clock.

A device has at most one report in each period, and a batch has reports of one period, so a batch never has two reports
of a device. This holds whatever the clock shows; the clock only affects how many reports a batch can have.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time

from dither_server.config.settings import check_database
from dither_server.config.sources import Sources
from dither_serving.collector_url import CollectorUrl
from dither_serving.problems import Kind, Problem
from dither_serving.settings import RETRY_DAYS, ServerSettings, other_default, setting
from dither_shared import ParameterError
from dither_shared.counted import counted
from dither_shared.seal_key import SUITES
from dither_shared.sealed import Pool, SealedReport

_LEAST_BODY = len(SealedReport(Pool("a", "0" * 16), bytes(SUITES["xwing"].overhead + 1)).encode())
"""Bytes of the smallest report sealed by X-Wing; a collector may switch to X-Wing at any time."""

_TOKEN = re.compile(r"[!-~]*")


@dataclass(frozen=True, kw_only=True)
class RelayConfig(ServerSettings):
    """Every setting, and the clock. Raises ParameterError for an invalid value."""

    db: str = field(metadata={"about": "The database's URL, for example sqlite:///relay.db."})
    collector: str = field(metadata={"about": "The collector's URL, for example https://collector.example."})
    token: str = setting("", "Token of the role report, if the collector asks for one.")
    batch: int = setting(500, "Minimum number of reports that are forwarded together.")
    at: str = setting("03:00", "Hour of the day, in UTC, at which reports are forwarded.")
    grace: int = setting(1, "Days after the end of a period for which its reports wait for late ones.")
    max_age: int = setting(
        14, "Days after which reports are dropped if there are still too few, or if the collector did not take them."
    )
    rate: int = setting(600, "Maximum reports of one address in an hour; loopback may send any number.")
    port: int = other_default("port", 8080)
    open_metrics: bool = setting(False, "Show /metrics to anyone who reaches the port, not only to this machine.")
    collector_seconds: float = setting(300.0, "Seconds to wait for the collector, which opens each report of a body.")
    body_limit: int = other_default("body_limit", 1 << 16)
    threads: int = other_default("threads", 8)
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_database(self.db)
        self.hour()
        CollectorUrl.parse("collector", self.collector)
        if self.batch < 2:
            raise ParameterError("batch", f"{self.batch} is below 2; a report alone is not hidden among others")
        if self.max_age > RETRY_DAYS:
            raise ParameterError(
                "max_age", f"{self.max_age} is above {RETRY_DAYS}, the days for which a collector recognizes retries"
            )
        if self.grace + self.max_age >= self.horizon:
            late = f"{self.grace} and max_age {self.max_age} are together not below horizon, {self.horizon}"
            raise ParameterError("grace", f"{late}: a collector takes no batch of a period that ended horizon days ago")
        if not _TOKEN.fullmatch(self.token):  # otherwise no request could be sent; the token itself is not shown
            raise ParameterError("token", "has spaces, line ends or characters beyond ASCII, which no token has")
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

    def today(self) -> date:
        """Return the clock's day, in UTC."""
        return self.now().date()

    def is_due(self, pool: Pool) -> bool:
        """Return whether a pool may leave: ``grace`` days after its period; always if its period is "once"."""
        return pool.days is None or self.today().toordinal() >= pool.days.stop + self.grace

    def is_over(self, pool: Pool) -> bool:
        """Return whether a pool takes no more reports, because it could leave more than ``max_age`` days ago.

        The pool of the period "once" takes reports for ever, and is over all the same: its reports age one by one.
        """
        return pool.days is None or self.today().toordinal() > pool.days.stop + self.grace + self.max_age

    def require_open(self, pool: Pool) -> None:
        """Raise Problem unless a pool takes reports now; a device keeps a report whose period has not begun."""
        if pool.days is None:
            return
        if self.today().toordinal() < pool.days.start:
            raise Problem(Kind.UNKNOWN_POOL, "pool: its period has not begun; is the device's clock right?")
        if self.is_over(pool):
            late = counted(self.grace + self.max_age, "day")
            raise Problem(Kind.POOL_CLOSED, f"pool: its period ended more than {late} ago")


RELAY = Sources(
    RelayConfig,
    "DITHER_RELAY_",
    "relay.toml",
    {"db": "sqlite:///relay.db", "collector": "https://collector.example"},
)
"""Where a relay's settings come from."""
