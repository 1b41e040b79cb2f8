"""Overview: the status of a client and of each of its metrics, put together from its parts."""

import math
from collections.abc import Iterable
from contextlib import suppress
from datetime import date

from dither_shared.metrics.metric import Metric

from ..consent.permission import Permission
from ..consent.rules import Consent
from ..consent.stopped import Stopped
from ..diagnostics import Diagnostics
from ..reporting.journal import Journal
from ..reporting.ledger import Ledger, cap_of
from ..reporting.recorder import Recorder
from ..state.state import StateError
from ..upload.attempts import Attempts
from .explain import MANY, after, cost, odds, relayed
from .status_fields import MetricStatus, Status


def overview(
    metrics: Iterable[Metric],
    consent: Consent,
    permission: Permission,
    journal: Journal,
    recorder: Recorder,
    diagnostics: Diagnostics,
    attempts: Attempts,
    stopped: Stopped,
    today: date,
) -> Status:
    """Return the status of a client, from its parts."""
    outbox, day = journal.outbox, today.toordinal()
    unasked = _unasked(metrics := list(metrics), journal, recorder, day)

    def of(metric: Metric) -> MetricStatus:
        standing, since = permission.standing(consent, metric), permission.since(consent, metric)
        return _metric_status(metric, journal.ledger, day, standing, since, asked=metric.name not in unasked)

    return Status(
        mode=consent.mode,
        decided_by=consent.decided_by,
        metrics=tuple(map(of, metrics)),
        relayed=relayed(metrics, attempts.endpoint),
        queued=len(outbox.waiting()),
        shown=len(outbox.waiting(local=True)),
        sent=outbox.sent,
        dropped=outbox.dropped,
        last_attempt=attempts.last(),
        failed_attempts=attempts.failures(),
        held_up=attempts.held_up(),
        ignored=recorder.ignored,
        unasked=recorder.unasked,
        withheld=recorder.withheld,
        outside=recorder.outside,
        mistakes=recorder.mistakes,
        unlisted=dict(recorder.strata.unlisted),
        unrecorded=stopped.unrecorded,
        trouble=dict(diagnostics.counts),
    )


def _unasked(metrics: Iterable[Metric], journal: Journal, recorder: Recorder, today: int) -> set[str]:
    """Return the metrics that their survey does not ask in this period; none if that cannot be known."""
    with suppress(StateError, OSError):
        if journal.state.exists() and journal.state.has_secret():
            with journal.transaction():
                keys = journal.keys()
            return {metric.name for metric in metrics if not recorder.asks(metric, keys, today)}
    return set()


def _hindrance(metric: Metric, ledger: Ledger, today: int, *, asked: bool) -> str:
    """Return in a word why an accepted metric is not collected; "" if it is."""
    if ledger.disabled(metric, today):
        return "disabled"
    if ledger.exhausted(metric, today):
        return "spent"
    if ledger.too_new(metric, today):
        return "too new"
    return "" if asked else "not asked this period"


def _metric_status(
    metric: Metric, ledger: Ledger, today: int, state: str, since: date | None, *, asked: bool
) -> MetricStatus:
    mechanism = metric.mechanism
    if state == "collected":
        state = _hindrance(metric, ledger, today, asked=asked) or state
    return MetricStatus(
        name=metric.name,
        version=metric.version,
        description=metric.description,
        why=metric.why,
        owner=metric.owner,
        tier=metric.tier,
        expires=metric.expires,
        state=state,
        since=since,
        period=metric.period,
        one_of=() if metric.survey is None else metric.survey.metrics,
        in_the_clear="" if metric.strata is None else metric.strata.words,
        sealed_for="" if metric.seal is None else metric.seal.fingerprint,
        epsilon=mechanism.epsilon,
        epsilon_after={reports: after(metric, reports) for reports in MANY},
        permanent_epsilon=mechanism.permanent_epsilon,
        cap=None if cap_of(metric) == math.inf else cap_of(metric),
        cost=cost(metric),
        spent=ledger.spent(metric),
        reports=ledger.reports(metric),
        reported=not ledger.open_to(metric, today),
        odds=odds(metric),
    )
