"""The ledger: what the device has spent, and whether a metric may report today.

A mechanism without permanent draws is charged its epsilon for each report. One with permanent draws is charged its
``forever_epsilon`` once for each new value, and nothing for reports that replay a value already paid for.

A debit is in the journal before its report is drawn, so a report that exists is always paid for. If anything fails in
between, the spend stays: the ledger may overstate, never understate.

**Caps.** A metric version costs a device no more than its ``cap``. Without permanent draws it then falls silent, which
tells only how often it was asked. With them it goes on and replays its last permanent answer, for silence would tell
that the value had changed; such a metric always has a cap, ten values if its definition says nothing. A lifetime cap
holds over all metrics. To it a metric with permanent draws counts from its first report with all that it may ever
cost, so that whether another metric still reports does not tell how often this one changed.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import repeat

from dither_shared.metric import Metric
from dither_shared.privacy import sequential

from .records import Debit, Disabled, Hold, Record

__all__ = ["NO_DIGEST", "Ledger", "cap_of"]

NO_DIGEST = "-"
_VALUES = 10
"""New values that a metric with permanent draws pays for, if its definition sets no cap."""

_PROBATION = 30
"""Days for which a metric version stays silent after the collector has said that it is disabled."""


@dataclass(slots=True)
class _Account:
    """What one metric version has spent, ``charges`` times ``epsilon``, and what it may: ``claim``."""

    name: str
    day: int
    reports: int = 0
    charges: int = 0
    epsilon: float = 0.0
    claim: float = 0.0
    last: str = NO_DIGEST
    digests: dict[str, None] = field(default_factory=dict)


class Ledger:
    """Accounts by metric version, and the last day on which each metric (of whatever version) reported."""

    def __init__(self, lifetime_cap: float = math.inf) -> None:
        self._lifetime_cap = lifetime_cap
        self._accounts: dict[str, _Account] = {}
        self._last: dict[str, int] = {}
        self._disabled: dict[str, int] = {}
        self._hold = Hold(0, 0)

    @property
    def untouched(self) -> bool:
        """Whether nothing was ever debited, as far as is known."""
        return not self._accounts and not self._hold.damaged

    def open_to(self, metric: Metric, today: int) -> bool:
        """Return whether ``metric`` may report: its period began after its last report, and a report can be paid for.

        A clock that is set back opens nothing, for the last day stays the latest. Unreadable records hold every metric
        until its next period (one that is asked once: for good), for any of them may have been its debit.
        """
        if metric.period == "once":
            begun = metric.version not in self._accounts and not self._hold.damaged
        else:
            start = today if metric.period == "day" else today - (today - 1) % 7  # ordinal 1 was a Monday
            begun = start > max(self._last.get(metric.name, 0), self._hold.day)
        return begun and not self.disabled(metric, today) and self._affords(metric)

    def disabled(self, metric: Metric, today: int) -> bool:
        """Return whether the collector wants no reports of this version of ``metric`` for now."""
        day = self._disabled.get(metric.version)
        return day is not None and today <= day + _PROBATION

    def known(self, metric: Metric, tag: str) -> str | None:
        """Return the digest that begins with ``tag``, if its value has been paid for."""
        account = self._accounts.get(metric.version)
        return next((digest for digest in account.digests if digest.startswith(tag)), None) if account else None

    def debit(self, metric: Metric, today: int, digest: str = NO_DIGEST) -> Debit:
        """Return the debit for one more report of ``metric``; it counts once it is applied.

        Its digest is another than ``digest`` where the budget is used up, and the last answer is to be replayed.
        """
        account = self._accounts.get(metric.version) or _Account(metric.name, today)
        charge = digest == NO_DIGEST or digest not in account.digests
        lasting = digest != NO_DIGEST
        if charge and lasting and account.charges and not self._pays(metric, account):
            charge, digest = False, account.last
        return Debit(
            metric.name,
            metric.version,
            today,
            account.reports + 1,
            account.charges + charge,
            metric.charge,
            cap_of(metric) if lasting else 0.0,
            digest,
        )

    def hold(self, today: int, damaged: int) -> Hold:
        """Return the record that holds every metric because of ``damaged`` more unreadable records."""
        return Hold(max(today, self._hold.day, *self._last.values()), self._hold.damaged + damaged)

    def apply(self, record: Debit | Hold | Disabled) -> None:
        """Take note of a record of the journal; numbers only grow, so the order hardly matters.

        Only which answer was the last follows from the order, among records of the same number of reports.
        """
        if isinstance(record, Hold):
            self._hold = Hold(max(record.day, self._hold.day), max(record.damaged, self._hold.damaged))
            return
        if isinstance(record, Disabled):
            self._disabled[record.version] = max(record.day, self._disabled.get(record.version, 0))
            return
        account = self._accounts.setdefault(record.version, _Account(record.name, record.day))
        if record.reports >= account.reports:
            account.last = record.digest
        account.day = max(account.day, record.day)
        account.reports = max(account.reports, record.reports)
        account.charges = max(account.charges, record.charges)
        account.epsilon, account.claim = record.epsilon, record.claim
        account.digests[record.digest] = None
        self._last[record.name] = max(record.day, self._last.get(record.name, 0))

    def reports(self, metric: Metric) -> int:
        """Return how many reports of this version of ``metric`` were ever paid for."""
        account = self._accounts.get(metric.version)
        return account.reports if account else 0

    def spent(self, metric: Metric) -> float:
        """Return the epsilon that this version of ``metric`` has spent; an upper bound if records were damaged."""
        account = self._accounts.get(metric.version)
        charges = (account.charges if account else 0) + self._hold.damaged
        return sequential(repeat(metric.charge, charges))

    def records(self) -> Iterable[Record]:
        """Yield the fewest records from which this ledger follows."""
        if self._hold.damaged:
            yield self._hold
        for version, day in self._disabled.items():
            yield Disabled(version, day)
        for version, one in self._accounts.items():
            for digest in (*sorted(one.digests.keys() - {one.last}), one.last):
                yield Debit(one.name, version, one.day, one.reports, one.charges, one.epsilon, one.claim, digest)

    def _affords(self, metric: Metric) -> bool:
        """Return whether one more report, of whatever value, can be paid for or replayed."""
        account = self._accounts.get(metric.version)
        lasting = metric.mechanism.forever_ratio is not None
        if lasting and account:
            return True  # its claim was admitted with its first report
        price = cap_of(metric) if lasting else metric.charge
        return (lasting or self._pays(metric, account)) and self._admits(price)

    def _pays(self, metric: Metric, account: _Account | None) -> bool:
        charges = (account.charges if account else 0) + self._hold.damaged + 1
        cap = cap_of(metric)
        return cap == math.inf or Fraction(metric.charge) * charges <= Fraction(cap)

    def _admits(self, price: float) -> bool:
        if self._lifetime_cap == math.inf:
            return True
        claims = (max(one.claim, sequential(repeat(one.epsilon, one.charges))) for one in self._accounts.values())
        return sequential([*claims, price]) <= self._lifetime_cap


def cap_of(metric: Metric) -> float:
    """Return the most that this version of ``metric`` may ever cost one device."""
    if metric.cap is not None:
        return metric.cap
    return math.inf if metric.mechanism.forever_ratio is None else _VALUES * metric.charge
