"""A round: freeze the pools that may leave and have enough reports, post them, and drop what is too old.

Each step is its own transaction, and each may be repeated: a relay that dies in between begins again with the same
bodies, which the collector counts once.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import NamedTuple

from dither_shared.counted import counted
from dither_shared.sealed import SealedBatch

from ..calendar import Calendar
from ..collector import CollectorClient, Receipt, RejectedError, TroubleError
from ..store import Frozen, RelayStore, SealedPool

_log = logging.getLogger(__name__)

TROUBLE = "trouble"
"""The store's key of the last trouble; empty if there is none."""


_LARGEST_BODY = 1 << 24
"""Bytes of a body, whatever the collector would take: it is held in memory."""


class Rules(NamedTuple):
    """The minimum reports of a batch, the days for which a report waits, and those for which its digest is kept.

    A pool may want more reports.
    """

    batch: int
    max_age: int
    horizon: int


@dataclass
class Posted:
    """The result of posting: reports accepted, bodies rejected, the last trouble, and when to go on.

    ``is_over`` says whether everything was posted; rejected bodies wait for another round.
    """

    reports: int = 0
    rejected: int = 0
    trouble: str = ""
    after: int | None = None
    is_over: bool = True


class Rounds:
    """The steps of a round. ``goes_on`` is asked before each body whether to post it."""

    def __init__(
        self,
        store: RelayStore,
        collector: CollectorClient,
        rules: Rules,
        calendar: Calendar,
        today: Callable[[], date],
        goes_on: Callable[[], bool] = lambda: True,
    ) -> None:
        self._store = store
        self._collector = collector
        self._rules = rules
        self._calendar = calendar
        self._today = today
        self._goes_on = goes_on

    def freeze(self, hour: date | None = None) -> None:
        """Freeze each open batch that may leave: its period is over, and it has enough reports.

        Later reports of the period wait for another batch, which leaves if it has enough.
        ``hour`` is the day of the forwarding hour, if this is done at one; it is then marked as used.
        """
        limits = self._store.state()

        def cut(pool: SealedPool, total: int) -> int | None:
            if total < max(self._rules.batch, pool.pool.least) or "batch_limit" not in limits:
                return None
            if not self._calendar.is_due(pool.pool):
                return None
            share = reports_per_body(pool, total, int(limits["batch_limit"]), int(limits["body_limit"]))
            if share is None:
                _log.error("%s: no report fits into a body that the collector accepts", pool.pool)
            return share

        self._store.freeze(self._today(), cut, hour)

    def post(self, rejected: dict[str, str]) -> Posted:
        """Post the frozen batches, body by body, except the bodies in ``rejected``; add those that are rejected now.

        ``rejected`` maps the bodies that were rejected in this round to the collector's answers.
        """
        posted = Posted()
        try:
            for batch in self._store.frozen():
                self._post(batch, posted, rejected)
        except TroubleError as error:
            posted.trouble, posted.after, posted.is_over = str(error), error.after, False
            _log.warning("%s; the waiting reports are posted again later", error)
        if posted.trouble != self._store.state().get(TROUBLE, ""):
            self._store.note(TROUBLE, posted.trouble)
        if posted.reports:
            self._store.checkpoint()  # so that forwarded reports do not remain in the log beside the database
        return posted

    def _post(self, batch: Frozen, posted: Posted, rejected: dict[str, str]) -> None:
        after = b""
        while rows := self._store.body(batch, after):
            if not self._goes_on():
                posted.is_over = False
                return
            after = rows[-1].digest
            place = f"{batch.number} {after.hex()}"
            if place not in rejected:
                try:
                    receipt = self._collector.post(body_of(batch, [row.sealed for row in rows]))
                    _check(receipt, len(rows))
                except RejectedError as error:
                    rejected[place] = f"{batch.pool}: {error}"
                    kept = counted(len(rows), "report is", "reports are")
                    _log.error("%s: %s kept for another day: %s", batch.pool, kept, error)
            if place in rejected:
                posted.rejected += 1
                posted.trouble = rejected[place]
                continue
            self._store.leave(batch, rows, self._today(), receipt.refused)
            posted.reports += len(rows)
            if receipt.refused:
                _log.warning("%s: the collector could not read %d of %d", batch.pool, receipt.refused, len(rows))

    def tidy(self) -> None:
        """Drop reports that are too old, and forget digests beyond the horizon."""
        today = self._today()
        if dropped := self._store.drop(today - timedelta(days=self._rules.max_age), self._calendar.is_over):
            reports, age = counted(dropped, "report was", "reports were"), counted(self._rules.max_age, "day")
            _log.warning("%s dropped: too few, or not taken by the collector, for %s", reports, age)
            self._store.checkpoint()
        self._store.forget_digests(today - timedelta(days=self._rules.horizon))


def _check(receipt: Receipt, reports: int) -> None:
    """Raise RejectedError unless a receipt covers all reports: none may be forgotten that was not read."""
    if receipt.accepted + receipt.refused != reports:
        counts = f"{receipt.accepted:,} accepted and {receipt.refused:,} refused of {counted(reports, 'report')}"
        raise RejectedError(f"the collector's receipt says {counts}; is that URL a collector's?")


def reports_per_body(pool: SealedPool, total: int, batch_limit: int, body_limit: int) -> int | None:
    """Return the reports per body, so that all bodies are about equal; None if not even one report fits."""
    bare = SealedBatch("0" * 32, pool.pool, pool.suite, total, b"").encode()
    most = min(batch_limit, (min(body_limit, _LARGEST_BODY) - len(bare)) // 4 * 3 // pool.length)
    if most < 1:
        return None
    bodies = -(-total // most)
    return -(-total // bodies)


def body_of(batch: Frozen, sealed: Sequence[bytes]) -> bytes:
    """Return the body of some of a batch's reports: the same bytes for the same reports, in any order.

    A batch is cut in the order of digests, and each body is sorted. Both are functions of the ciphertexts, which are
    random, so neither reveals the order of arrival.
    """
    return SealedBatch.of(batch.pool, batch.suite, batch.total, sealed).encode()
