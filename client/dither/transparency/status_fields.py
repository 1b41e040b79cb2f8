"""Status: what a user may want to know about the client on this device.

It is loaded with the client, because ``status`` must return one even when nothing can be imported any more, at the
interpreter's shutdown. What fills it (status.py) is loaded when needed.
"""

from __future__ import annotations

from dither_shared.light import MappingProxyType, NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from ..consent.rules import Mode
    from ..upload.attempts import Attempt

_NONE: Mapping[str, int] = MappingProxyType({})


class MetricStatus(NamedTuple):
    """One metric: what it costs, what was spent on it, and what a report reveals."""

    name: str
    version: str
    description: str
    why: str
    owner: str
    tier: str | None
    expires: date | None
    state: str
    """"collected", "not asked this period" (its survey asks this device another question), "off", "expired", "disabled"
    (by the collector, for a month), "spent" (its cap, or that of all metrics together, is reached, so that nothing more
    is collected), "too new" (the device has been in use for fewer days than ``after``), or "not accepted": it is new or
    has changed since the user was asked."""
    since: date | None
    """The day on which the user accepted it; None if the user did not, or if somebody else decides."""
    period: str
    one_of: tuple[str, ...]
    """The metrics of its survey, of which one is asked in each period; empty if it is asked in every period."""
    in_the_clear: str
    """Its strata in words, which are sent with a report as they are, not changed at random; "" if it has none."""
    sealed_for: str
    """The fingerprint of the collector's key for which reports are sealed; "" if they are not sealed."""
    epsilon: float
    """The privacy loss of one report."""
    epsilon_after: dict[int, float]
    """The privacy loss of 10 and of 100 reports of one value together."""
    permanent_epsilon: float | None
    """The privacy loss of all reports of one value together; None if it grows with each report."""
    cap: float | None
    """The largest privacy loss that it may ever cost this device."""
    cost: str
    """What it costs, in words."""
    spent: float
    """What this version has cost so far; an upper bound if part of the ledger could not be read."""
    reports: int
    """How many reports of this version were ever drawn on this device."""
    reported: bool
    """Whether the report of this period is already drawn (or must not be drawn)."""
    odds: str
    """What one report reveals about its sender, in words."""


class Status(NamedTuple):
    """The client on this device. Sent and dropped reports are counted for ever, the rest by this process."""

    mode: Mode
    decided_by: str
    metrics: tuple[MetricStatus, ...] = ()
    relayed: str = ""
    """In words, through which relay sealed reports go and who sees what; "" if reports are not sealed."""
    queued: int = 0
    """Reports that wait to be sent."""
    shown: int = 0
    """Reports made in the mode local, which only the user sees."""
    sent: int = 0
    dropped: int = 0
    """Reports that no collector can use (see schedule.py), that were too old or gave way to newer ones, whose day is in
    the future, or from before the app began or ceased to seal (``trouble`` names the last two kinds)."""
    last_attempt: Attempt | None = None
    """The last attempt to upload a report, by any program of this app on this device."""
    failed_attempts: int = 0
    """The number of failed attempts since the last success."""
    held_up: str = ""
    """The process that has kept all others from sending for minutes, because it is stopped or stuck; "" if none has."""
    ignored: int = 0
    """Answers that came after the first of their period."""
    unasked: int = 0
    """Answers to metrics that were not asked in their period, because their survey asked this device another one."""
    withheld: int = 0
    """Answers to metrics that the user has not accepted, or that have expired."""
    outside: int = 0
    """Answers outside their metric's domain, reported under its catch-all label or as the end of its range."""
    mistakes: int = 0
    """Calls with an object that cannot be an answer, such as None: a mistake of the app's developer. It is reported
    like any other answer: under the catch-all label or, for a number, as the least."""
    unlisted: Mapping[str, int] = _NONE
    """Reports in the stratum "other", because an attribute was not given or its value is not listed: by the attribute,
    such as "metrics.theme.strata.platform". A high count suggests that the app and the list use different names."""
    unrecorded: int = 0
    """Answers that were lost, because this client had been disabled or closed, or had deleted its state."""
    trouble: Mapping[str, int] = _NONE
    """What went wrong, in words, and how often."""
