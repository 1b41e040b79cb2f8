"""The journal: one append-only log from which ledger and outbox follow, shared by threads and processes.

Whoever wants to write enters a transaction: it takes the locks, reads what others wrote since, and so decides on what
is true now. Nobody holds the locks while syncing, sending or waiting, so a transaction takes microseconds.

What cannot be read is quarantined: it is left out, counted, and holds every metric until its next period, for it may
have been a debit. The rest goes on.
"""

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dither_shared.entropy import Entropy
from dither_shared.wire import Batch

from .keys import Keys
from .ledger import Ledger
from .outbox import Outbox
from .records import Debit, Disabled, Done, Fate, Hold, Queued, Record, Totals
from .state import START, BusyError, Cursor, News, State

__all__ = ["Journal"]

_PATIENCE = 0.1
"""Seconds that a thread waits for another: a signal handler that interrupts its own thread must not wait for ever."""

_SLACK = 1_000_000
_SLACK_RECORDS = 100
"""Below these a journal is not worth rewriting."""


class Journal:
    """Ledger and outbox of one state. ``today`` is the UTC day as an ordinal."""

    def __init__(
        self,
        state: State,
        entropy: Entropy,
        today: Callable[[], int],
        outbox: Outbox | None = None,
        lifetime_cap: float = math.inf,
    ) -> None:
        self.state = state
        self.ledger = Ledger(lifetime_cap)
        self._lifetime_cap = lifetime_cap
        self.outbox = Outbox() if outbox is None else outbox
        self._entropy = entropy
        self._today = today
        self._cursor = START
        self._tidy = 0
        self._lock = threading.Lock()
        self._keys: Keys | None = None

    @contextmanager
    def transaction(self) -> Iterator[int]:
        """Hold the journal, up to date, and enter with the day; raises BusyError, StateError or OSError."""
        if not self._lock.acquire(timeout=_PATIENCE):
            raise BusyError("the journal is held by another thread")
        try:
            with self.state.exclusive():
                today = self._today()
                self._catch_up(today)
                yield today
        finally:
            self._lock.release()

    def write(self, record: Debit | Disabled | Queued | Done) -> None:
        """Append a record and let it count; for the holder of a transaction."""
        self._cursor = Cursor(self._cursor.mark, self.state.append(record))
        self._apply(record)

    def keys(self) -> Keys:
        """Return the device's keys; for the holder of a transaction. The secret is drawn on the very first use."""
        if self._keys is None:
            self._keys = Keys(self.state.secret(self._entropy, may_create=self.ledger.untouched))
        return self._keys

    def trim(self, today: int) -> None:
        """Let what exceeds the outbox's bounds give way; for the holder of a transaction."""
        for done in self.outbox.excess(today):
            self.write(done)

    def next(self) -> Queued | None:
        """Return the report to be sent next, in a transaction of its own."""
        if not self.state.exists():
            return None
        with self.transaction() as today:
            self.trim(today)
            return self.outbox.next()

    def finish(self, entry: Queued, fate: Fate) -> None:
        """Note what became of a report, in a transaction of its own.

        It counts in this process even if it cannot be written, lest a full disk make it sent over and over.
        """
        done = Done(entry.batch, fate)
        try:
            with self.transaction():
                self.write(done)
        finally:
            self.outbox.apply(done)

    def disable(self, version: str) -> None:
        """Note that the collector takes no more reports of a metric version, and drop those that wait."""
        with self.transaction() as today:
            self.write(Disabled(version, today))
            for entry in self.outbox.waiting():
                if Batch.decode(entry.body).version == version:
                    self.write(Done(entry.batch, "dropped"))

    def refresh(self) -> None:
        """Read what others wrote; nothing is made if there is nothing."""
        if self.state.exists():
            with self.transaction():
                pass

    def discard(self, mode: str) -> None:
        """Drop what will never be sent, now that ``mode`` holds."""
        if self.state.exists():
            with self.transaction():
                entries = self.outbox.waiting(local=True) if mode != "local" else []
                entries += self.outbox.waiting() if mode == "off" else []
                for entry in entries:
                    self.write(Done(entry.batch, "dropped"))

    def clear(self) -> None:
        """Forget what was read, after the state was deleted."""
        self.ledger = Ledger(self._lifetime_cap)
        self.outbox.clear()
        self._cursor, self._keys = START, None

    def after_fork(self) -> None:
        """Start again in a child process: with free locks, and with nothing that the parent will send."""
        self._lock = threading.Lock()
        self.state.after_fork()
        self._cursor = START

    def _catch_up(self, today: int) -> None:
        news = self.state.news(self._cursor)
        if news.anew:
            self.outbox.clear()
            self._keys = None
        for record in news.records:
            self._apply(record)
        self._cursor = news.cursor
        if news.damaged:
            self.ledger.apply(self.ledger.hold(today, news.damaged))
        if news.damaged or news.torn or self._overgrown(news):
            self._cursor = self.state.rewrite(self._kept())
            self._tidy = self._cursor.position
        elif news.anew:
            self._tidy = self._cursor.position

    def _overgrown(self, news: News) -> bool:
        """Return whether most of the journal is of no use any more: looked at when it is opened and as it doubles."""
        if news.anew:
            return len(news.records) > _SLACK_RECORDS and len(news.records) > 2 * len(self._kept())
        return self._cursor.position > 2 * self._tidy + _SLACK

    def _kept(self) -> list[Record]:
        return [*self.ledger.records(), *self.outbox.records()]

    def _apply(self, record: Record) -> None:
        if isinstance(record, Debit | Disabled | Hold):
            self.ledger.apply(record)
        elif isinstance(record, Queued | Done | Totals):
            self.outbox.apply(record)
