"""Commit uploads in groups, by one thread that takes whatever is waiting; requests are answered after their commit.

While one transaction is being made durable, the next batches gather, so the group grows with the load and the cost of
an fsync is shared; the thread never waits for a timer.
"""

import logging
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from datetime import date
from typing import Generic, NamedTuple, Protocol, TypeVar

from dither_shared import DitherError
from dither_shared.counted import counted

from .logs import OnceAMinute
from .problems import StoreError
from .prometheus import ServerNumbers
from .settings import ServerSettings

_log = logging.getLogger(__name__)


class _Rows(Protocol):
    @property
    def rows(self) -> bytes: ...


U = TypeVar("U", bound=_Rows)
R = TypeVar("R")
_U_contra = TypeVar("_U_contra", bound=_Rows, contravariant=True)
_R_co = TypeVar("_R_co", covariant=True)


class QueueFullError(DitherError):
    """The queue is full; this batch was not taken."""


class _Commits(Protocol[_U_contra, _R_co]):
    """Makes uploads durable in one transaction."""

    def commit(self, uploads: Sequence[_U_contra], day: date, shard: bytes) -> Sequence[_R_co]:
        """Return the outcome of each upload; raise StoreError if none is known."""


class _Waiting(NamedTuple, Generic[U, R]):
    """An upload, the callback for its outcome, and when it began to wait."""

    upload: U
    then: Callable[[R | StoreError], object]
    since: float


class Committer(Generic[U, R]):
    """Takes uploads from many threads and commits them, in groups, from one.

    The thread is started by the first upload, so that a server may fork after it has built its app. The settings limit
    what waits, and what is committed together. A subclass may do chores in the thread.
    """

    def __init__(
        self,
        store: _Commits[U, R],
        today: Callable[[], date],
        settings: ServerSettings,
        numbers: ServerNumbers | None = None,
    ) -> None:
        self._store = store
        self._today = today
        self._settings = settings
        self._numbers = numbers or ServerNumbers()
        self._waiting: deque[_Waiting[U, R]] = deque()
        self._bytes = 0
        self._lines = OnceAMinute()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def submit(self, upload: U, then: Callable[[R | StoreError], object]) -> None:
        """Queue an upload. ``then`` is called in the committer's thread with the outcome that ``commit`` returns.

        Raises QueueFullError, or StoreError after ``close``, and then nothing was queued.
        """
        now = time.monotonic()
        with self._changed:
            if self._closed:
                raise StoreError("the server is shutting down")
            if len(self._waiting) >= self._settings.queue_limit or self._bytes >= self._settings.queue_bytes:
                raise QueueFullError(f"{counted(len(self._waiting), 'batch is', 'batches are')} waiting already")
            if self._oldest is None:
                self._grow_old(now)
            self._waiting.append(_Waiting(upload, then, now))
            self._bytes += len(upload.rows)
            self._wake()

    def close(self) -> None:
        """Commit what was taken, take no more, and end the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
            thread = self._thread
        if thread is not None:
            thread.join()

    def seconds_to_chore(self) -> float | None:
        """Return the seconds until ``chore`` is due, None if there is nothing to do."""
        return None

    def chore(self, shard: bytes) -> None:
        """Do the chore that is due; also called at the end."""

    def wake_for_chore(self) -> None:
        """Wake the thread, because a chore may be due sooner than it expects."""
        with self._changed:
            if not self._closed:
                self._wake()

    _oldest: float | None = None

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
                    self._grow_old(self._waiting[0].since if self._waiting else None)
            if self.seconds_to_chore() == 0:
                self.chore(shard)
        self.chore(shard)

    def _next_group(self) -> list[_Waiting[U, R]]:
        """Return what is waiting, as soon as anything is; nothing when closed, or when a chore is due."""
        with self._changed:
            while not self._waiting and not self._closed and (pause := self.seconds_to_chore()) != 0:
                self._changed.wait(pause)
            group = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._settings.group_limit))]
            self._bytes -= sum(len(waiting.upload.rows) for waiting in group)
            self._numbers.waiting(len(self._waiting))
            return group

    def _grow_old(self, since: float | None) -> None:
        """Record since when the oldest uncommitted batch has waited."""
        self._oldest = since
        self._numbers.oldest(since)

    def _commit(self, group: list[_Waiting[U, R]], shard: bytes) -> None:
        """Commit a group and answer every request in it, whatever happens."""
        try:
            with self._numbers.commit(len(group)):
                outcomes = self._store.commit([waiting.upload for waiting in group], self._today(), shard)
        except StoreError as error:
            self._log_failure(len(group), error)
            _refuse(group, error)
        except Exception as error:
            if len(group) > 1:  # the others are counted without the one that fails
                for waiting in group:
                    self._commit([waiting], shard)
            else:
                _log.exception("a batch could not be counted")
                _refuse(group, StoreError(f"the batch could not be counted ({type(error).__name__})"))
        else:
            for waiting, outcome in zip(group, outcomes, strict=True):
                _answer(waiting.then, outcome)

    def _log_failure(self, batches: int, error: StoreError) -> None:
        """Log what was not committed since the last such line: a line per group would fill a nearly full disk."""
        if unlogged := self._lines.add(batches):
            uncommitted = counted(unlogged, "batch was", "batches were")
            _log.warning("%s not committed, logged at most once a minute: %s", uncommitted, error)


def _refuse(group: Sequence[_Waiting[U, R]], error: StoreError) -> None:
    for waiting in group:
        _answer(waiting.then, error)


def _answer(then: Callable[[R | StoreError], object], outcome: R | StoreError) -> None:
    try:
        then(outcome)
    except Exception:  # the failure of one answer must not affect the others
        _log.exception("an answer could not be given")
