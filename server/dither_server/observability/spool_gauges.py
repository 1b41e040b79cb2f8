"""How the spool fares, and the folds that count it, for Prometheus."""

import time
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Protocol

from prometheus_client.core import GaugeMetricFamily

from ..store.spool.rooms import Backlog
from .kept import Kept, gauge

__all__ = ["SpoolGauges"]


class _Tells(Protocol):
    def backlog(self) -> Backlog: ...


class _Folds(Protocol):
    def up_to(self) -> datetime | None: ...


class SpoolGauges:
    """What is known of a spool and of folds, whichever process tells it."""

    def __init__(self, spool: _Tells, folds: _Folds, clock: Callable[[], float] = time.monotonic) -> None:
        self._kept = Kept("spool", spool.backlog, clock)
        self._folded = Kept("folds", folds.up_to, clock)

    def families(self) -> Iterator[GaugeMetricFamily]:
        """Yield what Prometheus is told. Of a spool that cannot be read it is told that.

        When the last fold began is told if one ever ended, and the database can be asked.
        """
        known = self._kept.value()
        yield gauge("dither_spool_up", "Whether the spool can be read: 1 or 0.", int(known is not None))
        if known is not None:
            yield gauge("dither_spool_open_bytes", "Bytes that no segment of the spool holds yet.", known.open_bytes)
            yield gauge("dither_spool_segments", "Segments of the spool that no fold has counted.", known.segments)
            yield gauge(
                "dither_spool_damaged_files",
                "Notices of damaged journals.",
                known.damaged,
            )
            yield gauge("dither_spool_free_bytes", "Room that is left to the spool.", known.free)
        if (folded := self._folded.value()) is not None:
            about = "When the last fold that has ended began: what stood in segments by then is counted."
            yield gauge("dither_folded_up_to_timestamp_seconds", about, folded.timestamp())
