"""Forward: at a daily hour, in UTC, freeze the pools that may leave, and post them until the collector has everything.

Each step of a round is its own transaction, and each may be repeated: a relay that dies in between begins again with
the same bodies, which the collector counts once.
"""

import logging
import threading
import time as clock
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from dither_serving.logs import OnceAMinute
from dither_serving.problems import StoreError
from dither_shared.counted import counted
from dither_shared.sealed import SealedBatch

from .collector import CollectorClient, RejectedError, TroubleError
from .config import RelayConfig
from .store import PoolBatch, RelayStore

_log = logging.getLogger(__name__)

TROUBLE = "trouble"
"""The store's key of the last trouble; empty if there is none."""

_LARGEST_BODY = 1 << 24
"""Maximum bytes of a body, even if the collector accepts more, because it is held in memory."""


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
    """The steps of a forwarding round. ``goes_on`` is called before each body; False stops posting."""

    def __init__(
        self,
        config: RelayConfig,
        store: RelayStore,
        collector: CollectorClient,
        goes_on: Callable[[], bool] = lambda: True,
    ) -> None:
        self._config = config
        self._store = store
        self._collector = collector
        self._goes_on = goes_on

    def freeze(self, hour: date | None = None) -> None:
        """Freeze each open batch that may leave: its period is over, and it has enough reports.

        Later reports of the period wait for another batch, which leaves if it has enough.
        ``hour`` is the day of the forwarding hour, if this is done at one; it is then marked as used.
        """
        limits = self._store.state()

        def cut(batch: PoolBatch) -> int | None:
            if batch.total < max(self._config.batch, batch.pool.least) or "batch_limit" not in limits:
                return None
            if not self._config.is_due(batch.pool):
                return None
            share = reports_per_body(batch, int(limits["batch_limit"]), int(limits["body_limit"]))
            if share is None:
                _log.error("%s: no report fits into a body that the collector accepts", batch.pool)
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

    def _post(self, batch: PoolBatch, posted: Posted, rejected: dict[str, str]) -> None:
        after = b""
        while rows := self._store.body(batch, after):
            if not self._goes_on():
                posted.is_over = False
                return
            after = max(rows)
            place = f"{batch.number} {after.hex()}"
            if place not in rejected:
                try:
                    unread = self._collector.post(body_of(batch, list(rows.values())), len(rows))
                except RejectedError as error:
                    rejected[place] = f"{batch.pool}: {error}"
                    kept = counted(len(rows), "report is", "reports are")
                    _log.error("%s: %s kept for another day: %s", batch.pool, kept, error)
            if place in rejected:
                posted.rejected += 1
                posted.trouble = rejected[place]
                continue
            self._store.leave(batch, rows, self._today(), unread)
            posted.reports += len(rows)
            if unread:
                _log.warning("%s: the collector could not read %d of %d", batch.pool, unread, len(rows))

    def tidy(self) -> None:
        """Drop reports that are too old, and forget digests beyond the horizon."""
        today = self._today()
        if dropped := self._store.drop(today - timedelta(days=self._config.max_age), self._config.is_over):
            reports, age = counted(dropped, "report was", "reports were"), counted(self._config.max_age, "day")
            _log.warning("%s dropped: too few, or not taken by the collector, for %s", reports, age)
            self._store.checkpoint()
        self._store.forget_digests(today - timedelta(days=self._config.horizon))

    def _today(self) -> date:
        """Return the day of the relay's own calendar, which a jump of the clock does not change."""
        return self._store.day or self._config.today()


def reports_per_body(batch: PoolBatch, batch_limit: int, body_limit: int) -> int | None:
    """Return the reports per body, so that all bodies are about equal; None if not even one report fits."""
    bare = SealedBatch("0" * 32, batch.pool, batch.suite, batch.total, b"").encode()
    most = min(batch_limit, (min(body_limit, _LARGEST_BODY) - len(bare)) // 4 * 3 // batch.length)
    if most < 1:
        return None
    bodies = -(-batch.total // most)
    return -(-batch.total // bodies)


def body_of(batch: PoolBatch, sealed: Sequence[bytes]) -> bytes:
    """Return the body of some of a batch's reports: the same bytes for the same reports, in any order.

    A batch is cut in the order of digests, and each body is sorted. Both are functions of the ciphertexts, which are
    random, so neither reveals the order of arrival.
    """
    return SealedBatch.of(batch.pool, batch.suite, batch.total, sealed).encode()


ANOTHER_ROUND = "another process forwards from it now"

_DAY = timedelta(days=1)

_LOOK = 30.0
"""Seconds between two checks of the clock: it may be set, and a machine that slept has missed the hour."""

_FIRST, _LAST, _LONGEST = 10.0, 600.0, 3600.0
"""Seconds to the first retry after a failure, doubled up to the second number; and the maximum Retry-After."""

_PATIENCE = 5.0
"""Seconds to wait at the end for a body that is being posted. It is posted again after the next start."""


class Forwarder:
    """Freezes the waiting reports at the daily hour, and posts them. One thread calls ``beat`` for ever.

    ``trouble`` is the database's error at the last try, empty if there was none.
    """

    def __init__(
        self,
        config: RelayConfig,
        store: RelayStore,
        collector: CollectorClient,
        monotonic: Callable[[], float] = clock.monotonic,
    ) -> None:
        self._store = store
        self._at = config.hour()
        self._now = config.now
        self._monotonic = monotonic
        self._ended = threading.Event()
        self._rounds = Rounds(config, store, collector, lambda: not self._ended.is_set())
        self._thread = threading.Thread(target=self._run, name="dither-forwarder", daemon=True)
        self._rejected: dict[str, str] = {}
        self._lines = OnceAMinute()
        self.trouble = ""
        self._is_open = True  # an earlier process may have left something half posted
        self._is_tidy = False
        self._try_at = float("-inf")
        self._failures = 0

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """Post no further body, and end the thread; the next start repeats a body that is still being sent."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(_PATIENCE)

    @property
    def rejected(self) -> int:
        """How many bodies of this round the collector rejected; they are posted again in the next."""
        return len(self._rejected)

    def beat(self) -> float:
        """Do the steps that are due now; return the seconds until the next check."""
        now = self._now()
        hour, last = latest(now, self._at), self._store.last_hour()
        if last is None:  # a relay's first start: the next hour is the first
            self._store.use_hour(hour)
        elif is_due(now, self._at, last):
            self._rounds.freeze(hour)
            self._rejected.clear()
            self._is_open, self._is_tidy, self._failures, self._try_at = True, False, 0, float("-inf")
        if self._is_open and self._monotonic() >= self._try_at:
            self._judge(self._rounds.post(self._rejected))
        if not self._is_tidy:  # after the first try, so that nothing is dropped that could have left
            self._rounds.tidy()
            self._is_tidy = True
        return min(_LOOK, max(0.0, self._try_at - self._monotonic())) if self._is_open else _LOOK

    def _judge(self, posted: Posted) -> None:
        self._is_open = not posted.is_over
        if self._is_open:
            self._pause(posted.after)
        else:
            self._failures = 0

    def _pause(self, after: int | None = None) -> None:
        pause = min(_LAST, _FIRST * 2 ** min(self._failures, 10))
        self._failures += 1
        self._try_at = self._monotonic() + max(pause, min(after or 0, _LONGEST))

    def _run(self) -> None:
        self._store.checkpoint()
        while not self._ended.is_set():
            try:
                with self._store.exclusive_lock("round", ANOTHER_ROUND):
                    pause = self.beat()
                if self._monotonic() >= self._try_at:  # ``post`` has retried the failed bodies
                    self.trouble = ""
            except StoreError as error:
                self.trouble, pause = str(error), _FIRST
                self._pause()  # otherwise a body that the database cannot delete would be posted every few seconds
                if self._lines.add():
                    _log.warning("reports are forwarded later: %s", error)
            except Exception:
                _log.exception("reports could not be forwarded")
                pause = _LAST
            self._ended.wait(pause)


def latest(now: datetime, at: time) -> date:
    """Return the day of the latest forwarding hour that has passed."""
    return now.date() if now.timetz() >= at else now.date() - _DAY


def following(now: datetime, at: time, last: date | None) -> datetime:
    """Return the next hour, given the day of the last one that was used, perhaps before ``at`` was set to another."""
    day = latest(now, at) + _DAY
    return datetime.combine(day + _DAY if day == last else day, at)


def is_due(now: datetime, at: time, last: date) -> bool:
    """Return whether a forwarding hour has passed that was not used, given the day of the last used one.

    A clock that was set back by some hours is waited for; if the last day is further ahead, the clock was wrong then.
    """
    hour = latest(now, at)
    return hour > last or last - hour > _DAY


def is_overdue(now: datetime, at: time, last: date | None) -> bool:
    """Return whether a daily forwarding time has passed without a round; False before the relay's first start."""
    return last is not None and is_due(now, at, last)
