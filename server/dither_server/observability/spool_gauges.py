"""How the spool fares, for Prometheus."""

import time
from collections.abc import Callable, Iterator
from typing import Protocol

from prometheus_client.core import GaugeMetricFamily

from ..store.spool.rooms import Backlog
from .kept import Kept

__all__ = ["SpoolGauges"]


class _Tells(Protocol):
    def backlog(self) -> Backlog: ...


class SpoolGauges:
    """What is known of a spool, whichever process tells it."""

    def __init__(self, rooms: _Tells, clock: Callable[[], float] = time.monotonic) -> None:
        self._kept = Kept("spool", rooms.backlog, clock)

    def families(self) -> Iterator[GaugeMetricFamily]:
        """Yield what Prometheus is told. Of a spool that cannot be read it is told that, and no more."""
        known = self._kept.value()
        yield _gauge("dither_spool_up", "Whether the spool can be read: 1 or 0.", int(known is not None))
        if known is not None:
            yield _gauge("dither_spool_open_bytes", "Bytes that no segment of the spool holds yet.", known.open_bytes)
            yield _gauge("dither_spool_segments", "Segments of the spool that no fold has counted.", known.segments)
            yield _gauge("dither_spool_damaged_files", "Damaged files that the spool keeps aside.", known.damaged)
            yield _gauge("dither_spool_free_bytes", "Room that is left to the spool.", known.free)


def _gauge(name: str, about: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, about, value=value)
