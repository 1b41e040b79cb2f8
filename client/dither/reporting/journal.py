"""The journal: one append-only log from which ledger and outbox follow, shared by threads and processes.

A writer enters a transaction: it holds the journal against other threads and processes (state/locks.py), and reads
what they wrote since, so that it decides on the current state. No transaction syncs, sends or waits, so each takes
microseconds. Records that belong together are written in one system call, a debit before its report. The host's signal
handlers may raise at any step, even while the journal is released. So two nested ``finally`` release it, and the second
does nothing unless the first was interrupted.

Records that cannot be read are left out and counted, and they hold every metric until its next period, because any of
them may have been a debit of it. All other records count.

**Compaction.** When most records of a journal have no effect any more, it is rewritten. That takes as long as the disk
needs. So the upload thread writes a draft, and holds the locks only while the draft replaces the journal, together with
the records that were appended since. Each turn of that thread holds up a call of ``record``; so while the program
records without pause, a journal of some size is left as it is for up to a minute. Only a damaged journal is rewritten
at once, by the process that finds it damaged.

A journal that holds the draws of an earlier day is compacted, too, so that no tag is stored with a day for long.
"""

from __future__ import annotations

import math
import time
from itertools import chain

from dither_shared.light import TypeVar, contextmanager, partial, suppress

from ..state.folder_journal import paced
from ..state.journal_records import Debit, Disabled, Done, FirstUse, Permanent, is_ahead
from ..state.locks import Owner, ThreadLock
from ..state.state import START, BusyError, Cursor, StateError
from .bodies import kind_for, read
from .keys import Keys
from .ledger import Ledger
from .outbox import Outbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dither_shared.metrics.metric import Metric
    from dither_shared.primitives.entropy import Entropy

    from ..state.folder import State
    from ..state.journal_records import Corrected, Fate, Queued, Record
    from ..state.state import News

_REST = 10
_SLACK = 1_000_000
_SLACK_RECORDS = 100
"""Records below which a journal is not worth rewriting."""

_SMALL, _LARGE = 1 << 16, 12 << 20
"""Bytes below which a journal is compacted within a millisecond or two, and above which it cannot wait any longer."""

_FIRST_LOOK, _LONGEST_LOOK, _LONGEST_WAIT = 0.02, 1.0, 60.0
"""Seconds to the first check whether the program still records, doubled up to the second number; and their limit."""

Result = TypeVar("Result")


class Journal:
    """Ledger and outbox of one state.

    ``today`` returns the UTC day as an ordinal, ``metrics`` are those of the app; ``warn`` is called with a message for
    each report that is dropped because the clock was ahead, or because the app sends another kind now.
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
        self._new_ledger = partial(Ledger, lifetime_cap, (metrics or {}).values())
        self.ledger = self._new_ledger()
        self.outbox = Outbox() if outbox is None else outbox
        self._entropy = entropy
        self._today = today
        self._kind = kind_for((metrics or {}).values())
        self._warn = warn
        self._day = self._drawn = 0  # of the last debit; of the last draw after a debit
        self.cursor = START
        """How far ledger and outbox follow the journal: replaced by another object after each change, and START only
        before it.
        """
        self._compacted_to = 0  # the position of its end after it was last rewritten
        self._rests_until = 0.0
        self._looked_at, self._waited = START, 0.0  # the cursor at the last look; the seconds of all looks
        self.needs_compaction = False
        """Whether most records of the journal have no effect any more."""
        self._keys: Keys | None = None
        self._threads = ThreadLock()

    def hold(self, work: Callable[[], Result], today: int) -> Result:
        """Call ``work`` in a transaction and return its result; raises BusyError, StateError or OSError, too."""
        owner = Owner()
        try:
            try:
                self._enter(owner)
                self.state.acquire()
                self._follow(today)
                return work()
            finally:
                self._leave(owner)
        finally:
            if self._threads.is_held(owner):  # the release above was interrupted
                self._leave(owner)

    @contextmanager
    def transaction(self) -> Iterator[int]:
        """Enter a transaction with the day; raises BusyError, StateError or OSError."""
        owner = Owner()
        try:
            try:
                self._enter(owner)
                self.state.acquire()
                today = self._today()  # only now, because waiting may have taken long
                self._follow(today)
                yield today
            finally:
                self._leave(owner)
        finally:
            self._leave(owner)

    def _alone(self, work: Callable[[], None]) -> None:
        """Call ``work`` while no other thread is in a transaction; raises BusyError."""
        owner = Owner()
        try:
            try:
                self._enter(owner)
                work()
            finally:
                self._threads.release(owner)
        finally:
            self._threads.release(owner)

    def _enter(self, owner: Owner) -> None:
        if not self._threads.acquire(owner):
            raise BusyError("the journal is held by another thread")

    def _leave(self, owner: Owner) -> None:
        if self._threads.is_held(owner):  # otherwise it was released before
            self.state.release()
            self._threads.release(owner)

    def write(self, *records: Debit | Permanent | Corrected | Disabled | FirstUse | Queued | Done) -> None:
        """Append records, all or none, and apply them. The caller must hold a transaction."""
        position = self.state.append(records)
        for record in records:
            self._apply(record)
        # Last, because records that were not applied must be read again.
        self.cursor = tuple.__new__(Cursor, (self.cursor.mark, position))
        if position > 2 * self._compacted_to + _SLACK:
            self.needs_compaction = True

    def keys(self) -> Keys:
        """Return the device's keys; the first use ever draws the secret. The caller must hold a transaction."""
        if self._keys is None:
            may_create = self.ledger.untouched and not self.state.lost()
            self._keys = Keys(self.state.secret(self._entropy, may_create))
        return self._keys

    def begin(self) -> None:
        """Draw a secret if there is none, because the user has just said yes.

        If the secret was lost, this forgets the draws that were keyed by it; what was spent stays spent.
        """
        with self.transaction():
            if not self.state.has_secret():
                if not self.ledger.untouched:
                    self.ledger.forget_draws()
                    self._rewrite()
                self._keys = Keys(self.state.secret(self._entropy, may_create=True))

    @property
    def due(self) -> bool:
        """Whether the journal needs compaction now, and not too soon after the last one."""
        return self.needs_compaction and time.monotonic() >= self._rests_until

    def compact(self, *, courteous: bool = False) -> float:
        """Rewrite the journal if most of its records have no effect any more; try again later if that fails.

        ``courteous`` is for a background thread: it lets the program's threads run in between, and then rests for ten
        times as long as it took, so that it takes little time from a program that records without pause. Returns after
        how many seconds to try again because the program is recording; 0 if that need not be.
        """
        if not ((self.due if courteous else self.needs_compaction) and self.state.exists()):
            return 0.0
        if courteous and (pause := self._pause_while_busy()):
            self._rests_until = time.monotonic() + pause
            return pause
        self.needs_compaction = False
        begun = time.monotonic()
        with suppress(StateError, OSError), self.state.sending() as ours:
            if ours:
                self._compact(paced if courteous else iter)
        if courteous:
            now = time.monotonic()
            self._rests_until = now + _REST * (now - begun)
        return 0.0

    def _pause_while_busy(self) -> float:
        """Return the seconds to the next look if the program has recorded since the last one; 0 if not, or no more."""
        looked_at, self._looked_at = self._looked_at, self.cursor
        pause = min(max(self._waited, _FIRST_LOOK), _LONGEST_LOOK)
        if self.cursor is looked_at or not _SMALL < self.cursor.position < _LARGE or self._waited >= _LONGEST_WAIT:
            pause = self._waited = 0.0
        self._waited += pause
        return pause

    def _compact(self, pace: Callable[[Iterator[Record]], Iterator[Record]]) -> None:
        with self.transaction():
            kept, since = self._kept(), self.cursor
        with self.state.draft(pace(kept)), self.transaction():
            if self.cursor.mark == since.mark:  # otherwise another process has rewritten or deleted it
                late = self.cursor.position > since.position
                self.cursor = self.state.install(since)
                self._compacted_to = self.cursor.position
                self._drawn = self._day if late else 0
        self.state.sync()

    def waiting(self) -> list[Queued]:
        """Drop expired reports and those of the wrong kind; return those to send, oldest first. Makes a transaction."""
        if not self.state.exists():
            return []
        with self.transaction() as today:
            wrong_kind = self.outbox.wrong_kind(self._kind)
            if gone := [*wrong_kind, *self.outbox.expired(today)]:
                self.write(*gone)
            for _ in wrong_kind:
                self._warn(f"a report was dropped: the app's reports are {self._kind.word} now, and this one is not")
            self.needs_compaction = self.needs_compaction or bool(
                wrong_kind
            )  # so that no row in the clear stays on the disk
            return self.outbox.waiting()

    def finish(self, entry: Queued, fate: Fate) -> None:
        """Write the fate of a report, in a transaction of its own.

        This process applies it even if it cannot be written; otherwise, on a full disk, it would send the report again
        and again.
        """
        done = Done(entry.batch, fate)
        try:
            with self.transaction():
                self.write(done)
        finally:
            self.outbox.apply(done)

    def disable(self, version: str) -> None:
        """Write that the collector takes no more reports of a metric version, and drop those that wait."""
        with self.transaction() as today:
            gone = [entry for entry in self.outbox.waiting() if read(entry.body).version == version]
            self.write(Disabled(version, today), *(Done(entry.batch, "dropped") for entry in gone))

    def refresh(self) -> None:
        """Read what other processes wrote; make no journal if there is none."""
        if self.state.exists():
            with self.transaction():
                pass

    def apply_mode(self, mode: str) -> None:
        """Apply a mode of consent: drop reports that will never be sent, and draw the secret if reports may come.

        The secret is synced to the disk, which may take long; so this does it before the first ``record`` needs it.
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
            if mode == "off" and self.state.recall("events"):
                self.state.remember("events", b"")

    def close(self) -> None:
        """Close the files of the state, unless another thread uses them."""
        with suppress(BusyError):
            self._alone(self.state.close)

    def forget(self) -> None:
        """Delete the secret and the journal, and forget their content."""

        def clear() -> None:
            self.state.forget()
            self.ledger = self._new_ledger()
            self.outbox.clear()
            self.cursor, self._keys = START, None

        self._alone(clear)

    def after_fork(self) -> None:
        """Start again in a child process, with free locks and without the reports that the parent will send."""
        self._threads = ThreadLock()  # no other thread is here
        self.state.after_fork()
        self.cursor = START

    def _follow(self, today: int) -> None:
        """Read what others wrote, and correct the marks left by a clock that was ahead.

        The process may have been stopped for days since it asked for the day, so a correction asks again.
        """
        if (news := self.state.news(self.cursor)) is not None:
            self._catch_up(news, today)
        latest = max(self.outbox.latest, self.ledger.furthest)
        if is_ahead(latest, today) and is_ahead(latest, now := self._today()):
            self._correct(now)

    def _catch_up(self, news: News | None, today: int) -> None:
        """Read what others wrote, piece by piece, so that memory is bounded by the number of accounts and reports."""
        cursor, records, damaged = self.cursor, 0, 0
        rewritten = torn = False
        while news is not None:
            if news.rewritten:
                self._start_over()
            for record in news.records:
                self._apply(record)
            self.ledger.check_size()
            cursor, records, damaged = news.cursor, records + len(news.records), damaged + news.damaged
            rewritten, torn = rewritten or news.rewritten, news.torn
            news = self.state.news(cursor)
        if cursor == self.cursor:
            return
        self.cursor = cursor  # last: if a piece cannot be applied, all is read again
        if damaged:
            self.ledger.apply(self.ledger.hold(today, damaged))
        if damaged or torn:
            self._rewrite()
        elif rewritten:
            self._compacted_to = self.cursor.position
            self.needs_compaction = records > _SLACK_RECORDS and records > 2 * sum(1 for _ in self._kept())
        # On a later day the order of records would still tell that the last debit came with a new draw.
        self.needs_compaction = self.needs_compaction or 0 < self._drawn < today

    def _start_over(self) -> None:
        """Prepare to read the journal from its start."""
        self.outbox.clear()
        self.ledger.start_over()
        self._keys = None
        self._day = self._drawn = 0

    def _rewrite(self) -> None:
        self.cursor = START  # if the next step fails, it must be repeated before anything is appended
        self.cursor = self.state.rewrite(self._kept())
        self._compacted_to = self.cursor.position
        self._drawn = 0
        self.needs_compaction = False

    def _correct(self, today: int) -> None:
        """Drop future-dated reports and correct future marks, now that the clock is right."""
        future_dated = self.outbox.future_dated(today)
        correction = self.ledger.correction(today)
        if not (future_dated or correction):
            return
        self.write(*future_dated, *([correction] if correction else []))
        for _ in future_dated:
            self._warn("a report was dropped: its day is in the future, so the clock was ahead when it was made")
        if correction:
            self._warn(
                "the clock was ahead: questions that were answered on a future day can be answered again from "
                "the next period on"
            )

    def _kept(self) -> Iterator[Record]:
        """Return the fewest records that give the same ledger and outbox."""
        return chain(self.ledger.records(), self.outbox.records())

    def _apply(self, record: Record) -> None:
        """Apply a record; applying it again changes nothing."""
        if type(record) in Outbox.KINDS:
            self.outbox.apply(record)  # type: ignore[arg-type]  # it is of one of these kinds
            return
        # Notice draws after a debit of an earlier day; those that were compacted come before all debits.
        if type(record) is Debit:
            self._day = record.day
            self.needs_compaction = self.needs_compaction or 0 < self._drawn < record.day
        elif type(record) is Permanent and self._day:
            self._drawn = self._day
        if type(record) in Ledger.KINDS:
            self.ledger.apply(record)  # type: ignore[arg-type]  # likewise
