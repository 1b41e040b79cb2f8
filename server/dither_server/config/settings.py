"""The configuration of a collector: every setting, with its default and its help text."""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import NamedTuple, Self

from dither_serving.addresses import LocalHosts, Proxies
from dither_serving.settings import ServerSettings, setting
from dither_shared import Metric, ParameterError, load_metrics
from dither_shared.metrics.period import utc_today

from ..access.origins import NO_ORIGINS, Origins
from ..access.tokens import Role
from ..tally.retention import Retention

_MOST, _LONGEST = 1_000, 40
"""Maximum releases, and maximum characters of a name."""


class Release(NamedTuple):
    """A release: its UTC day and its name."""

    day: date
    name: str

    def __str__(self) -> str:
        return f"{self.day} {self.name}"


@dataclass(frozen=True)
class Releases:
    """The releases of the app that pages mark on curves, oldest first: ``[[releases]]`` with a day and a name."""

    listed: tuple[Release, ...] = ()

    @classmethod
    def read(cls, given: object, source: str) -> Self:
        """Read tables of day and name, or text such as "2026-11-20 2.1, 2026-12-01 2.2". Raises ParameterError."""
        parts = [part for part in given.split(",") if part.strip()] if isinstance(given, str) else given
        if not isinstance(parts, list) or len(parts) > _MOST:
            raise ParameterError(source, f"not a list of at most {_MOST} releases, each with a day and a name")
        return cls(tuple(sorted(_release(part, f"{source}[{place}]") for place, part in enumerate(parts))))

    def __str__(self) -> str:
        return ", ".join(map(str, self.listed))


def _release(part: object, source: str) -> Release:
    if isinstance(part, str):
        day, _, name = part.strip().partition(" ")
        part = {"day": day, "name": name.strip()}
    if not isinstance(part, Mapping) or set(part) != {"day", "name"}:
        raise ParameterError(source, 'not a day with a name, such as day = 2026-11-20 and name = "2.1"')
    day, name = part["day"], part["name"]
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= _LONGEST:
        raise ParameterError(source, f"its name is not a text of 1 to {_LONGEST} characters")
    found: object = day
    if isinstance(day, str):
        with suppress(ValueError):
            found = date.fromisoformat(day)
    if not isinstance(found, date) or isinstance(found, datetime):
        raise ParameterError(source, "its day is not a date such as 2026-11-20")
    return Release(found, name)


_HEADER = re.compile(
    r"(?!x-forwarded-(for|proto|host|port|by|server|ssl|prefix)$)(?!x-real-ip$)x-[a-z0-9-]{1,60}", re.IGNORECASE
)
"""A header that can name a person; the others stand in requests of everybody."""

_SEAL_KEYS = "seal-keys.json"


def seal_file(named: str, db: str | None) -> Path:
    """Return the file of seal keys: the configured one, else one beside the SQLite database, else one here."""
    from ..store.engine import database_file  # noqa: PLC0415 - SQLAlchemy is what a command's help would wait for

    if named:
        return Path(named)
    beside = None if db is None else database_file(db)
    return Path(_SEAL_KEYS) if beside is None else beside.with_name(_SEAL_KEYS)


def check_database(url: str) -> None:
    """Raise ParameterError unless the setting ``db`` is the URL of a database."""
    from ..store.engine import database_url  # noqa: PLC0415 - SQLAlchemy is what a command's help would wait for

    database_url(url)


@dataclass(frozen=True, kw_only=True)
class Config(ServerSettings):
    """Every setting, and the clock. Raises ParameterError for an invalid value."""

    metrics: str | Path | Mapping[str, Metric] = field(metadata={"about": "The app's metrics.toml."})
    db: str = field(metadata={"about": "The database's URL, for example sqlite:///dither.db."})
    title: str = setting("What people answered", "Title of the pages, such as the app's name.")
    open: frozenset[Role] = setting(frozenset(), "Roles that need no token: report, read, admin.")
    population: str = setting("", "File of the known margins of the population, for weighted estimates.")
    origins: Origins = setting(  # noqa: RUF009  # a field, as all the others are
        NO_ORIGINS, "Origins of the web pages that may report, such as https://app.example; other pages may not."
    )
    trust_loopback: bool = setting(
        True, "Take this machine's reports without a token; set it to false behind a local proxy."
    )
    local_address: str = setting(
        "", "Address where another WSGI server listens, such as 127.0.0.1:8000, for trust_loopback."
    )
    local_token: bool = setting(
        True, "Create a read token, valid until the server stops, and print the pages' address with it."
    )
    login_header: str = setting(
        "", "Header in which a proxy of proxies names a person who has logged in, and may read: X-Forwarded-User."
    )
    rows_limit: int = setting(100_000, "Maximum report rows in a batch.")
    estimates_limit: int = setting(
        500_000, "Maximum values in an answer, times its days or weeks; a larger answer is refused."
    )
    analyses: int = setting(
        4, "Maximum large estimates, trends and pages admitted at a time, in each process; only one of them computes."
    )
    analysis_wait: float = setting(1.0, "Seconds that another large analysis waits before it is refused with 503.")
    cache_bytes: int = setting(1 << 25, "Maximum bytes of cached estimates, in each process.")
    spool: str = setting(
        "",
        "Folder or URL to which batches are appended, for dither-server fold to count them; not set: counted at once.",
    )
    spool_open: str = setting(
        "", "Folder for batches that are not yet in a file of the spool; needed if spool is a URL."
    )
    spool_bytes: int = setting(1 << 26, "Bytes after which a file of the spool is closed.")
    spool_seconds: float = setting(300.0, "Seconds after which it is closed.")
    seal_keys: str = setting(
        "", "File of the keys that devices seal reports for; seal-keys.json beside a SQLite database, else here."
    )
    seal_alarm: float = setting(0.05, "Share of a sealed batch that may fail to open; above it, an alarm is raised.")
    releases: Releases = setting(  # noqa: RUF009  # a field, as all the others are
        Releases(), "Releases of the app, which pages mark on curves: 2026-11-20 2.1, or tables of day and name."
    )
    retention: Retention = setting(  # noqa: RUF009  # a field, as all the others are
        Retention(), "Days for which sums are kept: 400 days, or 400 days, theme = 90 days. For ever if not set."
    )
    today: Callable[[], date] = utc_today

    def __post_init__(self) -> None:
        super().__post_init__()
        check_database(self.db)
        if self.login_header and not self.proxies:
            raise ParameterError("login_header", "needs proxies: the addresses from which the header counts")
        if self.login_header and not _HEADER.fullmatch(self.login_header):
            raise ParameterError("login_header", f"{self.login_header!r} cannot name a person; X-Forwarded-User can")
        if self.login_header and Proxies(self.proxies).holds_all:
            raise ParameterError(
                "login_header", f"proxies = {self.proxies!r} names every address: anybody could log in"
            )
        if self.spool:
            from ..store.sink import spool_package  # noqa: PLC0415 - numpy is what a command's help would wait for

            spool_package().check(self)
        elif self.spool_open:
            raise ParameterError("spool_open", "has no effect without spool")
        if self.seal_alarm >= 1:
            raise ParameterError("seal_alarm", f"{self.seal_alarm!r} is not below 1")
        LocalHosts.at(self.local_address)

    @property
    def here(self) -> LocalHosts:
        """The local addresses from which reports need no token."""
        return LocalHosts.at(self.local_address if self.trust_loopback else "")

    def seal_file(self) -> Path:
        """Return the path of the seal keys; the file need not exist."""
        return seal_file(self.seal_keys, self.db)

    def load(self) -> dict[str, Metric]:
        """Return the metrics by name; raise ParameterError if the file cannot be read or is wrong."""
        if isinstance(self.metrics, Mapping):
            return dict(self.metrics)
        return load_metrics(self.metrics)
