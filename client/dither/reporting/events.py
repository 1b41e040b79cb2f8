"""Events: answers that the device computes itself from the events of a period (``of`` in ``metrics.toml``).

``Client.add`` notes an event. At the first call in a later period the answer of the ended one is reported; a period in
which the client ran without any event is reported, too, because otherwise the report itself would reveal that there was
an event. A period in which it never ran gives no report, and one that ended more than ``MAX_DAYS`` ago is dropped.

The state until then is in the file ``events``, which each write replaces as a whole:

    any, set          the row of the report itself, as it would be sent now. It was drawn for "no" (for the empty set)
                      when the period was opened, and is drawn again for "yes" after each event that is part of the
                      answer. So the row that is sent has exactly the mechanism's law for the true answer, and one copy
                      of the file reveals no more than one report. The ledger is debited before the first draw.
    count, sum, max   a number of the current period, and ``furthest`` a place in the list; deleted once reported
    days              the days of the last 28 on which there was an event

``weeks-since-first-use`` needs only the day of first use, which the journal keeps: it is reported at once, in the weeks
that are listed. All calls hold the journal, so the file has one writer at a time. The journal is written first and the
file second: a program that is killed in between, or cannot write the file, finds the same events again. The ledger then
refuses a second report: a row of ``any`` or ``set`` is written together with a debit of the current period. Its batch
id would not be enough, because a sealed report has none.
"""

from __future__ import annotations

import math
from binascii import crc32

from dither_shared.errors import ParameterError
from dither_shared.light import NamedTuple, suppress
from dither_shared.metrics.period import first_day, last_day
from dither_shared.plain import double_of, type_name

from ..state.journal_records import FirstUse, is_ahead, is_behind
from .bodies import BATCH_BYTES, draw_row
from .outbox import MAX_DAYS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import date

    from dither_shared.encoding import Encoded, Item
    from dither_shared.metrics.metric import Metric
    from dither_shared.primitives.entropy import Entropy

    from .recorder import Recorder

PRIVATE = frozenset({"any", "set"})
"""Kinds whose report is paid for when its period begins, and drawn again after an event."""
_WEEKS = "weeks-since-first-use"
_WINDOW = 28
"""Days that ``days`` looks back, the last day of the period included; the texts ``kept.days`` name it, too."""
_LOST = "lost"
"""The state of a period whose events could not be read: it is not reported."""

_LOCAL = "local"
"""The first word of the file if it may hold events of the mode local, which are dropped once the mode is on."""

_UNREADABLE = "the events of a period could not be read"
_LONGEST_PERIOD = 31
_RANDOM = 64
"""Random bytes read for a draw in one system call."""


class _Kept(NamedTuple):
    """The stored state of a metric: the first day of the period, and the answer so far (see the module's table)."""

    begun: int
    state: str


class Events:
    """The events of one client's metrics, whose answers ``recorder`` reports.

    All methods raise StateError, BusyError or OSError if the state cannot be used.
    """

    def __init__(self, metrics: Mapping[str, Metric], recorder: Recorder) -> None:
        self._recorder = recorder
        self._journal, self._permission, self._diagnostics = recorder.journal, recorder.permission, recorder.diagnostics
        self._entropy, self._today = recorder.entropy, recorder.today
        self._formed = {metric.version: metric for metric in metrics.values() if metric.of is not None}
        self._ages = any(metric.after or metric.of == _WEEKS for metric in metrics.values())
        self._reviewed = 0

    def add(self, name: str, value: object) -> bool:
        """Note an event of a metric; return whether a report was made, of a period that has ended.

        Raises ParameterError for a metric that is not defined, or whose answers the app gives by ``record``.
        """
        metric = self._recorder.metric(name, value)
        if metric.of is None or metric.of == _WEEKS:
            wanted = "is answered on its own" if metric.of else "has no of, so its answers are given by record"
            raise ParameterError(f"metrics.{metric.name}", f"this metric {wanted}; add is for events")
        made = self.review()
        event = self._read(metric, value)
        if event is None or not self._covered(metric, self._today()):
            return made
        day = self._today().toordinal()
        self._journal.hold(lambda: self._add(metric, event, day), day)
        return made

    def review_again(self) -> None:
        """Let the next call review, because the user has chosen."""
        self._reviewed = 0

    def review(self) -> bool:
        """Report the periods that have ended, and open the current ones; return whether there is a new report.

        Does nothing after the first call of a day that succeeded, and nothing while consent is off.
        """
        today = self._today()
        day = today.toordinal()
        if day == self._reviewed or self._permission.consent().mode == "off":
            return False
        covered = [metric for metric in self._formed.values() if self._covered(metric, today)]
        made = self._journal.hold(lambda: self._review(covered, day), day)
        self._reviewed = day
        return made

    def _covered(self, metric: Metric, today: date) -> bool:
        consent = self._permission.consent()
        return consent.mode != "off" and self._permission.covers(consent, metric, today)

    def _read(self, metric: Metric, value: object) -> Encoded | float | None:
        """Return ``value`` as an event of ``metric``, or None if it changes no answer; a mistake is logged."""
        kind = metric.of
        if kind in {"count", "days"}:
            return 1.0
        if kind in {"sum", "max"}:
            if (number := double_of(value)) is not None and math.isfinite(number):
                return number
            self._diagnostics.note(f"wrong value for metrics.{metric.name}", f"{type_name(value)} is not a number")
            return None
        answer = metric.answers.encode([value] if kind == "set" else value)
        if answer.mistake:
            self._diagnostics.note(f"wrong value for metrics.{metric.name}", f"{type_name(value)} is not an answer")
        return None if answer.mistake or answer.outside or (kind != "furthest" and not answer.item) else answer

    def _add(self, metric: Metric, event: Encoded | float, today: int) -> None:
        """Note an event, while the journal is held."""
        states = self._states(today)
        kept = states.get(metric.version)
        if kept is None or kept.state == _LOST:  # the ledger, or ``after``, lets it collect nothing in this period
            return
        state = self._after(metric, kept.state, event, today)
        if state != kept.state:
            states[metric.version] = _Kept(kept.begun, state)
            self._write(states)

    def _after(self, metric: Metric, state: str, event: Encoded | float, today: int) -> str:
        """Return the state after one more event."""
        kind = metric.of
        if kind in PRIVATE:
            batch, _, row = state.partition(":")
            item: Item = event.item  # type: ignore[union-attr]  # these kinds encode their events
            return f"{batch}:{redrawn(metric, bytes.fromhex(row), item, self._entropy.ahead(_RANDOM)).hex()}"
        if kind == "furthest":
            return str(max(int(state), int(event.item)))  # type: ignore[union-attr]  # likewise
        if kind == "days":
            return _days_with(state, today)
        number = float(state)
        after = max(number, event) if kind == "max" else min(max(number + event, -1e300), 1e300)  # type: ignore[operator]
        return repr(after)

    def _review(self, covered: Iterable[Metric], today: int) -> bool:
        """Do what ``review`` says, while the journal is held."""
        self._journal.keys()  # draws the device's secret, without which no journal is trusted
        ledger, made = self._journal.ledger, False
        if self._ages and not ledger.first_use and not is_behind(today):
            self._journal.write(FirstUse(today))
        before = self._states(today)
        states = {version: kept for version, kept in before.items() if version not in self._formed}
        for metric in covered:
            if metric.of == _WEEKS:
                made |= self._weeks(metric, today)
                continue
            kept = before.get(metric.version)
            ended = kept is not None and kept.begun < first_day(today, metric.period)
            is_open = ledger.open_to(metric, today)  # before the report, which closes the period
            if kept is not None and ended:
                try:
                    made |= self._report(metric, kept, today)
                except ValueError:  # nobody but dither writes a checksum, so somebody has edited the file
                    self._diagnostics.trouble(_UNREADABLE)
                    kept = None
            opened = kept if kept is not None and not ended else self._opened(metric, kept, today, is_open=is_open)
            if opened is not None:
                states[metric.version] = opened
        if states or before:  # even if nothing is new, because an unreadable state would never end
            self._write(states)
        return made

    def _weeks(self, metric: Metric, today: int) -> bool:
        """Report the weeks since the first use, if this week is listed and has no report."""
        first = self._journal.ledger.first_use
        weeks = (first_day(today, "week") - first_day(first, "week")) // 7
        answer = metric.answers.encode(str(weeks))
        if not first or answer.outside or not self._journal.ledger.open_to(metric, today):
            return False
        self._recorder.keep(metric, answer, today)
        return True

    def _report(self, metric: Metric, kept: _Kept, today: int) -> bool:
        """Report the answer of a period that has ended; return whether that was possible."""
        end = last_day(kept.begun, metric.period)
        if today - end > MAX_DAYS or kept.state == _LOST:
            self._diagnostics.trouble("the events of an ended period were dropped: they were lost, or ended long ago")
            return False
        if metric.of in PRIVATE:
            account = self._journal.ledger.account(metric)
            if account is None or account.day >= first_day(today, metric.period):  # never paid for, or reported before
                return False
            batch, row = (bytes.fromhex(part) for part in kept.state.split(":"))
            if len(batch) != BATCH_BYTES:
                raise ValueError(batch)
            self._recorder.keep_row(metric, batch.hex(), row, today)
            return True
        if not self._journal.ledger.open_to(metric, today):
            self._recorder.ignored += 1
            return False
        self._recorder.keep(metric, _answer(metric, kept.state, end), today)
        return True

    def _opened(self, metric: Metric, kept: _Kept | None, today: int, *, is_open: bool) -> _Kept | None:
        """Return the state with which the current period begins; None if the metric collects nothing in it."""
        journal, begun = self._journal, first_day(today, metric.period)
        if metric.of in PRIVATE:
            if not is_open:
                return None
            if journal.ledger.open_to(metric, today):  # not debited with the report of the ended period
                journal.write(journal.ledger.debit(metric, today))
            entropy = self._entropy.ahead(_RANDOM)
            return _Kept(begun, f"{entropy.take(BATCH_BYTES).hex()}:{draw_row(metric, 0, entropy).hex()}")
        if journal.ledger.too_new(metric, today):
            return None
        if metric.of == "days":
            return _Kept(begun, kept.state if kept is not None and kept.state != _LOST else f"{today}:0")
        return _Kept(begun, {"furthest": "-1", "max": "-inf"}.get(metric.of or "", "0"))

    def _states(self, today: int) -> dict[str, _Kept]:
        """Return the stored states by metric version, without those of a clock that was ahead or of an old program."""
        text = "?"
        with suppress(OSError):  # too large, or owned by another user
            text = self._journal.state.recall("events").decode("ascii", "replace")
        if not text:
            return {}
        checksum, *words = text.split(" ")
        if words[:1] == [_LOCAL]:
            if self._permission.consent().mode != _LOCAL:
                return {}
            del words[0]
        states = {}
        with suppress(ValueError):
            if int(checksum, 16) == crc32(text.partition(" ")[2].encode()):
                triples = zip(words[::3], words[1::3], words[2::3], strict=True)
                states = {version: _Kept(int(begun), state) for version, begun, state in triples}
        if not states:
            self._diagnostics.trouble(_UNREADABLE)
            return {metric.version: _Kept(first_day(today, metric.period), _LOST) for metric in self._formed.values()}
        return {
            version: kept
            for version, kept in states.items()
            if not is_ahead(kept.begun, today) and (version in self._formed or today - kept.begun <= _LONGEST_PERIOD)
        }

    def _write(self, states: Mapping[str, _Kept]) -> None:
        text = " ".join(f"{version} {kept.begun} {kept.state}" for version, kept in states.items())
        if text and self._permission.consent().mode == _LOCAL:
            text = f"{_LOCAL} {text}"
        self._journal.state.remember("events", f"{crc32(text.encode()):08x} {text}".encode() if text else b"")


def redrawn(metric: Metric, row: bytes, item: Item, entropy: Entropy) -> bytes:
    """Return the row of ``any`` or ``set`` after an event: a new draw if the event concerns what the row is about.

    The row of a set is about one value, which is public; an event with another value does not change it.
    """
    if metric.of == "any":
        return draw_row(metric, item, entropy)
    cohort = metric.mechanism.row_format.decode(row)[0]
    return draw_row(metric, item, entropy, cohort) if int(item) >> cohort & 1 else row


def _answer(metric: Metric, state: str, end: int) -> Encoded:
    """Return the answer of a period that ended with this state on the day ``end``."""
    encode = metric.answers.encode
    if metric.of == "furthest":
        nothing = encode("")
        return nothing if int(state) < 0 else nothing._replace(item=int(state), outside=False)
    if metric.of == "days":
        return encode(_days_until(state, end))
    return encode(float(state))


def _days_with(state: str, today: int) -> str:
    """Return the days "LAST:MASK" with today among them; bit i of the mask is the day LAST - i."""
    last, mask = _days(state)
    if today > last:
        last, mask = today, mask << min(today - last, _WINDOW)
    return f"{last}:{(mask | 1 << (last - today)) & ((1 << _WINDOW) - 1):x}"


def _days_until(state: str, end: int) -> int:
    """Return the number of days with an event among the 28 until ``end``."""
    last, mask = _days(state)
    return ((mask << (end - last) if end >= last else mask >> (last - end)) & ((1 << _WINDOW) - 1)).bit_count()


def _days(state: str) -> tuple[int, int]:
    last, _, mask = state.partition(":")
    return int(last), int(mask, 16)
