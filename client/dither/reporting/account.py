"""Accounts: what one metric version has spent on this device, and what it costs."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from dither_shared.metrics.metric import Metric
from dither_shared.privacy.composition import group

from ..state.journal_records import Charged, Debit, Permanent

_VALUES = 10
"""Values that a metric with permanent draws pays for if its definition sets no cap."""


@dataclass(slots=True)
class Account:
    """What one metric version has spent, ``charges`` times ``epsilon``, and what it may: ``claim``."""

    name: str = ""
    day: int = 0
    reports: int = 0
    charges: int = 0
    epsilon: float = 0.0
    claim: float = 0.0
    tags: set[str] = field(default_factory=set)
    """Tags of the values that were charged."""
    last: Permanent | None = None

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
    def spent(self) -> float:
        """``charges`` times ``epsilon``, rounded up."""
        return group(self.epsilon, self.charges) if self.charges else 0.0

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
    def of(cls, metric: Metric) -> "Price":
        """Return the price of ``metric``."""
        cap, charge = cap_of(metric), metric.charge
        most = math.inf if cap == math.inf or not charge else Fraction(cap) // Fraction(charge)
        return cls(charge, cap, most, metric.mechanism.memoised)


def cap_of(metric: Metric) -> float:
    """Return the most that this version of ``metric`` may ever cost one device."""
    if metric.cap is not None:
        return metric.cap
    values = min(_VALUES, metric.mechanism.permanent_draws or _VALUES)
    return group(metric.charge, values) if metric.mechanism.memoised else math.inf
