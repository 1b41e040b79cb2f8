"""The sink of a collector that only appends: batches are durable once they are in a journal, and a fold counts them.

Beside the committer's thread, one thread closes journals that are full, old or abandoned, and checks whether the spool
can take more. Another talks to the database, which may be unreachable for a while.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import date, datetime

from prometheus_client.core import GaugeMetricFamily

from dither_server.store import Refusal, StoreError, UnmadeError, Upload, UploadOutcome
from dither_serving.prometheus import CachedReading, gauge

from .blobs import SpoolError
from .journal import SpoolJournal, abandoned
from .layout import NEARLY_FULL, Backlog, SpoolLayout, require_owner

_log = logging.getLogger(__name__)

_BEAT = 3.0
"""Seconds between two checks for changes."""

_PATIENCE = 10.0
"""Seconds to wait at the end for pending writes to the database."""


class _Journals:
    """The journals of a process: one thread appends, another seals those that are closed.

    A journal is closed at ``size`` bytes or after ``seconds``.
    """

    def __init__(self, layout: SpoolLayout, size: int, seconds: float, clock: Callable[[], float]) -> None:
        self._layout = layout
        self._size = size
        self._seconds = seconds
        self._clock = clock
        self._open: SpoolJournal | None = None
        self._since = 0.0
        self._closed: list[SpoolJournal] = []
        self._lock = threading.Lock()

    def append(self, uploads: Sequence[Upload], day: date) -> bool:
        """Append uploads durably; return whether a journal waits to be sealed. Raises StoreError."""
        with self._lock:
            if self._open is None:
                self._open = SpoolJournal.create(self._layout.journals)
                self._since = self._clock()
            try:
                self._open.append(uploads, day)
            finally:
                if not self._open.usable or self._open.size >= self._size:
                    self._close_open()
            return bool(self._closed)

    def seconds_left(self) -> float:
        """Return the seconds until the open journal is to be closed; infinity if there is none."""
        with self._lock:
            return float("inf") if self._open is None else self._since + self._seconds - self._clock()

    def close_open(self) -> None:
        """Stop appending to the open journal."""
        with self._lock:
            self._close_open()

    def adopt(self) -> None:
        """Take over the journals of dead processes. Raises SpoolError."""
        for journal in abandoned(self._layout.journals):
            with self._lock:
                self._closed.append(journal)

    def seal(self) -> None:
        """Make a segment of each closed journal. Raises SpoolError at the first that fails, and keeps it."""
        while True:
            with self._lock:
                journal = self._closed[0] if self._closed else None
            if journal is None:
                return
            journal.seal(self._layout.blobs)
            with self._lock:
                self._closed.remove(journal)

    def release(self) -> None:
        """Leave the journals that are not sealed to a later search for abandoned ones."""
        with self._lock:
            self._close_open()
            for journal in self._closed:
                journal.release()
            self._closed.clear()

    def _close_open(self) -> None:
        if self._open is not None:
            self._closed.append(self._open)
            self._open = None


class DatabaseLink:
    """Knows which versions are disabled, as last read, and keeps counts of refused batches until they are written.

    Both are done by functions of the store, which raise StoreError. The counts are few: a collector distinguishes only
    some kinds per metric and day.
    """

    def __init__(
        self,
        read_disabled: Callable[[], Collection[str]],
        write_refusals: Callable[[Mapping[Refusal, int], bytes], object],
        beat: float = _BEAT,
    ) -> None:
        self._read_disabled = read_disabled
        self._write_refusals = write_refusals
        self._beat = beat
        self._disabled: Collection[str] | None = None
        self._refused: Counter[Refusal] = Counter()
        self._shard = b""
        self._lock = threading.Lock()
        self._due = threading.Event()
        self._ended = False
        self._failed = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread, once in each process."""
        self._thread = threading.Thread(target=self._run, name="dither-spool-database", daemon=True)
        self._thread.start()

    def disabled(self) -> Collection[str]:
        """Return the versions that are disabled, as last known. Raises StoreError if they could never be read."""
        if self._disabled is None:
            self._disabled = self._read_disabled()
        return self._disabled

    def add_refusals(self, refused: Mapping[Refusal, int], shard: bytes) -> None:
        """Add to the counts of refused batches soon; nobody waits for that."""
        with self._lock:
            self._refused.update(refused)
            self._shard = shard
        self._due.set()

    def close(self) -> None:
        """Write what is left, if the database takes it in some seconds, and end the thread."""
        self._ended = True
        self._due.set()
        if self._thread is None:
            self.sync()
            return
        self._thread.join(_PATIENCE)
        if self._refused:
            _log.warning("counts of %d refused batches are lost: the database is gone", self._refused.total())

    def sync(self) -> None:
        """Write the counts, and read which versions are disabled. A failure is logged once, until it passes."""
        with self._lock:
            refused = self._refused.copy()
        try:
            if refused:
                self._write_refusals(refused, self._shard)
                with self._lock:
                    self._refused -= refused
            self._disabled = self._read_disabled()
        except Exception as error:
            if not self._failed:
                fault = None if isinstance(error, StoreError) else error
                _log.warning("the database is gone, and reports are appended without it: %s", error, exc_info=fault)
            self._failed = True
        else:
            if self._failed:
                _log.warning("the database is back")
            self._failed = False

    def _run(self) -> None:
        while not self._ended:
            self.sync()
            self._due.wait(self._beat)
            self._due.clear()
        self.sync()


class SpoolSink:
    """Takes uploads as ``Store`` does, and appends them. It opens no file before it starts, so a server may fork.

    A journal is closed at ``size`` bytes or after ``seconds``. Raises SpoolError if the spool cannot be used.
    """

    def __init__(
        self,
        database: DatabaseLink,
        layout: SpoolLayout,
        size: int,
        seconds: float,
        folded_up_to: Callable[[], datetime | None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
        beat: float = _BEAT,
    ) -> None:
        layout.make()
        self.layout = layout
        self._database = database
        self._size = size
        self._seconds = seconds
        self._clock = clock
        self._beat = beat
        self._journals = _Journals(layout, size, seconds, clock)
        self._adopt_at = float("-inf")
        self._needed = layout.needed()
        self._troubles: dict[str, str] = {}
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._due = threading.Event()
        self._ended = False
        self._backlog = CachedReading("spool", self.backlog, clock)
        self._folded = CachedReading("folds", folded_up_to, clock)

    def start(self) -> None:
        """Start the threads, once in each process; the first begins with abandoned journals."""
        with self._starting:
            if self._thread is None and not self._ended:
                self._thread = threading.Thread(target=self._run, name="dither-spool", daemon=True)
                self._thread.start()
                self._database.start()

    def commit(self, uploads: Sequence[Upload], day: date, shard: bytes) -> list[UploadOutcome]:
        """Append uploads durably and return their outcomes; COUNTED means that a fold will count each once.

        The fold finds out whether an id belongs to a batch with other content. The database must have been reachable
        once before. Raises StoreError if the outcome is unknown; some may be counted all the same. No upload is taken
        if a fold would lack the disk space to count it, because then the disk would stay full.
        """
        self.start()
        disabled = self._database.disabled()
        if taken := [upload for upload in uploads if upload.metric.version not in disabled]:
            self.layout.require_room(self._size, self._needed)
            try:
                if self._journals.append(taken, day):
                    self._due.set()
                self._troubles.pop("append", None)
            except StoreError as error:
                self._troubles["append"] = str(error)
                raise
        return [
            UploadOutcome.DISABLED if upload.metric.version in disabled else UploadOutcome.COUNTED for upload in uploads
        ]

    def add_refusals(self, refused: Mapping[Refusal, int], shard: bytes) -> None:
        """Add to the counts of refused batches in the database, later if it is gone."""
        self._database.add_refusals(refused, shard)

    def require_writable(self) -> None:
        """Raise SpoolError if batches cannot be taken or soon cannot be, and any error that ``commit`` would raise."""
        self._database.disabled()
        if troubles := "; ".join(list(self._troubles.values())):
            raise SpoolError(troubles)

    def backlog(self) -> Backlog:
        """Return what waits in the spool. Raises SpoolError, for example also if its disk is no longer mounted."""
        try:
            require_owner(self.layout.blobs, None)
        except UnmadeError:
            raise SpoolError(f"spool: the files that a collector made at {self.layout.blobs} are gone") from None
        return self.layout.backlog()

    def families(self) -> Iterator[GaugeMetricFamily]:
        """Yield the gauges of the spool for Prometheus; each process reports the same."""
        return spool_gauges(self._backlog.value(), self._folded.value())

    def close(self) -> None:
        """Close the open journal into a segment, and end the threads. If that fails, the next start does it."""
        with self._starting:
            self._ended = True
        self._due.set()
        if self._thread is not None:
            self._thread.join()
        self._journals.close_open()
        self._attempt("seal", self._journals.seal)
        self._journals.release()
        self._database.close()

    def _run(self) -> None:
        while not self._ended:
            self._due.clear()
            if self._journals.seconds_left() <= 0:
                self._journals.close_open()
            self._attempt("adopt", self._adopt)
            self._attempt("seal", self._journals.seal)
            self._attempt("append", self._try_to_write)
            self._attempt("room", self._check_room)
            self._due.wait(min(self._beat, max(self._journals.seconds_left(), 0.0)))

    def _attempt(self, what: str, step: Callable[[], object]) -> None:
        """Take a step and remember whether it fails. It is tried again at the next beat."""
        try:
            step()
        except Exception as error:
            ours = not isinstance(error, StoreError)
            message = f"spool: internal error ({type(error).__name__})" if ours else str(error)
            if self._troubles.get(what) != message:
                _log.warning("%s", message, exc_info=error if ours else None)
            self._troubles[what] = message
        else:
            self._troubles.pop(what, None)

    def _adopt(self) -> None:
        if self._clock() >= self._adopt_at:
            self._journals.adopt()
            self._adopt_at = self._clock() + self._seconds

    def _try_to_write(self) -> None:
        """Test whether what failed would succeed now, because a collector that is not ready may receive no reports."""
        if "append" in self._troubles:
            self.layout.try_to_write()

    def _check_room(self) -> None:
        self._needed = self.layout.needed()
        self.layout.require_room(self._size, self._needed, NEARLY_FULL)


def spool_gauges(backlog: Backlog | None, folded: datetime | None) -> Iterator[GaugeMetricFamily]:
    """Yield what waits in a spool, or only that it cannot be read, and when the last completed fold began, if known."""
    yield gauge("dither_spool_up", "Whether the spool can be read: 1 or 0.", int(backlog is not None))
    if backlog is not None:
        yield gauge("dither_spool_open_bytes", "Bytes that no segment of the spool holds yet.", backlog.open_bytes)
        yield gauge("dither_spool_segments", "Segments of the spool that no fold has counted.", backlog.segments)
        yield gauge("dither_spool_damaged_files", "Notices of damaged journals.", backlog.damaged)
        yield gauge("dither_spool_free_bytes", "Free space for the spool.", backlog.free)
    if folded is not None:
        about = "When the last completed fold began: segments that existed then are counted."
        yield gauge("dither_folded_up_to_timestamp_seconds", about, folded.timestamp())
