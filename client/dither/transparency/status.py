"""Overview: the status of a client and of each of its metrics, put together from its parts."""

import math
from collections.abc import Iterable, Sequence
from datetime import date

from dither_shared.languages import ENGLISH, Language
from dither_shared.light import suppress
from dither_shared.metrics.metric import Metric

from ..consent.permission import Permission
from ..consent.rules import Consent, Stopped
from ..diagnostics import Diagnostics
from ..reporting.events import PRIVATE
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
    say: Language = ENGLISH,
) -> Status:
    """Return the status of a client, from its parts."""
    outbox, day, listed = journal.outbox, today.toordinal(), list(metrics)
    hindrances = _hindrances(listed, journal, recorder, day)
    return Status(
        mode=consent.mode,
        decided_by=consent.decided_by,
        metrics=tuple(
            _metric_status(metric, consent, permission, journal.ledger, day, say, hindrances[metric.name])
            for metric in listed
        ),
        relayed=relayed(listed, attempts.endpoint, say),
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


def _opened(journal: Journal) -> str:
    """Return the events of the current periods, among them the version of each metric whose report is paid for."""
    with suppress(StateError, OSError):
        return journal.state.recall("events").decode("ascii", "replace")
    return ""


def _hindrances(metrics: Sequence[Metric], journal: Journal, recorder: Recorder, today: int) -> dict[str, str]:
    """Return for each metric, by name, why it is not collected even if it is accepted; "" if it is collected."""
    unasked, opened = _unasked(metrics, journal, recorder, today), _opened(journal)
    return {
        metric.name: _hindrance(
            metric,
            journal.ledger,
            today,
            asked=metric.name not in unasked,
            unpaid=metric.of in PRIVATE and metric.version not in opened,
        )
        for metric in metrics
    }


def _hindrance(metric: Metric, ledger: Ledger, today: int, *, asked: bool, unpaid: bool) -> str:
    if ledger.disabled(metric, today):
        return "disabled"
    if ledger.exhausted(metric, today, unpaid=unpaid):
        return "spent"
    if ledger.too_new(metric, today):
        return "too new"
    return "" if asked else "not asked this period"


def _metric_status(
    metric: Metric, consent: Consent, permission: Permission, ledger: Ledger, today: int, say: Language, hindrance: str
) -> MetricStatus:
    mechanism, state = metric.mechanism, permission.standing(consent, metric)
    if state == "collected":
        state = hindrance or state
    return MetricStatus(
        name=metric.name,
        version=metric.version,
        description=say.own(metric.name, "description", metric.description),
        why=say.own(metric.name, "why", metric.why),
        owner=say.own(metric.name, "owner", metric.owner),
        tier=metric.tier,
        expires=metric.expires,
        state=state,
        since=permission.since(consent, metric),
        period=metric.period,
        one_of=() if metric.survey is None else metric.survey.metrics,
        in_the_clear="" if metric.strata is None else metric.strata.words(say),
        sealed_for="" if metric.seal is None else metric.seal.fingerprint,
        epsilon=mechanism.epsilon,
        epsilon_after={reports: after(metric, reports) for reports in MANY},
        permanent_epsilon=mechanism.permanent_epsilon,
        cap=None if cap_of(metric) == math.inf else cap_of(metric),
        cost=cost(metric, say),
        spent=ledger.spent(metric),
        reports=ledger.reports(metric),
        reported=not ledger.open_to(metric, today),
        odds=odds(metric, say),
    )
