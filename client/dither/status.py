"""Status: what a user may want to know of the client on this device."""

from dataclasses import dataclass, field

from dither_shared.metric import Metric
from dither_shared.privacy import odds_sentence

from .consent import Consent, Mode
from .ledger import Ledger

__all__ = ["MetricStatus", "Status", "metric_status"]


@dataclass(frozen=True, kw_only=True)
class MetricStatus:
    """One question: what it costs, what was spent on it, and what a report tells."""

    name: str
    version: str
    description: str
    period: str
    epsilon: float
    """The privacy loss of one report."""
    forever_epsilon: float | None
    """The privacy loss of all reports of one value together, or None if it grows with each."""
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
    """Reports that the collector refused, or that gave way to newer ones."""
    ignored: int = 0
    """Answers that came after the first of their period."""
    outside: int = 0
    """Answers outside their metric's domain, reported under its catch-all label."""
    trouble: dict[str, int] = field(default_factory=dict)
    """What went wrong, in words, and how often."""

    @classmethod
    def disabled(cls, consent: Consent, trouble: dict[str, int]) -> "Status":
        """Return the status of a client that has no metrics, or none that it could read."""
        return cls(mode=consent.mode, decided_by=consent.decided_by, trouble=trouble)


def metric_status(metric: Metric, ledger: Ledger, today: int) -> MetricStatus:
    """Return the status of one metric."""
    mechanism = metric.mechanism
    return MetricStatus(
        name=metric.name,
        version=metric.version,
        description=metric.description,
        period=metric.period,
        epsilon=mechanism.epsilon,
        forever_epsilon=mechanism.forever_epsilon,
        spent=ledger.spent(metric),
        reports=ledger.reports(metric),
        reported=not ledger.open_to(metric, today),
        odds=odds_sentence(mechanism, _two_labels(metric)),
    )


def _two_labels(metric: Metric) -> tuple[str, str] | None:
    """Return the answers by name, where "yes" and "no" would not be what the metric asks for."""
    if metric.kind != "choice" or metric.domain is None or len(metric.domain) != 2:
        return None
    return metric.domain.labels[0], metric.domain.labels[1]
