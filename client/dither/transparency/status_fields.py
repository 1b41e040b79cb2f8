"""Status: what a user may want to know of the client on this device.

It is loaded with the client, for ``status`` is to return one even when nothing can be imported any more, at the
interpreter's shutdown. What fills it (status.py) is loaded when it is asked for.
"""

from dataclasses import dataclass, field
from datetime import date

from ..consent.rules import Mode
from ..upload.attempts import Attempt


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


@dataclass(frozen=True, kw_only=True)
class Status:
    """The client on this device. Reports that are sent or dropped are counted for ever, the rest by this process."""

    mode: Mode
    decided_by: str
    metrics: tuple[MetricStatus, ...] = ()
    relayed: str = ""
    """Through which relay sealed reports go, and who sees what, in words; "" if reports are not sealed."""
    queued: int = 0
    """Reports that wait to be sent."""
    shown: int = 0
    """Reports made in the mode local, for the user's eyes only."""
    sent: int = 0
    dropped: int = 0
    """Reports that no collector can use (see retry.py), that were too old, gave way to newer ones, or whose day is
    still to come, or that are from before the app began or ceased to seal (``trouble`` has these two)."""
    last_attempt: Attempt | None = None
    """The last try to upload a report, by any program of this app on this device: when, where, and what came of it."""
    failed_attempts: int = 0
    """How many tries failed since the last that succeeded."""
    held_up: str = ""
    """Which process has kept all others from sending for minutes, for it is stopped or stuck; "" if none does."""
    ignored: int = 0
    """Answers that came after the first of their period."""
    unasked: int = 0
    """Answers to questions that were not asked in their period: their survey asked this device another one."""
    withheld: int = 0
    """Answers to metrics that the user has not accepted, or whose last day is over."""
    outside: int = 0
    """Answers outside their metric's domain, reported under its catch-all label, or as the end of its range."""
    mistakes: int = 0
    """Calls with an object that is no answer to their metric, such as None: a mistake of the app's developer. It is
    reported like any other answer: under the catch-all label or, where a number is asked for, as the least."""
    unlisted: dict[str, int] = field(default_factory=dict)
    """Reports that went to the stratum "other", for an attribute was not given, or not with a listed value: by its
    place, such as "metrics.theme.strata.platform". Many say that the app gives it by another name than is listed."""
    unrecorded: int = 0
    """Answers that went nowhere, for this client was disabled, closed or made to forget when they were given."""
    trouble: dict[str, int] = field(default_factory=dict)
    """What went wrong, in words, and how often."""
