"""The collector's numbers for Prometheus, in addition to those of any server: its uploads, and its database."""

import platform
import time
from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import GaugeMetricFamily

from dither_serving.prometheus import ServerNumbers, gauge
from dither_shared import VERSION

from .store import Condition, Disk

_UNKNOWN = "(unknown)"
"""Label of unknown metrics and versions; no metric can have this name."""


class Prometheus(ServerNumbers):
    """The numbers of one collector."""

    def __init__(self, metrics: Iterable[str] = (), clock: Callable[[], float] = time.monotonic) -> None:
        """Begin to count, at 0 for each of these metrics."""
        super().__init__(clock, "dither_ingest_answers", "uploads of reports")
        counter = self.counter
        self._reports = counter(
            "dither_reports_acknowledged", "Reports acknowledged, including repeated ones.", ["metric"]
        )
        about = "Refused batches, counted at each try. A name or version that the collector does not know is (unknown)."
        self._refused = counter("dither_refused_batches", about, ["reason", "metric", "version"])
        about = "Reports that came sealed and opened; each try counts."
        self._sealed = counter("dither_sealed_reports", about, ["metric"])
        about = "Reports that came sealed and did not open, or that no device could have sent; each try counts."
        self._unopened = counter("dither_sealed_refused", about, ["metric"])
        about = "Batches of sealed reports with too many refusals."
        self._alarms = counter("dither_sealed_alarms", about, ["metric"])
        for name in metrics:
            self._reports.labels(name)
            self._alarms.labels(name)  # so an alert sees the first, too
        about = (
            "Estimates, comparisons, trends and pages, by how they ended: answered, refused, busy, abandoned, failed."
        )
        self._analyses = counter("dither_analyses", about, ["outcome"])

        about = "Requests with a login header that no declared proxy sent; the header was ignored."
        self._logins_ignored = counter("dither_logins_ignored", about)

    def login_ignored(self) -> None:
        """Count a login header that counts for nothing."""
        self._logins_ignored.inc()

    def acknowledged(self, metric: str, reports: int) -> None:
        """Count reports whose batch is committed."""
        self._reports.labels(metric).inc(reports)

    def refused(self, reason: str, metric: str, version: str, count: int = 1) -> None:
        """Count a refused batch, or ``count`` refused reports of one; ``metric`` and ``version`` are ours or ""."""
        self._refused.labels(reason, metric or _UNKNOWN, version or _UNKNOWN).inc(count)

    def sealed(self, metric: str, reports: int, refused: int, alarming: bool) -> None:
        """Count the outcome of the reports of a sealed batch, and the batch itself if too many were refused."""
        self._sealed.labels(metric).inc(reports)
        self._unopened.labels(metric).inc(refused)
        self._alarms.labels(metric).inc(int(alarming))

    def analysis(self, outcome: str) -> None:
        """Count an analysis that has ended."""
        self._analyses.labels(outcome).inc()


def database_gauges(known: Condition | None, engine: str) -> Iterator[GaugeMetricFamily]:
    """Yield the gauges of a database of this ``engine``; if its condition is not known, only whether it is up."""
    yield of_up(known is not None)
    info = GaugeMetricFamily(
        "dither_build_info",
        "Always 1; the labels are the versions of what runs here.",
        labels=["version", "python", "database"],
    )
    info.add_metric([VERSION, platform.python_version(), engine], 1)
    yield info
    if known is not None:
        yield gauge("dither_database_bytes", "Size of the database, its write-ahead log included.", known.size)
        yield gauge("dither_batch_ids", "Approximate number of batch ids that are kept.", known.ids)
        if known.wal is not None:
            yield gauge("dither_database_wal_bytes", "Size of SQLite's write-ahead log.", known.wal)
        yield from of_disk(known.disk)


def of_up(is_up: bool) -> GaugeMetricFamily:
    """Return whether a database can be read."""
    return gauge("dither_database_up", "Whether the database can be read: 1 or 0.", is_up)


def of_disk(disk: Disk | None) -> Iterator[GaugeMetricFamily]:
    """Yield the free space on a database's disk, if it is on this machine."""
    if disk is not None:
        yield gauge("dither_disk_free_bytes", "Free space on the database's file system.", disk.free)
        yield gauge("dither_disk_bytes", "Size of the database's file system.", disk.size)
