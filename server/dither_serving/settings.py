"""The settings that every server has: its socket, its limits, and how it logs."""

from dataclasses import dataclass, field, fields
from math import inf
from typing import Any

from dither_shared import ParameterError

from .addresses import Proxies

RETRY_DAYS = 30
"""Days for which a device may send a batch again: the client's outbox keeps none for longer."""

_LEVELS = ("debug", "info", "warning", "error")


def setting(default: Any, about: str) -> Any:
    """Return the dataclass field of a setting, which flags, environment and file can set."""
    return field(default=default, metadata={"about": about})


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """Settings of a server. Raises ParameterError for an invalid value: each number is positive and finite."""

    host: str = setting("127.0.0.1", "Address to listen on.")
    port: int = setting(8000, "Port to listen on; 0 takes any free one.")
    threads: int = setting(64, "Threads for everything but small reports, which need none.")
    connections: int = setting(
        1000, "Maximum simultaneous connections; beyond it, the one that has waited longest is closed."
    )
    connections_per_address: int = setting(
        100, "Maximum simultaneous connections per address; loopback is not limited."
    )
    request_seconds: float = setting(30.0, "Seconds for a request to arrive, and for its answer to be read.")
    proxies: str = setting(
        "", "Addresses or networks of proxies in front; their requests count for the address that they forward."
    )
    body_limit: int = setting(1 << 20, "Maximum bytes of a request's body.")
    queue_limit: int = setting(1024, "Maximum uploads that wait for their commit.")
    queue_bytes: int = setting(
        1 << 26, "Maximum bytes of uploads that wait for their commit; those in transfer may take half as many again."
    )
    group_limit: int = setting(512, "Maximum uploads in one transaction.")
    horizon: int = setting(45, "Days for which uploads are remembered; one that is sent again later counts again.")
    lock_wait: float = setting(
        5.0,
        "Seconds to wait for SQLite's write lock; PostgreSQL has its own lock_timeout.",
    )
    log_level: str = setting("info", "Lowest level that is logged: debug, info, warning, error.")

    def __post_init__(self) -> None:
        for option in fields(self):
            value = getattr(self, option.name)
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if is_number and option.name != "port" and not 0 < value < inf:  # nan is not, either
                raise ParameterError(option.name, f"{value!r} is not {'finite' if value == inf else 'positive'}")
        Proxies(self.proxies)
        if not 0 <= self.port <= 65_535:
            raise ParameterError("port", f"{self.port} is not between 0 and 65535")
        if self.horizon <= RETRY_DAYS:
            raise ParameterError("horizon", f"{self.horizon} is not above {RETRY_DAYS}, the days devices retry")
        if self.log_level not in _LEVELS:
            raise ParameterError("log_level", f"{self.log_level!r} is not one of {', '.join(_LEVELS)}")


def other_default(name: str, default: Any) -> Any:
    """Return the field of a common setting, with a default of its own."""
    return setting(default, ServerSettings.__dataclass_fields__[name].metadata["about"])
