"""The recorder: from an answer to a report, in the order that keeps every promise.

Consent is asked first, then the ledger. What the report is drawn from stays in this function until one write has put
its debit, and behind it the report, into the journal: whatever fails before leaves nothing at all, for anyone to see.
"""

from collections.abc import Callable, Mapping
from datetime import date

from dither_shared.entropy import Entropy
from dither_shared.errors import ParameterError
from dither_shared.mechanism import Item
from dither_shared.metric import Metric

from .journal import Journal
from .ledger import NO_DIGEST
from .permission import Permission
from .records import Queued
from .reports import build
from .trouble import Trouble

__all__ = ["Recorder"]


class Recorder:
    """Makes the reports of one client, and counts the answers of which none is made."""

    def __init__(
        self,
        metrics: Mapping[str, Metric],
        journal: Journal,
        permission: Permission,
        entropy: Entropy,
        today: Callable[[], date],
        trouble: Trouble,
        *,
        strict: bool,
    ) -> None:
        self._metrics = metrics
        self._journal = journal
        self._permission = permission
        self._entropy = entropy
        self._today = today
        self._trouble = trouble
        self._strict = strict
        self.ignored = self.withheld = self.outside = 0

    def record(self, name: str, value: object) -> bool:
        """Make a report of an answer if one is due; return whether there is one more.

        Raises ParameterError for a metric that is not defined and, if ``strict``, for an object that is no answer.
        """
        metric = self._metrics.get(name)
        if metric is None:
            raise ParameterError(f"metrics.{name}", "not defined")
        if not isinstance(value, str | int | float):
            self._no_answer(metric, value)
        today = self._today()
        # Looked at before anything else, for most calls end here; once more when the journal is ours.
        if not self._journal.ledger.open_to(metric, today.toordinal()):
            self.ignored += 1
            return False
        consent = self._permission.consent()
        if consent.mode == "off":
            return False
        if not self._permission.covers(consent, metric, today):
            self.withheld += 1
            return False
        return self._report(metric, value, local=consent.mode == "local")

    def _report(self, metric: Metric, value: object, *, local: bool) -> bool:
        item = metric.item(value)
        journal = self._journal
        with journal.transaction() as today:
            if not journal.ledger.open_to(metric, today):
                self.ignored += 1
                return False
            queued, digest = self._draw(metric, item, today, local)
            journal.write(journal.ledger.debit(metric, today, digest), queued, *journal.outbox.excess(today, queued))
        self.outside += _is_outside(metric, value)
        return True

    def _draw(self, metric: Metric, item: Item, today: int, local: bool) -> tuple[Queued, str]:
        """Return a report and the digest of the answer that it gives."""
        keys = self._journal.keys()
        if metric.mechanism.forever_ratio is None:
            return build(metric, item, keys, self._entropy, today, local), NO_DIGEST
        tag = keys.tag(metric, item)
        digest = self._journal.ledger.answer(metric, tag)
        replayed = None if digest is None or digest.startswith(tag) else digest
        queued = build(metric, item, keys, self._entropy, today, local, replayed)
        return queued, tag + keys.seal(metric, item, tag) if digest is None else digest

    def _no_answer(self, metric: Metric, value: object) -> None:
        """Tell the app's developer, by the type alone; the answer is reported under the catch-all label."""
        mistake = f"an object of type {type(value).__name__} is no answer; a string, a number or a boolean is"
        if self._strict:
            raise ParameterError(f"metrics.{metric.name}", mistake)
        self._trouble.note(f"wrong type for metrics.{metric.name}", mistake)


def _is_outside(metric: Metric, value: object) -> bool:
    """Return whether an answer was not one of the domain's, and so went to the catch-all label."""
    if not isinstance(value, str | int | float):
        return True
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return metric.domain is not None and text not in metric.domain
