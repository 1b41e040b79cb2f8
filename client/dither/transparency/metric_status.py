"""Metric status: what a user may want to know of one question."""

from dataclasses import dataclass
from datetime import date

__all__ = ["MetricStatus"]


@dataclass(frozen=True, kw_only=True)
class MetricStatus:
    """One question: what it costs, what was spent on it, and what a report reveals."""

    name: str
    version: str
    description: str
    why: str
    owner: str
    tier: str | None
    expires: date | None
    state: str
    """"collected", "not asked this period" (its survey asks this device another question), "off", "expired", "disabled"
    (by the collector, for a month), "spent" (its cap, or that of all metrics together, is reached, and nothing more is
    collected of it), or "not accepted": it is new or has changed since the user was asked."""
    since: date | None
    """The day on which the user accepted it; None if the user has not, or somebody else decides."""
    period: str
    one_of: tuple[str, ...]
    """The metrics of its survey, of which one is asked in each period; none if it is asked in all."""
    in_the_clear: str
    """What is sent beside a report as it is, not changed at random: its strata, in words; "" if nothing is."""
    sealed_for: str
    """The fingerprint of the collector's key that reports are sealed for, to go through a relay; "" if they are not."""
    epsilon: float
    """The privacy loss of one report."""
    epsilon_after: dict[int, float]
    """The privacy loss of 10 and of 100 reports of one value together."""
    permanent_epsilon: float | None
    """The privacy loss of all reports of one value together, or None if it grows with each."""
    cap: float | None
    """The most that it may ever cost this device."""
    cost: str
    """What it costs, in words."""
    spent: float
    """What this version has cost so far; an upper bound if part of the ledger could not be read."""
    reports: int
    """How many reports of this version were ever drawn on this device."""
    reported: bool
    """Whether this period's report is drawn already (or must not be drawn)."""
    odds: str
    """What one report reveals of its sender, in words."""
