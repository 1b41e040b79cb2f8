"""The ledger: what the device has spent, and whether a metric may report today.

A mechanism without permanent draws is charged its epsilon for each report. One with permanent draws is charged its
``forever_epsilon`` once for each new value, and nothing for reports that replay a value already paid for.

A debit is in the journal before its report is drawn, so a report that exists is always paid for. If anything fails in
between, the spend stays: the ledger may overstate, never understate.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import repeat

from dither_shared.metric import Metric
from dither_shared.privacy import sequential

from .records import Debit, Hold, Record

__all__ = ["Ledger"]

NO_DIGEST = "-"


@dataclass(slots=True)
class _Account:
    """What one metric version has spent: ``charges`` times ``epsilon``."""

    name: str
    day: int
    reports: int = 0
    charges: int = 0
    epsilon: float = 0.0
    digests: set[str] = field(default_factory=set)


class Ledger:
    """Accounts by metric version, and the last day on which each metric (of whatever version) reported."""

    def __init__(self) -> None:
        self._accounts: dict[str, _Account] = {}
        self._last: dict[str, int] = {}
        self._hold = Hold(0, 0)

    @property
    def untouched(self) -> bool:
        """Whether nothing was ever debited, as far as is known."""
        return not self._accounts and not self._hold.damaged

    def open_to(self, metric: Metric, today: int) -> bool:
        """Return whether ``metric`` may report: its period began after its last report.

        A clock that is set back opens nothing, for the last day stays the latest. Unreadable records hold every metric
        until its next period (one that is asked once: for good), for any of them may have been its debit.
        """
        if metric.period == "once":
            return metric.version not in self._accounts and not self._hold.damaged
        start = today if metric.period == "day" else today - (today - 1) % 7  # ordinal 1 was a Monday
        return start > max(self._last.get(metric.name, 0), self._hold.day)

    def debit(self, metric: Metric, today: int, digest: str = NO_DIGEST) -> Debit:
        """Return the debit for one more report of ``metric``; it counts once it is applied."""
        account = self._accounts.get(metric.version) or _Account(metric.name, today)
        replay = digest != NO_DIGEST and digest in account.digests
        return Debit(
            metric.name,
            metric.version,
            today,
            account.reports + 1,
            account.charges + (not replay),
            _price(metric),
            digest,
        )

    def hold(self, today: int, damaged: int) -> Hold:
        """Return the record that holds every metric because of ``damaged`` more unreadable records."""
        return Hold(max(today, self._hold.day, *self._last.values()), self._hold.damaged + damaged)

    def apply(self, record: Debit | Hold) -> None:
        """Take note of a record of the journal; numbers only grow, so the order does not matter."""
        if isinstance(record, Hold):
            self._hold = Hold(max(record.day, self._hold.day), max(record.damaged, self._hold.damaged))
            return
        account = self._accounts.setdefault(record.version, _Account(record.name, record.day))
        account.day = max(account.day, record.day)
        account.reports = max(account.reports, record.reports)
        account.charges = max(account.charges, record.charges)
        account.epsilon = record.epsilon
        account.digests.add(record.digest)
        self._last[record.name] = max(record.day, self._last.get(record.name, 0))

    def reports(self, metric: Metric) -> int:
        """Return how many reports of this version of ``metric`` were ever paid for."""
        account = self._accounts.get(metric.version)
        return account.reports if account else 0

    def spent(self, metric: Metric) -> float:
        """Return the epsilon that this version of ``metric`` has spent; an upper bound if records were damaged."""
        account = self._accounts.get(metric.version)
        charges = (account.charges if account else 0) + self._hold.damaged
        return sequential(repeat(_price(metric), charges))

    def records(self) -> Iterable[Record]:
        """Yield the fewest records from which this ledger follows."""
        if self._hold.damaged:
            yield self._hold
        for version, account in self._accounts.items():
            for digest in sorted(account.digests):
                yield Debit(
                    account.name, version, account.day, account.reports, account.charges, account.epsilon, digest
                )


def _price(metric: Metric) -> float:
    """Return what one charge of ``metric`` costs."""
    forever = metric.mechanism.forever_epsilon
    return metric.mechanism.epsilon if forever is None else forever
