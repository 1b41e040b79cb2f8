"""Status: sum up the client on this device for its user."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date

from dither_shared.metric import Metric

from .account import cap_of
from .attempts import Attempt, Attempts
from .consent import Consent, Mode
from .explain import MANY, after, cost, odds
from .journal import Journal
from .ledger import Ledger
from .permission import Permission
from .recorder import Recorder
from .silence import Silence
from .trouble import Trouble

__all__ = ["MetricStatus", "Status", "overview"]


@dataclass(frozen=True, kw_only=True)
class MetricStatus:
    """One question: what it costs, what was spent on it, and what a report tells."""

    name: str
    version: str
    description: str
    why: str
    owner: str
    tier: str | None
    expires: date | None
    state: str
    """"collected", "off", "expired", "disabled" (by the collector, for a month), or "not accepted": it is new or has
    changed since the user was asked."""
    since: date | None
    """The day on which the user accepted it; None if the user has not, or somebody else decides."""
    period: str
    epsilon: float
    """The privacy loss of one report."""
    epsilon_after: dict[int, float]
    """The privacy loss of 10 and of 100 reports of one value together."""
    forever_epsilon: float | None
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
    """What one report tells of its sender, in words."""


@dataclass(frozen=True, kw_only=True)
class Status:
    """The client on this device. Reports that are sent or dropped are counted for ever, the rest by this process."""

    mode: Mode
    decided_by: str
    metrics: tuple[MetricStatus, ...] = ()
    queued: int = 0
    """Reports that wait to be sent."""
    shown: int = 0
    """Reports made in the mode local, for the user's eyes only."""
    sent: int = 0
    dropped: int = 0
    """Reports that no collector can use (see retry.py), that were too old, gave way to newer ones, or whose day is
    still to come (``trouble``)."""
    last_attempt: Attempt | None = None
    """The last try to upload a report, by any program of this app on this device: when, where, and what came of it."""
    failed_attempts: int = 0
    """How many tries failed since the last that succeeded."""
    ignored: int = 0
    """Answers that came after the first of their period."""
    withheld: int = 0
    """Answers to metrics that the user has not accepted, or whose last day is over."""
    outside: int = 0
    """Answers outside their metric's domain, reported under its catch-all label."""
    mistakes: int = 0
    """Calls with an object that is no answer to their metric, such as None: a mistake of the app's developer. It is
    reported under the catch-all label like any other answer."""
    unrecorded: int = 0
    """Answers that went nowhere, for this client was disabled, closed or made to forget when they were given."""
    trouble: dict[str, int] = field(default_factory=dict)
    """What went wrong, in words, and how often."""


def overview(
    metrics: Iterable[Metric],
    consent: Consent,
    permission: Permission,
    journal: Journal,
    recorder: Recorder,
    trouble: Trouble,
    attempts: Attempts,
    silence: Silence,
    today: date,
) -> Status:
    """Return the status of a client, from its parts."""
    ledger, outbox = journal.ledger, journal.outbox
    return Status(
        mode=consent.mode,
        decided_by=consent.decided_by,
        metrics=tuple(
            _metric_status(
                metric,
                ledger,
                today.toordinal(),
                permission.standing(consent, metric),
                permission.since(consent, metric),
            )
            for metric in metrics
        ),
        queued=len(outbox.waiting()),
        shown=len(outbox.waiting(local=True)),
        sent=outbox.sent,
        dropped=outbox.dropped,
        last_attempt=attempts.last(),
        failed_attempts=attempts.failures(),
        ignored=recorder.ignored,
        withheld=recorder.withheld,
        outside=recorder.outside,
        mistakes=recorder.mistakes,
        unrecorded=silence.unrecorded,
        trouble=dict(trouble.counts),
    )


def _metric_status(metric: Metric, ledger: Ledger, today: int, state: str, since: date | None) -> MetricStatus:
    mechanism = metric.mechanism
    return MetricStatus(
        name=metric.name,
        version=metric.version,
        description=metric.description,
        why=metric.why,
        owner=metric.owner,
        tier=metric.tier,
        expires=metric.expires,
        state="disabled" if state == "collected" and ledger.disabled(metric, today) else state,
        since=since,
        period=metric.period,
        epsilon=mechanism.epsilon,
        epsilon_after={reports: after(metric, reports) for reports in MANY},
        forever_epsilon=mechanism.forever_epsilon,
        cap=None if cap_of(metric) == math.inf else cap_of(metric),
        cost=cost(metric),
        spent=ledger.spent(metric),
        reports=ledger.reports(metric),
        reported=not ledger.open_to(metric, today),
        odds=odds(metric),
    )
