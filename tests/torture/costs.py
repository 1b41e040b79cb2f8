"""Everything that costs at once: a trend, a long table, many candidates, peers that hang up, and steady reports."""

import http.client
import re
import secrets
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

from dither_server.store import Store, Upload
from dither_shared import Metric, parse_metrics
from server.collecting import METRICS_TOML, THEME, TODAY, batch, rows_of, running
from server.test_process import JSON, PATIENCE
from torture.processes import cpu_seconds, forget_peak, memory_of

_FULL = 1_000_000_000
"""A limit that nothing reaches: whatever is asked is done."""

_CALM = 200
"""Reports that are sent first, while nothing else is done."""

TABLE = "/v1/metrics/wide/estimate?by_day=true&format=csv"
TREND = "/v1/metrics/wide/trend"
CANDIDATES = "/v1/metrics/words/estimate"


@dataclass(frozen=True)
class Size:
    """How many days, of how many values; how many candidates; how many peers that hang up; reports a second."""

    days: int = 365
    values: int = 16_384
    candidates: int = 100_000
    rude: int = 16
    reports: int = 50


@dataclass
class Seen:
    """The outcome: statuses and bytes by path, seconds of each report, how analyses ended, MiB beyond rest."""

    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    sizes: Counter[str] = field(default_factory=Counter)
    calm: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    ended: Counter[str] = field(default_factory=Counter)
    processor: float = 0.0
    peak: float = 0.0


def late(seconds: list[float]) -> float:
    """Return the seconds within which 99 of 100 reports were answered."""
    return sorted(seconds)[int(0.99 * len(seconds))]


def costly(folder: Path, size: Size) -> Seen:
    """Ask a collector for all of these at once, while reports go on until the last answer has come."""
    seen, done = Seen(), threading.Event()
    with running(folder, "--estimates-limit", str(_FULL), toml=fill(folder, size)) as (url, process):
        first = _get(url, "/v1/metrics/theme/estimate", seen)  # loads modules once, which is no cost of an answer
        assert first == 200
        _device(url, size.reports, seen.calm, threading.Event(), most=_CALM)
        forget_peak(process.pid)
        rest, used = memory_of(process.pid, "VmRSS"), cpu_seconds(process.pid)
        device = threading.Thread(target=_device, args=(url, size.reports, seen.seconds, done))
        readers = [threading.Thread(target=_get, args=(url, path, seen)) for path in (TREND, TABLE, CANDIDATES)]
        device.start()
        for thread in readers:
            thread.start()
        for _ in range(size.rude):
            with hanging_up(url, CANDIDATES):
                pass
        for thread in readers:
            thread.join()
        done.set()
        device.join()
        seen.peak = memory_of(process.pid, "VmHWM") - rest
        seen.processor = cpu_seconds(process.pid) - used
        seen.ended = ended(url)
        process.terminate()
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
    assert seen.seconds  # reports went on
    return seen


def ended(url: str) -> Counter[str]:
    """Return how many analyses of a collector have ended, in each way."""
    with closing(_connect(url)) as connection:
        connection.request("GET", "/metrics")
        exposition = connection.getresponse().read().decode()
    counts = re.findall(r'^dither_analyses_total\{outcome="(\w+)"\} (\d+)', exposition, re.MULTILINE)
    return Counter({outcome: int(number) for outcome, number in counts})


@contextmanager
def hanging_up(url: str, path: str) -> Iterator[None]:
    """Ask, and hang up at the end, whether there is an answer or not."""
    address = urlsplit(url)
    with socket.create_connection((address.hostname, address.port), PATIENCE) as rude:
        rude.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        yield


def fill(folder: Path, size: Size) -> str:
    """Make a database with as many days of reports; return its metrics."""
    values = ", ".join(f'"v{number}"' for number in range(size.values - 1))
    candidates = ", ".join(f'"w{number}"' for number in range(size.candidates))
    sketch = 'type = "string"\nmechanism = "count-mean-sketch"\nepsilon = 4.0'
    wide = f'[metrics.wide]\ntype = "choice"\nvalues = [{values}]\nepsilon = 1.0\n'
    toml = f"{METRICS_TOML}\n{wide}\n[metrics.words]\n{sketch}\ncandidates = [{candidates}]\n"
    metrics = parse_metrics(toml)
    with closing(Store(f"sqlite:///{folder}/dither.db")) as store:
        store.register(metrics.values())
        days = rows_of(metrics["wide"], 3_000, value="v1")
        for day in range(size.days):
            _count(store, metrics["wide"], days, day)
        _count(store, metrics["words"], rows_of(metrics["words"], 3_000, value="w1"), 0)
    return toml


def _count(store: Store, metric: Metric, rows: bytes, day: int) -> None:
    upload = Upload(secrets.token_bytes(16), metric, rows, 0)
    store.commit([upload], TODAY - timedelta(days=day), b"s" * 16)


def _get(url: str, path: str, seen: Seen) -> int:
    """Read a whole answer; ask again after Retry-After while all slots are taken."""
    while True:
        with closing(_connect(url)) as connection:
            connection.request("GET", path)
            response = connection.getresponse()
            while read := len(response.read(1 << 20)):
                seen.sizes[path] += read
        seen.statuses[path, response.status] += 1
        if response.status != 503:
            return response.status
        time.sleep(float(response.headers["Retry-After"]))


def _device(url: str, rate: int, seconds: list[float], done: threading.Event, most: int = 1 << 30) -> None:
    """Send reports one by one at a fixed rate until all is done, and keep the seconds that each took."""
    bodies = [rows_of(THEME, 1, b"%d" % number) for number in range(64)]
    with closing(_connect(url)) as connection:
        while not done.wait(1 / rate) and len(seconds) < most:
            body = batch(THEME, bodies[len(seconds) % len(bodies)]).encode()
            start = time.perf_counter()
            connection.request("POST", "/v1/reports", body, JSON)
            response = connection.getresponse()
            response.read()
            assert response.status == 202
            seconds.append(time.perf_counter() - start)


def _connect(url: str) -> http.client.HTTPConnection:
    address = urlsplit(url)
    return http.client.HTTPConnection(address.hostname or "", address.port, timeout=60 * PATIENCE)
