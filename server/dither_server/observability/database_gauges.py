"""How the database fares, for Prometheus."""

import platform
import time
from collections.abc import Callable, Iterator
from typing import Protocol

from prometheus_client.core import GaugeMetricFamily

from dither_serving.kept import Kept, gauge

from ..config.program import VERSION
from ..store import Condition, Disk


class _Tells(Protocol):
    def condition(self) -> Condition: ...


class Vitals:
    """Gauges of a database, safe to read from many threads."""

    def __init__(self, store: _Tells, clock: Callable[[], float] = time.monotonic) -> None:
        self._kept = Kept("database", store.condition, clock)
        self._engine = "unknown"

    def families(self) -> Iterator[GaugeMetricFamily]:
        """Yield the gauges. If the database cannot be read, only ``dither_database_up`` and the build are there."""
        known = self._kept.value()
        yield of_up(known is not None)
        self._engine = self._engine if known is None else known.engine
        info = GaugeMetricFamily(
            "dither_build_info",
            "Always 1; the labels are the versions of what runs here.",
            labels=["version", "python", "database"],
        )
        info.add_metric([VERSION, platform.python_version(), self._engine], 1)
        yield info
        if known is not None:
            yield from _families(known)


def _families(known: Condition) -> Iterator[GaugeMetricFamily]:
    yield gauge("dither_database_bytes", "Size of the database, its write-ahead log included.", known.size)
    yield gauge("dither_batch_ids", "Approximate number of batch ids that are kept.", known.ids)
    if known.wal is not None:
        yield gauge("dither_database_wal_bytes", "Size of SQLite's write-ahead log.", known.wal)
    yield from of_disk(known.disk)


def of_up(is_up: bool) -> GaugeMetricFamily:
    """Return whether a database can be read."""
    return gauge("dither_database_up", "Whether the database can be read: 1 or 0.", is_up)


def of_disk(disk: Disk | None) -> Iterator[GaugeMetricFamily]:
    """Yield the room on a database's disk, if it is on this machine."""
    if disk is not None:
        yield gauge("dither_disk_free_bytes", "Free space on the database's file system.", disk.free)
        yield gauge("dither_disk_bytes", "Size of the database's file system.", disk.size)
