"""The ledger: track the privacy loss that the device has spent, and decide whether a metric may report today.

A mechanism without permanent draws is charged its epsilon for each report. One with permanent draws is charged its
``permanent_epsilon`` once for each new value, and nothing for reports that replay a value already paid for.

One write appends a debit and then its report to the journal. So every report that can be seen, sent or found has been
paid for; an interrupted write may leave a debit without a report, and then the ledger overstates the spent loss, but
never understates it.

**Caps.** A metric version costs a device at most its ``cap``. A metric without permanent draws then falls silent, which
reveals only how often it was asked. One with permanent draws goes on and replays its last permanent answer, because
silence would reveal that the value had changed; it always has a cap, by default the price of ten values. A lifetime cap
holds over all metrics. A metric with permanent draws counts towards it with its whole cap from its first report on, so
that whether another metric still reports does not reveal how often this one changed.

**Damage.** Any record that cannot be read may have been the debit of any metric. So each metric is silent until its
next period, and one that is asked once for good; each such record counts as a charge of each metric, too.

**The clock.** A period ends when the clock shows a day of a later one. So a clock that is behind opens nothing, and one
that was ahead has left future marks (of last reports, of damage, of disabled versions). When marks beyond tomorrow are
seen, they are set to today, so that metrics are open from their next period on. This is a correction, and these are its
rules:

- *At most one correction in any 30 days of the calendar*: none on a day within 30 days of an earlier correction,
  whether that day is past or, because the clock may have been ahead even then, still to come. (If future corrections
  were ignored, three readings, each ahead of the next, could open all metrics again and again; if a correction waited
  for them, the device would be silent until then.) The days of all corrections are kept. So a device whose clock was
  ahead once goes on with its next period, one that was corrected shortly before within 30 days, and a clock that is
  moved to and fro between two readings gains one report of each metric in 30 days.
- No correction on a day before this program was written: such a clock is behind, and proves nothing.
- A metric that is asked once stays answered, and what was spent stays spent.

Between two corrections a metric reports at most once in each period that the clock shows.
"""

from __future__ import annotations

import math

from dither_shared.light import NamedTuple
from dither_shared.metrics.period import first_day

from ..forks import importing
from ..state.journal_records import Charged, Corrected, Debit, Disabled, FirstUse, Hold, Permanent, is_ahead
from ..state.state import StateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Final

    from dither_shared.metrics.metric import Metric

Entry = Debit | Permanent | Charged | Hold | Disabled | Corrected | FirstUse
"""A record of the journal that the ledger applies."""

_NEVER = 0
"""A day before any on which a report may be drawn."""

_PROBATION = 30
"""Days for which a metric version stays silent after the collector has said that it is disabled."""

_BETWEEN_CORRECTIONS = 30
"""Minimum number of days between two corrections."""

_MOST = 10_000
"""Maximum number of metric versions and charged values together; a device has a few hundred."""

_DIGITS = 250
"""Digits of a permanent draw that count as one entry."""

_VALUES = 10
"""Number of values that a metric with permanent draws pays for if its definition sets no cap."""


class Account:
    """The spending of one metric version, ``charges`` times ``epsilon``, and its limit, ``claim``.

    ``day`` is that of the last report, ``tags`` are those of the values that were charged, ``last`` is the last
    permanent draw.
    """

    __slots__ = ("charges", "claim", "day", "epsilon", "last", "name", "reports", "tags", "version")

    def __init__(self, version: str) -> None:
        self.name, self.version = "", version
        self.day = self.reports = self.charges = 0
        self.epsilon = self.claim = 0.0
        self.tags: set[str] = set()
        self.last: Permanent | None = None

    def note(self, debit: Debit) -> None:
        """Apply a debit; what was spent only grows."""
        self.name, _, day, reports, charges, self.epsilon, self.claim = debit
        self.day = max(self.day, day)
        self.reports = max(self.reports, reports)
        self.charges = max(self.charges, charges)

    def charged(self, record: Charged | Permanent) -> int:
        """Apply the charge of a tag, and its draw; return by how many entries the account has grown."""
        tags, last = self.tags, self.last
        grown = -len(tags)
        tags.add(record.tag)
        grown += len(tags)
        self.charges = max(self.charges, len(tags))
        if type(record) is Permanent:
            grown += len(record.draw) // _DIGITS - (len(last.draw) // _DIGITS if last else 0)
            self.last = record
        return grown

    @property
    def spent(self) -> float:
        """``charges`` times ``epsilon``, rounded up."""
        return times(self.epsilon, self.charges)

    def draws(self) -> Iterator[Charged | Permanent]:
        """Yield the tags, sorted so that their order reveals nothing, and the last draw."""
        yield from (Charged(self.version, tag) for tag in sorted(self.tags))
        if self.last is not None:
            yield self.last

    def debit(self) -> Debit:
        """Return the debit that records the whole spending."""
        return Debit(self.name, self.version, self.day, self.reports, self.charges, self.epsilon, self.claim)


class Price(NamedTuple):
    """The price of a metric version, computed once, so that a decision about a report only compares integers."""

    charge: float
    cap: float
    most: float
    """Number of charges that the cap pays for: an exact integer, or infinity."""
    lasting: bool
    """Whether it has permanent draws."""

    @classmethod
    def of(cls, metric: Metric) -> Price:
        """Return the price of ``metric``; a compiled metric has it stored."""
        if (known := getattr(metric, "price", None)) is not None:
            return known  # type: ignore[no-any-return]
        from fractions import Fraction  # noqa: PLC0415 - compiled definitions have their price

        cap, charge = cap_of(metric), metric.charge
        most = math.inf if cap == math.inf or not charge else Fraction(cap) // Fraction(charge)
        return cls(charge, cap, most, metric.mechanism.memoised)


def cap_of(metric: Metric) -> float:
    """Return the most that this version of ``metric`` may ever cost one device."""
    if metric.cap is not None:
        return metric.cap
    values = min(_VALUES, metric.mechanism.permanent_draws or _VALUES)
    return times(metric.charge, values) if metric.mechanism.memoised else math.inf


def times(epsilon: float, charges: int) -> float:
    """Return ``charges`` times ``epsilon``, rounded up."""
    with importing():
        from dither_shared.privacy.composition import group  # noqa: PLC0415 - fractions take 5 ms to load

    return group(epsilon, charges) if charges else 0.0


class Ledger:
    """Accounts by metric version, and the last day on which each metric (of whatever version) reported."""

    KINDS: Final = frozenset({Debit, Permanent, Charged, Hold, Disabled, Corrected, FirstUse})

    def __init__(self, lifetime_cap: float = math.inf, metrics: Iterable[Metric] = ()) -> None:
        self._lifetime_cap = lifetime_cap
        self._accounts: dict[str, Account] = {}
        self._last: dict[str, int] = {}
        self._disabled: dict[str, int] = {}
        self._corrected: set[int] = set()
        self._draws = 0  # sum of the sizes of all accounts, kept because adding up 1,000 takes 100 us
        self.furthest = _NEVER
        """Upper bound on the days of all marks."""
        self._hold = Hold(_NEVER, 0)
        self.first_use = _NEVER
        """The day of first use, for metrics that depend on it; 0 if none is known."""
        # Of all metrics at once, because nothing can be imported any more at the interpreter's shutdown:
        self._prices = {metric.version: Price.of(metric) for metric in metrics}
        if lifetime_cap != math.inf:
            from dither_shared.privacy.composition import sequential  # noqa: PLC0415 - few apps set a cap

            self._sum = sequential

    @property
    def untouched(self) -> bool:
        """Whether the ledger has no debits, counting unreadable records as possible debits."""
        return not self._accounts and not self._hold.damaged

    def check_size(self) -> None:
        """Raise StateError if the ledger has more entries than any client writes: twice the bound of ``debit``."""
        if self._size() > 2 * _MOST:
            raise StateError("the journal holds more accounts than dither writes")

    def _size(self) -> int:
        """Return how many entries there are; a permanent draw that is long counts as several."""
        return self._draws + len(self._accounts) + len(self._last) + len(self._disabled) + len(self._corrected)

    def open_to(self, metric: Metric, today: int) -> bool:
        """Return whether ``metric`` may report: its period began after its last report, and a report can be paid for.

        A clock that is set back opens nothing, because the last day stays the latest. Unreadable records hold every
        metric until its next period (if it is asked once: for ever), because any of them may have been its debit.
        """
        if not self._begun(metric, today) or (self._disabled and self.disabled(metric, today)):
            return False
        return not (metric.after and self.too_new(metric, today)) and self._affords(metric)

    def exhausted(self, metric: Metric, today: int, *, unpaid: bool = False) -> bool:
        """Return whether only a cap keeps ``metric`` from reporting: its own, or the lifetime cap.

        ``unpaid``: its period was closed without a report of its own (``mark``).
        """
        return (unpaid or self._begun(metric, today)) and not self._affords(metric)

    def too_new(self, metric: Metric, today: int) -> bool:
        """Return whether the device has been in use for fewer days than ``after`` of the metric."""
        return metric.after > 0 and not (self.first_use and today - self.first_use >= metric.after)

    def reported_since(self, day: int) -> list[str]:
        """Return the names of the metrics, of whatever version, that have reported on that day or later."""
        return [name for name, last in list(self._last.items()) if last >= day]

    def disabled(self, metric: Metric, today: int) -> bool:
        """Return whether the collector has disabled this version of ``metric`` within the last 30 days."""
        day = self._disabled.get(metric.version)
        return day is not None and today <= day + _PROBATION

    def account(self, metric: Metric) -> Account | None:
        """Return the account of this version of ``metric``, or None if it never reported."""
        return self._accounts.get(metric.version)

    def pays(self, metric: Metric, tag: str) -> bool:
        """Return whether the value of ``tag`` has been charged already, or can be."""
        account = self._accounts.get(metric.version)
        if account is None or not account.charges or tag in account.tags:
            return True
        price = self._prices.get(metric.version) or self._price(metric)
        return account.charges + self._hold.damaged < price.most

    def debit(self, metric: Metric, today: int, drawn: Permanent | None = None) -> Debit:
        """Return the debit for one more report of ``metric``; it counts once applied.

        A metric without permanent draws pays for each report, one with them for each draw that is new: ``drawn``, or
        None if the report repeats the last one. Raises StateError if the ledger has no room for either.
        """
        version = metric.version
        account, price = self._accounts.get(version), self._prices.get(version) or self._price(metric)
        reports, charges, tags = (account.reports, account.charges, account.tags) if account else (0, 0, ())
        new = drawn is not None and drawn.tag not in tags
        if (new or not reports) and self._size() >= _MOST:
            raise StateError("the ledger is full")
        charge, cap, _, lasting = price
        charges += not lasting or new
        return tuple.__new__(
            Debit, (metric.name, version, today, reports + 1, charges, charge, cap if lasting else 0.0)
        )

    def mark(self, metric: Metric, today: int) -> Debit:
        """Return the debit that charges nothing more, and closes the period of ``today`` to a metric that has paid."""
        return self._accounts[metric.version].debit()._replace(day=today)

    def correction(self, today: int) -> Corrected | None:
        """Return the record that corrects marks of days beyond tomorrow, or None: there are none, or it must wait."""
        if not is_ahead(self.furthest, today):
            return None
        near = any(abs(today - day) < _BETWEEN_CORRECTIONS for day in self._corrected)
        return None if near else Corrected(today)

    def hold(self, today: int, damaged: int) -> Hold:
        """Return the record that holds every metric after ``damaged`` more unreadable records."""
        return Hold(max(today, self._hold.day, *self._last.values()), self._hold.damaged + damaged)

    def apply(self, record: Entry) -> None:
        """Apply a record of the journal; what was spent only grows.

        The order of the records decides which draw is the last one, and which marks a correction changes.
        """
        if isinstance(record, Debit):
            self._account(record.version).note(record)
            name, day = record.name, record.day
            if day > self._last.get(name, _NEVER):
                self._last[name] = day
            self.furthest = max(self.furthest, day)
        elif isinstance(record, (Permanent, Charged)):
            self._draws += self._account(record.version).charged(record)
        elif isinstance(record, Hold):
            self._hold = Hold(max(record.day, self._hold.day), max(record.damaged, self._hold.damaged))
            self.furthest = max(self.furthest, record.day)
        elif isinstance(record, Disabled):
            self._disabled[record.version] = max(record.day, self._disabled.get(record.version, _NEVER))
            self.furthest = max(self.furthest, record.day)
        elif isinstance(record, FirstUse):
            self.first_use = record.day
            self.furthest = max(self.furthest, self.first_use)
        else:
            self._correct(record.day)

    def _account(self, version: str) -> Account:
        account = self._accounts.get(version)
        if account is None:
            account = self._accounts[version] = Account(version)
        return account

    def _correct(self, today: int) -> None:
        """Set marks beyond tomorrow to today."""

        def right(day: int) -> int:
            return day if day <= today + 1 else today

        self._corrected.add(today)
        self._last = {name: right(day) for name, day in self._last.items()}
        self._disabled = {version: right(day) for version, day in self._disabled.items()}
        self._hold = Hold(right(self._hold.day), self._hold.damaged)
        self.first_use = right(self.first_use)
        for account in self._accounts.values():
            account.day = right(account.day)
        self.furthest = max([self._hold.day, self.first_use, *self._last.values(), *self._disabled.values()])

    def start_over(self) -> None:
        """Prepare to read the journal from its start: forget what it holds in full, but not what was spent."""
        self.forget_draws()
        self._hold = Hold(_NEVER, 0)

    def forget_draws(self) -> None:
        """Forget the tags and draws, which are keyed by the secret."""
        for account in self._accounts.values():
            account.tags.clear()
            account.last = None
        self._draws = 0

    def reports(self, metric: Metric) -> int:
        """Return the number of reports of this version of ``metric`` that were paid for."""
        account = self._accounts.get(metric.version)
        return account.reports if account else 0

    def spent(self, metric: Metric) -> float:
        """Return the epsilon that this version of ``metric`` has spent; an upper bound if records were damaged."""
        account = self._accounts.get(metric.version)
        charges = (account.charges if account else 0) + self._hold.damaged
        return times(metric.charge, charges)

    def accounts(self) -> list[Account]:
        """Return the account of every metric version that ever reported, in the order of their first reports."""
        return list(self._accounts.values())  # at once, because another thread may add an account at the same time

    def records(self) -> Iterator[Entry]:
        """Return the fewest records that give this ledger; a generator, which may be consumed later.

        Then they may include what was written since; reading that again after them changes nothing. Debits are written
        twice, so that no single unreadable line loses what was spent.
        """
        marks: list[Entry] = [self._hold] if self._hold.damaged else []
        marks += [FirstUse(self.first_use)] if self.first_use else []
        marks += [Disabled(version, day) for version, day in self._disabled.items()]
        return _entries(sorted(self._corrected), marks, self.accounts())

    def _begun(self, metric: Metric, today: int) -> bool:
        """Return whether a period has begun in which ``metric`` has not reported, as far as is known."""
        if metric.period == "once":
            return metric.version not in self._accounts and not self._hold.damaged
        return first_day(today, metric.period) > max(self._last.get(metric.name, _NEVER), self._hold.day)

    def _affords(self, metric: Metric) -> bool:
        """Return whether one more report can be paid for, or replayed, whatever its value."""
        version = metric.version
        account, price = self._accounts.get(version), self._prices.get(version) or self._price(metric)
        if not price.lasting:
            charges = (account.charges if account else 0) + self._hold.damaged
            return charges < price.most and self._admits(price.charge)
        return account is not None or self._admits(price.cap)  # its claim was admitted with its first report

    def _price(self, metric: Metric) -> Price:
        """Return the price of a metric that was not known from the start."""
        price = self._prices[metric.version] = Price.of(metric)
        return price

    def _admits(self, price: float) -> bool:
        if self._lifetime_cap == math.inf:
            return True
        claims = [max(account.claim, account.spent) for account in self.accounts()]
        return self._sum([*claims, price]) <= self._lifetime_cap


def _entries(corrected: Iterable[int], marks: Iterable[Entry], accounts: Iterable[Account]) -> Iterator[Entry]:
    yield from map(Corrected, corrected)  # before the marks, which are older or were made later
    for account in accounts:  # before the debits, so that no tag comes after a day
        yield from account.draws()
    for _ in range(2):
        yield from marks
        yield from (account.debit() for account in accounts if account.reports)
