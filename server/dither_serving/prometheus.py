"""The numbers of a server for Prometheus: counts and times, nothing about any person.

Each process counts for itself. If several workers share a port, as under gunicorn, the one that answers reports the sum
of all, if ``PROMETHEUS_MULTIPROC_DIR`` names a folder that holds only their counts and is empty at the start.
"""

import logging
import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.core import Metric as Family
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from .problems import StoreError

_log = logging.getLogger(__name__)

_FRESH = 10.0
"""Seconds for which a value is served from the cache."""

_REST = 200
"""Minimum time until the next reading, as a multiple of its duration, so that it takes at most half a percent of a
processor.
"""

_AGAIN = 60.0
"""Seconds after which a failed reading is repeated; it cost waiting, not work, so its duration does not matter."""

_PATIENCE = 30.0
"""Seconds after which an unfinished reading counts as failed: a network may delay it for long."""

T = TypeVar("T")

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_OLDEST = "dither_oldest_batch_age_seconds"

_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)

_BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class ServerNumbers:
    """The numbers of any server whose requests are committed in groups, in a registry of its own."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, answers: str = "dither_answers", to: str = "uploads"
    ) -> None:
        """Count the answers to uploads under the name ``answers``; ``to`` says in its help text what they answer."""
        self._clock = clock
        self._registry = registry = CollectorRegistry()
        self.counter = counter = partial(Counter, registry=registry)
        gauge = partial(Gauge, registry=registry, multiprocess_mode="livesum")
        histogram = partial(Histogram, registry=registry)
        self._answers = counter(answers, f"Answers to {to}.", ["status"])
        about = "Requests refused before they were read completely: not HTTP, too large, too slow."
        self._unread = counter("dither_unread_requests", about, ["status"])
        self._commit_seconds = histogram("dither_commit_seconds", "Time of a commit.", buckets=_SECONDS)
        self._commit_batches = histogram("dither_commit_batches", "Batches of a commit.", buckets=_BATCHES)
        self._failures = counter("dither_commit_failures", "Commits that counted nothing.")
        about = "Batches still waiting when the last commit began."
        self._waiting = gauge("dither_batches_waiting", about)
        about = "Seconds for which the oldest batch that is not committed has waited; 0 if none waits."
        self._oldest = Gauge(_OLDEST, about, registry=registry, multiprocess_mode="all")
        self._oldest.set(math.inf)
        self._connections = gauge("dither_connections", "Connections that are open.")
        about = "Connections closed because they were late, gave way to others, or exceeded the limit of their address."
        self._closed = counter("dither_connections_closed", about, ["reason"])

    def answered(self, status: int) -> None:
        """Count an answer to an upload."""
        self._answers.labels(str(status)).inc()

    def connected(self, connections: int) -> None:
        """Set the number of open connections."""
        self._connections.set(connections)

    def closed(self, why: str) -> None:
        """Count a connection that was closed or refused: late, gave way, or too many of its address."""
        self._closed.labels(why).inc()

    def waiting(self, batches: int) -> None:
        """Set the number of batches that wait for the commit after the one that begins."""
        self._waiting.set(batches)

    def oldest(self, since: float | None) -> None:
        """Set the arrival of the oldest uncommitted batch, by the monotonic clock; None if no batch waits."""
        self._oldest.set(math.inf if since is None else since)

    def unread(self, status: int) -> None:
        """Count a request that is refused before it is read."""
        self._unread.labels(str(status)).inc()

    @contextmanager
    def commit(self, batches: int) -> Iterator[None]:
        """Measure a commit of ``batches``."""
        start = time.perf_counter()
        try:
            yield
        except BaseException:
            self._failures.inc()
            raise
        finally:
            self._commit_seconds.observe(time.perf_counter() - start)
            self._commit_batches.observe(batches)

    def text(self, more: Iterable[Family] = ()) -> bytes:
        """Return everything in Prometheus' text format, and ``more``, which every process reports in the same way."""
        registry = CollectorRegistry()
        registry.register(_Scrape(self._families, more))
        return generate_latest(registry)

    def _families(self) -> Iterator[Family]:
        everyone = self._registry
        if folder := os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
            _forget_the_dead(Path(folder))
            everyone = CollectorRegistry()
            MultiProcessCollector(everyone)  # type: ignore[no-untyped-call]  # it has no annotations
        for family in everyone.collect():
            yield self._aged(family) if family.name == _OLDEST else _timeless(family)

    def _aged(self, times: Family) -> Family:
        """Return the age of the oldest uncommitted batch, from the times that the living processes report."""
        waiting = [sample.value for sample in times.samples if _lives(sample.labels.get("pid"))]
        aged = Family(times.name, times.documentation, "gauge")
        aged.add_sample(times.name, {}, max(0.0, self._clock() - min(waiting, default=math.inf)))
        return aged


class _Scrape:
    """The metric families of one scrape, as a collector of prometheus_client."""

    def __init__(self, families: Callable[[], Iterable[Family]], more: Iterable[Family]) -> None:
        self._families = families
        self._more = more

    def collect(self) -> Iterator[Family]:
        """Yield all metric families."""
        yield from self._families()
        yield from self._more

    def describe(self) -> Iterable[Family]:
        """Return no names, so that prometheus_client does not check for duplicates."""
        return ()


def _timeless(family: Family) -> Family:
    """Return a family without its start times, which show to the microsecond when the first report came."""
    family.samples = [sample for sample in family.samples if sample.name != f"{family.name}_created"]
    return family


def _forget_the_dead(folder: Path) -> None:
    """Drop the gauges of processes that have ended, which would never change again; keep their counts."""
    for pid in {file.stem.rpartition("_")[2] for file in folder.glob("gauge_live*_*.db")}:
        if not _lives(pid):
            mark_process_dead(int(pid), str(folder))  # type: ignore[no-untyped-call]  # it has no annotations


def _lives(pid: str | None) -> bool:
    """Return whether a process is alive. The files of a killed one stay, although nothing waits there."""
    if pid is None:
        return True
    with suppress(PermissionError):  # it exists, and belongs to another process
        try:
            os.kill(int(pid), 0)
        except ProcessLookupError:
            return False
    return True


def gauge(name: str, about: str, value: float) -> GaugeMetricFamily:
    """Return a gauge of one value."""
    return GaugeMetricFamily(name, about, value=value)


class CachedReading(Generic[T]):
    """A cache of the result of ``read``. One thread refreshes it while the others get the previous value.

    ``of`` names it in the log; a failure is logged once until a read succeeds.
    """

    def __init__(self, of: str, read: Callable[[], T], clock: Callable[[], float] = time.monotonic) -> None:
        self._of = of
        self._read = read
        self._clock = clock
        self._known: T | None = None
        self._stale_at = float("-inf")
        self._begun = float("inf")
        self._failed = False
        self._reading = threading.Lock()

    def value(self) -> T | None:
        """Return the cached value, or None if it could not be read yet."""
        now = self._clock()
        if now < self._stale_at:
            return self._known
        if not self._reading.acquire(blocking=False):
            return self._known if now < self._begun + _PATIENCE else None
        try:
            self._begun = start = self._clock()
            self._known = self._read()
            self._failed = False
        except (StoreError, OSError) as error:
            self._known = None
            if not self._failed:
                _log.warning("the state of the %s could not be read: %s", self._of, error)
            self._failed = True
        finally:
            end = self._clock()
            rest = max(_FRESH, _REST * (end - start))
            self._stale_at = end + (min(rest, _AGAIN) if self._failed else rest)
            self._begun = float("inf")
            self._reading.release()
        return self._known
