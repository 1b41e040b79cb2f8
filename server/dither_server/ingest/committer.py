"""Commit uploads in groups, by one thread that takes whatever is waiting; requests are answered after their commit.

While one transaction is being made durable the next batches gather, so the group grows with the load and the cost of
an fsync is shared; nothing ever waits for a clock.
"""

import logging
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import date, timedelta
from typing import Generic, NamedTuple, Protocol, TypeVar

from dither_shared import DitherError
from dither_shared.counted import counted

from ..observability.once_a_minute import OnceAMinute
from ..observability.prometheus import Prometheus
from ..store import Outcome, Refusal, StoreError
from .refusal_counts import Refusals, Refused

_log = logging.getLogger(__name__)

Then = Callable[[Outcome | StoreError], object]
"""A callback that is called once with the outcome of an upload."""


class _Rows(Protocol):
    @property
    def rows(self) -> bytes: ...


U = TypeVar("U", bound=_Rows)
_T_contra = TypeVar("_T_contra", bound=_Rows, contravariant=True)
_Waiting = tuple[U, Then, float]
"""An upload, who is to be told, and since when it waits."""


class Limits(NamedTuple):
    """Batches that may wait, batches of one transaction, and the bytes of rows that may wait."""

    queue: int = 1024
    group: int = 512
    bytes: int = 1 << 26


class QueueFullError(DitherError):
    """As many batches are waiting as may wait; this one was not taken."""


class ClosedError(DitherError):
    """The committer takes no more batches; this one was not taken."""


class _Commits(Protocol[_T_contra]):
    def commit(self, uploads: Sequence[_T_contra], day: date, shard: bytes) -> list[Outcome]: ...

    def forget(self, before: date) -> bool: ...
    def add_refusals(self, refused: Mapping[Refusal, int], shard: bytes) -> None: ...


class _Numbers(Protocol):
    def commit(self, batches: int) -> AbstractContextManager[None]: ...
    def waiting(self, batches: int) -> None: ...
    def oldest(self, since: float | None) -> None: ...


class Committer(Generic[U]):
    """Takes uploads from many threads and commits them, in groups, from one.

    The thread is started by the first upload or refusal, so that a server may fork after it has built its app.

    ``limits`` bound what waits; batch ids are forgotten ``horizon`` days after the day they were received, some after
    each commit, so that no commit waits long for it.
    """

    def __init__(
        self,
        store: _Commits[U],
        today: Callable[[], date],
        limits: Limits,
        horizon: timedelta = timedelta(days=45),
        prometheus: _Numbers | None = None,
    ) -> None:
        self._store = store
        self._today = today
        self._limits = limits
        self._horizon = horizon
        self._prometheus: _Numbers = prometheus or Prometheus()
        self._forgotten: date | None = None
        self._refusals = Refusals(today)
        self._waiting: deque[_Waiting[U]] = deque()
        self._bytes = 0
        self._oldest: float | None = None
        self._lines = OnceAMinute()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def submit(self, upload: U, then: Then) -> None:
        """Queue an upload. ``then`` is called in the committer's thread with what ``Store.commit`` tells of it.

        Raises QueueFullError or ClosedError, and then nothing was queued.
        """
        now = time.monotonic()
        with self._changed:
            if self._closed:
                raise ClosedError("the collector is shutting down")
            if len(self._waiting) >= self._limits.queue or self._bytes >= self._limits.bytes:
                raise QueueFullError(f"{counted(len(self._waiting), 'batch is', 'batches are')} waiting already")
            if self._oldest is None:
                self._grow_old(now)
            self._waiting.append((upload, then, now))
            self._bytes += len(upload.rows)
            self._wake()

    def refused(self, refused: Refused) -> None:
        """Count a batch that is not to be committed; that is written some seconds later, with others of its kind."""
        if self._refusals.add(refused):
            with self._changed:
                if not self._closed:
                    self._wake()

    def close(self) -> None:
        """Commit what was taken, take no more, and end the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _wake(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="dither-committer", daemon=True)
            self._thread.start()
        self._changed.notify()

    def _run(self) -> None:
        shard = uuid.uuid4().bytes  # chosen here, so that two processes forked from one do not share it
        while not (self._closed and not self._waiting):
            if group := self._next_group():
                self._commit(group, shard)
                with self._changed:
                    self._grow_old(self._waiting[0][2] if self._waiting else None)
                self._forget()
            if self._refusals.pause() == 0:
                self._refusals.write(self._store, shard)
        self._refusals.write(self._store, shard)

    def _next_group(self) -> list[_Waiting[U]]:
        """Return what is waiting, as soon as anything is; nothing when closed, or when refusals are to be written."""
        with self._changed:
            while not self._waiting and not self._closed and (pause := self._refusals.pause()) != 0:
                self._changed.wait(pause)
            group = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._limits.group))]
            self._bytes -= sum(len(upload.rows) for upload, _, _ in group)
            self._prometheus.waiting(len(self._waiting))
            return group

    def _grow_old(self, since: float | None) -> None:
        """Keep in mind since when the oldest batch waits that is not committed."""
        self._oldest = since
        self._prometheus.oldest(since)

    def _commit(self, group: list[_Waiting[U]], shard: bytes) -> None:
        """Commit a group and answer every request in it, whatever happens."""
        try:
            with self._prometheus.commit(len(group)):
                counted = self._store.commit([upload for upload, _, _ in group], self._today(), shard)
        except StoreError as error:
            self._tell(len(group), error)
            _refuse(group, error)
        except Exception as error:
            if len(group) > 1:  # the others are counted without the one that fails
                for one in group:
                    self._commit([one], shard)
            else:
                _log.exception("a batch could not be counted")
                _refuse(group, StoreError(f"the batch could not be counted ({type(error).__name__})"))
        else:
            for (_, then, _), done in zip(group, counted, strict=True):
                _answer(then, done)

    def _tell(self, batches: int, error: StoreError) -> None:
        """Log what was not committed since the last such line: one a group would fill a disk that is nearly full."""
        if untold := self._lines.add(batches):
            uncommitted = counted(untold, "batch was", "batches were")
            _log.warning("%s not committed, told at most once a minute: %s", uncommitted, error)

    @property
    def _is_idle(self) -> bool:
        return not self._waiting and not self._closed

    def _forget(self) -> None:
        """Once a day delete the ids beyond the horizon: some after each commit, more while nothing waits."""
        today = self._today()
        if self._forgotten == today:
            return
        try:
            while self._store.forget(today - self._horizon):
                if not self._is_idle:
                    return
            self._forgotten = today
        except StoreError as error:
            _log.warning("old batch ids were not dropped: %s", error)
        except Exception:
            _log.exception("old batch ids could not be dropped")
            self._forgotten = today  # a fault of ours does not pass by trying again


def _refuse(group: list[_Waiting[U]], error: StoreError) -> None:
    for _, then, _ in group:
        _answer(then, error)


def _answer(then: Then, outcome: Outcome | StoreError) -> None:
    try:
        then(outcome)
    except Exception:  # one answer's trouble is not that of the others
        _log.exception("an answer could not be given")
