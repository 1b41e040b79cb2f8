"""The journal: one append-only log from which ledger and outbox follow, shared by threads and processes.

Whoever wants to write enters a transaction: it takes turns with other threads (turns.py) and processes
(journal_file.py), reads what others wrote since, and so decides on what is true now. Nobody is in one while syncing,
sending or waiting, so a transaction takes microseconds. What belongs together is written in one call to the system, a
debit before its report.

What cannot be read is quarantined: it is left out, counted, and holds every metric until its next period, for it may
have been a debit. The rest goes on.

**Compaction.** When most of a journal is of no use any more it is written anew. That takes as long as the disk wants.
So the worker does it, and holds the locks for no longer than it takes to put the new one in the place of the old, with
what was appended meanwhile. Only a journal that is damaged is written anew at once, by whoever finds it so.

One that holds the draws of an earlier day is compacted, too, so that no tag stands beside a day for long.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from itertools import chain

from dither_shared.metrics.metric import Metric
from dither_shared.primitives.entropy import Entropy

from ..clock import is_ahead
from ..state.journal import paced
from ..state.journal_records import Corrected, Debit, Disabled, Done, Fate, Permanent, Queued, Record
from ..state.state import START, BusyError, Cursor, State, StateError
from .bodies.kinds import kind_for, read
from .keys import Keys
from .ledger import Ledger
from .outbox import Outbox
from .transactions import Transactions

__all__ = ["Journal"]

_REST = 10
_SLACK = 1_000_000
_SLACK_RECORDS = 100
"""Below these a journal is not worth rewriting."""


class Journal:
    """Ledger and outbox of one state.

    ``today`` is the UTC day as an ordinal, ``metrics`` those that the app asks; ``warn`` is given, in words, what a
    clock that was ahead has spoilt.
    """

    def __init__(
        self,
        state: State,
        entropy: Entropy,
        today: Callable[[], int],
        outbox: Outbox | None = None,
        lifetime_cap: float = math.inf,
        *,
        metrics: Mapping[str, Metric] | None = None,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.state = state
        self.ledger = Ledger(lifetime_cap)
        self._lifetime_cap = lifetime_cap
        self.outbox = Outbox() if outbox is None else outbox
        self._entropy = entropy
        self._today = today
        self._kind = kind_for((metrics or {}).values())
        self._warn = warn
        self._day = self._drawn = 0  # of the last debit; of the first draw behind a debit
        self._cursor = START
        self._compacted_to = 0  # the position behind it when it was last written anew
        self._rests_until = 0.0
        self.needs_compaction = False
        """Whether most of it is of no use any more."""
        self._keys: Keys | None = None
        self._transactions = Transactions(state, today, self._follow)
        self.hold = self._transactions.hold

    def transaction(self) -> AbstractContextManager[int]:
        """Hold the journal, up to date, and enter with the day; raises BusyError, StateError or OSError."""
        return self._transactions.one()

    def write(self, *records: Debit | Permanent | Corrected | Disabled | Queued | Done) -> None:
        """Append records, all or none, and let them count; for the holder of a transaction."""
        position = self.state.append(records)
        for record in records:
            self._apply(record)
        self._cursor = Cursor(self._cursor.mark, position)  # at last: what was not applied is to be read again
        if position > 2 * self._compacted_to + _SLACK:
            self.needs_compaction = True

    def keys(self) -> Keys:
        """Return the device's keys; for the holder of a transaction. The secret is drawn on the very first use."""
        if self._keys is None:
            may_create = self.ledger.untouched and not self.state.lost()
            self._keys = Keys(self.state.secret(self._entropy, may_create))
        return self._keys

    def begin(self) -> None:
        """Make a secret, for the user has just been asked; what was drawn with one that is lost is forgotten.

        What was spent stays spent.
        """
        with self.transaction():
            if not self.state.has_secret():
                if not self.ledger.untouched:
                    self.ledger.forget_draws()
                    self._write_anew()
                self._keys = Keys(self.state.secret(self._entropy, may_create=True))

    @property
    def due(self) -> bool:
        """Whether it is to be written anew, and not too soon after the last time."""
        return self.needs_compaction and time.monotonic() >= self._rests_until

    def compact(self, *, courteous: bool = False) -> None:
        """Write the journal anew if most of it is of no use any more; another time, if that cannot be done now.

        ``courteous`` is for a thread beside those of the program: it lets them run in between, and then rests for ten
        times as long as it took, so that a program that records without pause is disturbed for little of its time.
        """
        if not ((self.due if courteous else self.needs_compaction) and self.state.exists()):
            return
        self.needs_compaction = False
        begun = time.monotonic()
        with suppress(StateError, OSError), self.state.sending() as ours:
            if ours:
                self._compact(paced if courteous else iter)
        if courteous:
            now = time.monotonic()
            self._rests_until = now + _REST * (now - begun)

    def _compact(self, pace: Callable[[Iterator[Record]], Iterator[Record]]) -> None:
        with self.transaction():
            kept, since = self._kept(), self._cursor
        with self.state.draft(pace(kept)), self.transaction():
            if self._cursor.mark == since.mark:  # else somebody found it damaged, or forgot it, meanwhile
                late = self._cursor.position > since.position
                self._cursor = self.state.install(since)
                self._compacted_to = self._cursor.position
                self._drawn = self._day if late else 0
        self.state.sync()

    def waiting(self) -> list[Queued]:
        """Drop what is too old or belongs elsewhere; return what is to be sent, oldest first. A transaction itself."""
        if not self.state.exists():
            return []
        with self.transaction() as today:
            misplaced = self.outbox.misplaced(self._kind)
            if gone := [*misplaced, *self.outbox.expired(today)]:
                self.write(*gone)
            for _ in misplaced:
                self._warn(f"a report was dropped: the app's reports are {self._kind.word} now, and this one is not")
            self.needs_compaction = self.needs_compaction or bool(misplaced)  # so that no row stays on the disk
            return self.outbox.waiting()

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
            gone = [entry for entry in self.outbox.waiting() if read(entry.body).version == version]
            self.write(Disabled(version, today), *(Done(entry.batch, "dropped") for entry in gone))

    def refresh(self) -> None:
        """Read what others wrote; nothing is made if there is nothing."""
        if self.state.exists():
            with self.transaction():
                pass

    def settle(self, mode: str) -> None:
        """Do what follows now that ``mode`` holds: drop what will never be sent; make a secret, for reports to come.

        A secret is made durable, which takes as long as the disk wants: better now than in the first ``record``.
        """
        if mode == "off" and not self.state.exists():
            return
        with self.transaction():
            if mode != "off":
                self.keys()
            entries = self.outbox.waiting(local=True) if mode != "local" else []
            entries += self.outbox.waiting() if mode == "off" else []
            if entries:
                self.write(*(Done(entry.batch, "dropped") for entry in entries))

    def close(self) -> None:
        """Let the state close its files, unless another thread is at them."""
        with suppress(BusyError):
            self._transactions.alone(self.state.close)

    def forget(self) -> None:
        """Delete the secret and all that was written, and forget it."""

        def clear() -> None:
            self.state.forget()
            self.ledger = Ledger(self._lifetime_cap)
            self.outbox.clear()
            self._cursor, self._keys = START, None

        self._transactions.alone(clear)

    def after_fork(self) -> None:
        """Start again in a child process: with free locks, and with nothing that the parent will send."""
        self._transactions.after_fork()
        self.state.after_fork()
        self._cursor = START

    def _follow(self, today: int) -> None:
        """Take note of what others wrote, and that the clock is right again.

        A process may have been stopped for days since it asked for the day, so the clock is asked again.
        """
        self._catch_up(today)
        latest = max(self.outbox.latest, self.ledger.furthest)
        if is_ahead(latest, today) and is_ahead(latest, now := self._today()):
            self._correct(now)

    def _catch_up(self, today: int) -> None:
        """Read what others wrote, piece by piece, so that a journal costs no more memory than what it tells."""
        cursor, records, damaged = self._cursor, 0, 0
        anew = torn = False
        while (news := self.state.news(cursor)) is not None:
            if news.anew:
                self._start_over()
            for record in news.records:
                self._apply(record)
            self.ledger.check_size()
            cursor, records, damaged = news.cursor, records + len(news.records), damaged + news.damaged
            anew, torn = anew or news.anew, news.torn
        if cursor == self._cursor:
            return
        self._cursor = cursor  # at last: if a piece cannot be applied, all is read again
        if damaged:
            self.ledger.apply(self.ledger.hold(today, damaged))
        if damaged or torn:
            self._write_anew()
        elif anew:
            self._compacted_to = self._cursor.position
            self.needs_compaction = records > _SLACK_RECORDS and records > 2 * sum(1 for _ in self._kept())
        self.needs_compaction = self.needs_compaction or 0 < self._drawn < today

    def _start_over(self) -> None:
        """Be ready to read the journal from its start."""
        self.outbox.clear()
        self.ledger.start_over()
        self._keys = None
        self._day = self._drawn = 0

    def _write_anew(self) -> None:
        self._cursor = START  # if this fails, nothing may be appended before it was tried again
        self._cursor = self.state.rewrite(self._kept())
        self._compacted_to = self._cursor.position
        self._drawn = 0
        self.needs_compaction = False

    def _correct(self, today: int) -> None:
        """Undo what a clock that was ahead has left, now that it is right."""
        misdated = self.outbox.misdated(today)
        correction = self.ledger.correction(today)
        if not (misdated or correction):
            return
        self.write(*misdated, *([correction] if correction else []))
        for _ in misdated:
            self._warn("a report was dropped: its day is still to come, so the clock was ahead when it was made")
        if correction:
            self._warn("the clock was ahead: what was answered on a day to come is open from the next period on")

    def _kept(self) -> Iterator[Record]:
        """Return the fewest records from which all follows that holds now."""
        return chain(self.ledger.records(), self.outbox.records())

    def _apply(self, record: Record) -> None:
        """Let a record count; in one that is applied again nothing is new."""
        if type(record) in Outbox.KINDS:
            self.outbox.apply(record)  # type: ignore[arg-type]  # it is of a kind that it takes
            return
        # Notice draws behind a debit of an earlier day; those that were compacted stand before all debits.
        if type(record) is Debit:
            self._day = record.day
            self.needs_compaction = self.needs_compaction or 0 < self._drawn < record.day
        elif type(record) is Permanent and self._day:
            self._drawn = self._drawn or self._day
        if type(record) in Ledger.KINDS:
            self.ledger.apply(record)  # type: ignore[arg-type]  # likewise
