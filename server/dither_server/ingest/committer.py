"""The collector's committer: in addition to uploads, it writes counts of refused batches.

Refused batches are counted in memory and written every few seconds, so that a flood costs the database little.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import date

from dither_serving.committer import Committer
from dither_serving.logs import OnceAMinute
from dither_serving.problems import StoreError
from dither_serving.settings import ServerSettings

from ..prometheus import Prometheus
from ..store import Refusal, Upload, UploadOutcome
from ..store.sink import CommitsReports

_log = logging.getLogger(__name__)

_PAUSE = 10.0
"""Seconds from a refusal until it is written, together with later ones. A kill -9 loses that many seconds."""

_STRANGE = 16
"""Maximum unknown versions of a metric that are counted by name, per process and day; others are counted together."""


class ReportCommitter(Committer[Upload, UploadOutcome]):
    """A committer that also writes ``refusals``."""

    def __init__(
        self,
        store: CommitsReports,
        today: Callable[[], date],
        settings: ServerSettings,
        prometheus: Prometheus | None = None,
    ) -> None:
        super().__init__(store, today, settings, prometheus)
        self._sink = store
        self.refusals = RefusalCounts(today, self.wake_for_chore)

    def seconds_to_chore(self) -> float | None:
        """Return the seconds until refusals must be written."""
        return self.refusals.pause()

    def chore(self, shard: bytes) -> None:
        """Write the counts of refusals."""
        self.refusals.write(self._sink.add_refusals, shard)


class RefusalCounts:
    """Counts of refused batches: many threads add to them, and one writes them to the database.

    Memory is bounded, because so are the numbers of metrics, versions, days and kinds of refusal. Once a minute, one
    refused batch is logged, so that an operator sees what arrives.
    """

    def __init__(
        self,
        today: Callable[[], date],
        wake: Callable[[], object] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start without counts; ``wake`` is called when there are counts to write again after a ``pause``."""
        self._today = today
        self._wake = wake
        self._clock = clock
        self._counts: Counter[Refusal] = Counter()
        self._strange: set[tuple[date, str, str]] = set()
        self._due = 0.0
        self._lines = OnceAMinute(clock)
        self._lock = threading.Lock()

    def add(
        self,
        kind: str,
        metric: str = "",
        version: str = "",
        *,
        is_ours: bool = False,
        size: int | None = None,
        times: int = 1,
    ) -> None:
        """Count a refused batch.

        ``metric`` is "" unless it is one of ours. ``version`` is as it was sent, 16 hexadecimal digits, and ``is_ours``
        if it is registered. ``size`` is that of the body in bytes, None if it was not read. ``times`` is 1, or the
        number of reports if they are refused one by one.
        """
        with self._lock:
            first = not self._counts
            if first:
                self._due = self._clock() + _PAUSE
            today = self._today()
            named = version if is_ours or not version else self._named(today, metric, version)
            refusal = Refusal(metric, today, kind, named)
            self._counts[refusal] += times
        if unlogged := self._lines.add(times):
            _log_refusal(refusal, size, unlogged)
        if first:
            self._wake()

    def pause(self) -> float | None:
        """Return the seconds until counts are to be written, or None if there are none."""
        with self._lock:
            return max(0.0, self._due - self._clock()) if self._counts else None

    def write(self, add: Callable[[Mapping[Refusal, int], bytes], object], shard: bytes) -> None:
        """Add the counts to the database by calling ``add``; keep them for the next time if that fails."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
        if not counts:
            return
        try:
            add(counts, shard)
        except Exception as error:
            _log.warning(
                "refusals were not written: %s", error if isinstance(error, StoreError) else "an internal error"
            )
            with self._lock:
                self._counts.update(counts)
                self._due = self._clock() + _PAUSE

    def _named(self, today: date, metric: str, version: str) -> str:
        """Return the version to store: an unknown one is stored if it is among the first few of its metric and day."""
        unknown = (today, metric, version)
        self._strange = {known for known in self._strange if known[0] == today}
        of_metric = sum(known[1] == metric for known in self._strange)
        if unknown not in self._strange and of_metric >= _STRANGE:
            return ""
        self._strange.add(unknown)
        return version


def _log_refusal(refusal: Refusal, size: int | None, unlogged: int) -> None:
    """Log one refused batch, without anything that a client invented: no name, address or body."""
    _log.warning(
        "a batch was refused: %s, metric %s, version %s, %s; %d refused since the last such line, at most one a minute",
        refusal.kind,
        refusal.metric or "unknown",
        refusal.version or "unknown",
        "unread" if size is None else f"{size} bytes",
        unlogged,
    )
