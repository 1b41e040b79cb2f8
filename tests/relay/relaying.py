"""Shared by the relay's tests: pools, sealed rows that nobody can open, and a relay to send them to."""

import http.client
import json
import os
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from dither_relay.collector import CollectorClient
from dither_relay.config import RelayConfig
from dither_relay.forwarding import Posted, Rounds
from dither_relay.store import Arrival, ListedPool, RelayStore
from dither_shared.seal_key import SUITES
from dither_shared.sealed import ONCE, Pool, SealedReport
from serving import serving

if TYPE_CHECKING:
    import subprocess

THEME = Pool("theme", "0123456789abcdef")
LAYOUT = Pool("layout", "fedcba9876543210", "linux")
LENGTH = 51
POOLS = [(THEME.series, "x25519", LENGTH), (LAYOUT.series, "x25519", LENGTH), (THEME.series, "xwing", 1139)]
LISTED = [ListedPool(Pool.of(series, ONCE).digest, SUITES[suite], length) for series, suite, length in POOLS]
LIMITS = {"batch_limit": 100_000, "body_limit": 1 << 20}
TODAY = date(2026, 11, 20)
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
JSON = {"Content-Type": "application/json"}
PATIENCE = 60.0


def url_of(folder: Path) -> str:
    """The URL of the relay's database in a folder."""
    return f"sqlite:///{folder}/relay.db"


def rows(count: int, seed: int = 0, length: int = LENGTH) -> list[bytes]:
    """Return random bytes in place of sealed rows."""
    chance = random.Random(seed)
    return [chance.randbytes(length) for _ in range(count)]


def arrivals(sealed: Sequence[bytes], pool: int = 1, period: str = ONCE) -> list[Arrival]:
    """Return sealed rows as the store takes them."""
    return [Arrival(pool, Pool.of(POOLS[pool - 1][0], period), row) for row in sealed]


def hold(store: RelayStore, sealed: Sequence[bytes], pool: int = 1, day: date = TODAY, period: str = ONCE) -> None:
    """Commit sealed rows to a store, in groups."""
    for start in range(0, len(sealed), 500):
        store.commit(arrivals(sealed[start : start + 500], pool, period), day, b"")


@contextmanager
def stored(folder: Path, limits: Mapping[str, int] = LIMITS) -> Iterator[RelayStore]:
    """A store that knows the pools, the first of which has number 1."""
    with closing(RelayStore(url_of(folder), lock_wait=0.05)) as store:
        store.list_pools(LISTED, {**LIMITS, **limits})
        yield store


def rounds(store: RelayStore, url: str, batch: int = 5, today: date = TODAY) -> Rounds:
    """Rounds to a collector at this URL."""
    settings = config(Path(), url, batch=batch, now=lambda: datetime.combine(today, NOON.timetz()))
    return Rounds(settings, store, CollectorClient(url, "", PATIENCE))


def forward(store: RelayStore, url: str, batch: int = 5, today: date = TODAY) -> Posted:
    """Freeze what may leave, and post it once to a collector at this URL."""
    one = rounds(store, url, batch, today)
    one.freeze()
    return one.post({})


def config(folder: Path, url: str, **changed: object) -> RelayConfig:
    """A configuration with a clock that stands still."""
    settings: dict[str, object] = {"db": url_of(folder), "collector": url, "batch": 5, "now": lambda: NOON}
    return RelayConfig(**settings | changed)  # type: ignore[arg-type]  # a test names only what it changes


def waiting(store: RelayStore) -> list[tuple[int, int, int, int]]:
    """Return the waiting, frozen, forwarded and dropped reports of each pool that has any."""
    counts = [(pool.waiting, pool.frozen, pool.forwarded, pool.dropped) for pool in store.held()]
    return [count for count in counts if any(count)]


def bytes_of(folder: Path) -> bytes:
    """Return the content of the database's files."""
    return b"".join(path.read_bytes() for path in sorted(folder.glob("relay.db*")))


@contextmanager
def running(folder: Path, collector: str, *options: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """Yield the URL and the process of a relay on ``folder``, whose forwarding hour does not come.

    It is killed at the end unless it has ended.
    """
    at = f"{datetime.now(UTC) - timedelta(hours=2):%H:%M}"
    environment = {**os.environ, "DITHER_RELAY_DB": url_of(folder), "DITHER_RELAY_COLLECTOR": collector}
    with serving("dither_relay", "--batch", "5", "--at", at, *options, environment=environment) as place:
        yield place


def ask(url: str, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
    """Return the status and the body of an answer."""
    address = urlsplit(url)
    with closing(http.client.HTTPConnection(address.hostname or "", address.port, timeout=PATIENCE)) as connection:
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, ({} if body is None else JSON) | fields)
        response = connection.getresponse()
        return response.status, response.read()


def send(url: str, sealed: bytes, pool: Pool = THEME, **headers: str) -> int:
    """Post a sealed row; return the status."""
    return ask(url, "POST", "/v1/sealed", SealedReport(pool, sealed).encode(), **headers)[0]


def until_ready(url: str) -> None:
    """Wait until the relay knows the pools."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if ask(url, "GET", "/readyz")[0] == 200:
            return
    raise AssertionError("never ready")


def problem_of(body: bytes) -> str:
    """Return the end of a problem's type."""
    return str(json.loads(body)["type"]).removeprefix("urn:dither:problem:")
