"""The configuration of a collector: every setting, with its default and its help text."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from dither_serving.locality import Here
from dither_shared import Metric, ParameterError, load_metrics
from dither_shared.metrics.period import utc_today

from ..access.origins import NO_ORIGINS, Origins
from ..access.roles import Role
from ..tally.retention import Retention
from .common import check_common

_SEAL_KEYS = "seal-keys.json"


def _setting(default: Any, about: str) -> Any:
    """Return the dataclass field of a setting, which flags, environment and file may give."""
    return field(default=default, metadata={"about": about})


def seal_file(named: str, db: str | None) -> Path:
    """Return the file of seal keys: the configured one, else one beside the SQLite database, else one here."""
    from ..store.engine import database_file  # noqa: PLC0415 - SQLAlchemy is what a command's help would wait for

    if named:
        return Path(named)
    beside = None if db is None else database_file(db)
    return Path(_SEAL_KEYS) if beside is None else beside.with_name(_SEAL_KEYS)


@dataclass(frozen=True, kw_only=True)
class Config:
    """Every setting, and the clock. Raises ParameterError for an invalid value."""

    metrics: str | Path | Mapping[str, Metric] = field(metadata={"about": "The app's metrics.toml."})
    db: str = field(metadata={"about": "The database's URL, for example sqlite:///dither.db."})
    title: str = _setting("What people answered", "Title of the pages, such as the app's name.")
    host: str = _setting("127.0.0.1", "Address to listen on.")
    port: int = _setting(8000, "Port to listen on; 0 takes any free one.")
    threads: int = _setting(64, "Threads for everything but small reports, which need none.")
    connections: int = _setting(
        1000, "Maximum simultaneous connections; beyond it, the one that has waited longest is closed."
    )
    connections_per_address: int = _setting(
        100, "Maximum simultaneous connections per address; loopback is not limited."
    )
    request_seconds: float = _setting(30.0, "Seconds for a request to arrive, and for its answer to be read.")
    proxies: str = _setting(
        "", "Addresses or networks of proxies in front; their requests count for the address that they forward."
    )
    open: frozenset[Role] = _setting(frozenset(), "Roles that need no token: report, read, admin.")
    origins: Origins = _setting(  # noqa: RUF009  # a field, as all the others are
        NO_ORIGINS, "Origins of the web pages that may report, such as https://app.example; other pages may not."
    )
    trust_loopback: bool = _setting(
        True, "Take this machine's reports without a token; set it to false behind a local proxy."
    )
    local_address: str = _setting(
        "", "Address where another WSGI server listens, such as 127.0.0.1:8000, for trust_loopback."
    )
    local_token: bool = _setting(
        True, "Create a read token, valid until the server stops, and print the pages' address with it."
    )
    body_limit: int = _setting(1 << 20, "Maximum bytes of a request's body.")
    rows_limit: int = _setting(100_000, "Maximum report rows in a batch.")
    queue_limit: int = _setting(1024, "Maximum batches that wait for their commit.")
    queue_bytes: int = _setting(
        1 << 26,
        "Maximum bytes of rows that wait for their commit; requests and answers in transfer may take half as many "
        "again.",
    )
    group_limit: int = _setting(512, "Maximum batches in one transaction.")
    estimates_limit: int = _setting(
        500_000, "Maximum values in an answer, times its days or weeks; a larger answer is refused."
    )
    analyses: int = _setting(
        4, "Maximum large estimates, trends and pages admitted at a time, in each process; only one of them computes."
    )
    analysis_wait: float = _setting(1.0, "Seconds that a further large one waits before it is refused with 503.")
    cache_bytes: int = _setting(1 << 25, "Maximum bytes of cached estimates, in each process.")
    horizon: int = _setting(45, "Days after which batch ids are forgotten; a batch sent again later counts again.")
    spool: str = _setting(
        "",
        "Folder or URL to which batches are appended, for dither-server fold to count them; not set: counted at once.",
    )
    spool_open: str = _setting(
        "", "Folder for batches that are not yet in a file of the spool; needed if spool is a URL."
    )
    spool_bytes: int = _setting(1 << 26, "Bytes after which a file of the spool is closed.")
    spool_seconds: float = _setting(300.0, "Seconds after which it is closed.")
    seal_keys: str = _setting(
        "", "File of the keys that devices seal reports for; seal-keys.json beside a SQLite database, else here."
    )
    seal_alarm: float = _setting(0.05, "Share of a sealed batch that may fail to open; above it, an alarm is raised.")
    retention: Retention = _setting(  # noqa: RUF009  # a field, as all the others are
        Retention(), "Days for which sums are kept: 400 days, or 400 days, theme = 90 days. For ever if not set."
    )
    lock_wait: float = _setting(5.0, "Seconds to wait for another process's write lock.")
    log_level: str = _setting("info", "Lowest level that is logged: debug, info, warning, error.")
    today: Callable[[], date] = utc_today

    def __post_init__(self) -> None:
        check_common(self)
        if self.spool:
            from ..store.sink import spool_package  # noqa: PLC0415 - numpy is what a command's help would wait for

            spool_package().check(self)
        elif self.spool_open:
            raise ParameterError("spool_open", "has no effect without spool")
        if self.seal_alarm >= 1:
            raise ParameterError("seal_alarm", f"{self.seal_alarm!r} is not below 1")
        Here.at(self.local_address)

    @property
    def here(self) -> Here:
        """What is local, and may report without a token."""
        return Here.at(self.local_address if self.trust_loopback else "")

    def seal_file(self) -> Path:
        """Return where the seal keys are; the file need not be there."""
        return seal_file(self.seal_keys, self.db)

    def load(self) -> dict[str, Metric]:
        """Return the metrics by name; raise ParameterError if the file cannot be read or is wrong."""
        if isinstance(self.metrics, Mapping):
            return dict(self.metrics)
        return load_metrics(self.metrics)
