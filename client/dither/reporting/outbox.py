"""The outbox: reports that wait to be sent, bounded by count, bytes and age; the oldest are dropped and counted.

Which reports a new one displaces follows from the order of the journal, so no record says it, and the bounds hold
whatever a journal contains. Expired reports are dropped by a record of their own, and so are reports dated after
tomorrow, because the clock was ahead when they were made.

The last thirty reports that were sent are kept, so that a user can see what has left the device.
"""

from __future__ import annotations

from itertools import chain

from dither_shared.light import OrderedDict, deque

from ..state.journal_records import Done, Queued, Totals, is_ahead
from .bodies import SEALED, kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

    from ..state.journal_records import Record
    from .bodies import BodyKind

MAX_REPORTS = 10_000
MAX_BYTES = 5_000_000
MAX_DAYS = 30
_MOST_SHOWN = 30


class Outbox:
    """Queued reports by batch id, oldest first, and the numbers of those that were sent or dropped."""

    KINDS: Final = frozenset({Queued, Done, Totals})
    """The records of the journal that it applies."""

    def __init__(self, max_reports: int = MAX_REPORTS, max_bytes: int = MAX_BYTES, max_days: int = MAX_DAYS) -> None:
        self.sent = 0
        self.dropped = 0
        self.bytes = 0
        self._locals = 0  # queued reports of the mode local; none of them is sealed
        self.sealed = 0
        """Number of queued reports that are sealed."""
        self._max_reports = max_reports
        self._max_bytes = max_bytes
        self._max_days = max_days
        # a dict finds its first entry slowly after many deletions
        self._queue: OrderedDict[str, Queued] = OrderedDict()
        self._history: deque[Queued] = deque(maxlen=_MOST_SHOWN)
        self.latest = 0
        """Upper bound of the days in the queue."""

    def __len__(self) -> int:
        return len(self._queue)

    def clear(self) -> None:
        """Forget everything, before the journal is read again."""
        self.sent = self.dropped = self.bytes = self._locals = self.sealed = 0
        self._queue.clear()
        self._history.clear()

    def apply(self, record: Queued | Done | Totals) -> None:
        """Apply a record of the journal."""
        if isinstance(record, Queued):
            self._add(record)
        elif isinstance(record, Done):
            self._finish(record)
        else:
            self.sent += record.sent
            self.dropped += record.dropped

    def _add(self, entry: Queued) -> None:
        """Queue a report, and drop the oldest beyond the bounds."""
        batch, _, day, local, body = entry
        queue = self._queue
        if batch not in queue:
            queue[batch] = entry
            self.bytes += len(body)
            self._locals += local
            self.sealed += kind_of(body) is SEALED
            self.latest = max(self.latest, day)
            while len(queue) > self._max_reports or (self.bytes > self._max_bytes and len(queue) > 1):
                self._finish(Done(next(iter(queue)), "dropped"))

    def _finish(self, done: Done) -> None:
        entry = self._queue.pop(done.batch, None)
        if entry is None:
            return
        self.bytes -= len(entry.body)
        self._locals -= entry.local
        self.sealed -= kind_of(entry.body) is SEALED
        if done.fate == "sent":
            self.sent += 1
            self._history.append(entry)
        else:
            self.dropped += 1

    def waiting(self, local: bool = False) -> list[Queued]:
        """Return the reports to send, oldest first; or those of the mode local, which are never sent."""
        if not self._locals:  # true for most states, so that 10,000 entries are not checked one by one
            return [] if local else self._entries()
        return [entry for entry in self._entries() if bool(entry.local) is local]

    def history(self) -> list[Queued]:
        """Return the last reports that were sent, oldest first."""
        return list(self._history)

    def next(self) -> Queued | None:
        """Return the oldest report to send, or None."""
        return next(iter(self.waiting()), None)

    def _entries(self) -> list[Queued]:
        return list(self._queue.values())  # copy at once, because another thread may add one at the same time

    def future_dated(self, today: int) -> list[Done]:
        """Return the records that drop reports made while the clock was ahead; their day can be answered again."""
        if not is_ahead(self.latest, today):
            return []
        self.latest = max((entry.day for entry in self._queue.values()), default=0)
        return [Done(entry.batch, "dropped") for entry in self._queue.values() if is_ahead(entry.day, today)]

    def wrong_kind(self, kind: BodyKind) -> list[Done]:
        """Return the records that drop all reports of another kind than the app sends now.

        A relay must not see a report in the clear, and a collector accepts no sealed report from a device.
        """
        wrong_kind = len(self._queue) - self._locals - self.sealed if kind is SEALED else self.sealed
        if not wrong_kind:  # nearly always true, so that 10,000 entries are not checked one by one
            return []
        return [Done(entry.batch, "dropped") for entry in self.waiting() if kind_of(entry.body) is not kind]

    def expired(self, today: int) -> list[Done]:
        """Return the records that drop reports which have waited for too long."""
        gone = []
        for entry in self._queue.values():  # which nearly always ends at once
            if today - entry.day <= self._max_days:
                break
            gone.append(Done(entry.batch, "dropped"))
        return gone

    def records(self) -> Iterator[Record]:
        """Return the fewest records that give this outbox; a generator, which may be consumed later."""
        totals = Totals(self.sent - len(self._history), self.dropped)
        shown = ((entry, Done(entry.batch, "sent")) for entry in self.history())
        return chain((totals,), chain.from_iterable(shown), list(self._queue.values()))
