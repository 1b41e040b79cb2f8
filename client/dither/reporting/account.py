"""Accounts: what one metric version has spent on this device, and what it costs."""

from __future__ import annotations

import math

from dither_shared.light import NamedTuple

from ..forks import importing
from ..state.journal_records import Charged, Debit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dither_shared.metrics.metric import Metric

    from ..state.journal_records import Permanent

_VALUES = 10
"""Values that a metric with permanent draws pays for if its definition sets no cap."""


class Account:
    """What one metric version has spent, ``charges`` times ``epsilon``, and what it may: ``claim``.

    ``tags`` are those of the values that were charged, ``last`` is the last permanent draw.
    """

    __slots__ = ("charges", "claim", "day", "epsilon", "last", "name", "reports", "tags")

    def __init__(self) -> None:
        self.name = ""
        self.day = self.reports = self.charges = 0
        self.epsilon = self.claim = 0.0
        self.tags: set[str] = set()
        self.last: Permanent | None = None

    def note(self, debit: Debit) -> None:
        """Apply a debit; what was spent only grows."""
        name, _, day, reports, charges, self.epsilon, self.claim = debit
        self.name = name
        self.day = max(self.day, day)
        self.reports = max(self.reports, reports)
        self.charges = max(self.charges, charges)

    def charged(self, tag: str) -> None:
        """Apply the charge of a tag."""
        self.tags.add(tag)
        self.charges = max(self.charges, len(self.tags))

    @property
    def size(self) -> int:
        """Number of tags, and one more for each 250 digits of the last permanent draw."""
        return len(self.tags) + (len(self.last.draw) // 250 if self.last else 0)

    @property
    def spent(self) -> float:
        """``charges`` times ``epsilon``, rounded up."""
        return times(self.epsilon, self.charges)

    def draws(self, version: str) -> Iterator[Charged | Permanent]:
        """Yield the tags, sorted so that their order reveals nothing, and the last draw."""
        yield from (Charged(version, tag) for tag in sorted(self.tags))
        if self.last is not None:
            yield self.last

    def debit(self, version: str) -> Debit:
        """Return the debit that holds all that was spent."""
        return Debit(self.name, version, self.day, self.reports, self.charges, self.epsilon, self.claim)


class Spent(NamedTuple):
    """What one metric version has cost this device, and the day of its last report."""

    name: str
    version: str
    reports: int
    spent: float
    day: int


class Price(NamedTuple):
    """What a metric version costs; computed once, so that a decision on a report only compares integers."""

    charge: float
    cap: float
    most: float
    """Number of charges that the cap pays for: an exact integer, or infinity."""
    lasting: bool
    """Whether it has permanent draws."""

    @classmethod
    def of(cls, metric: Metric) -> Price:
        """Return the price of ``metric``, which a compiled one has."""
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
