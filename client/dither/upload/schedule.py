"""Retries and departures: what an answer means for its report, and when each report leaves.

**When a report leaves.** An observer of the network, or of the collector's log, would conclude that reports sent back
to back come from one device. So each waits for its own random time: uniform in [0, ``spread``] from when the worker
first sees it (full jitter).

What happens to one report does not affect any other. A collector chooses its answers, and when it gives them. If its
Retry-After silenced a whole device, the reports missing in that time would be those of one device. So a report that
failed is postponed separately, and its next departure is drawn again over a window that is at least as long. Reports
that became due during another upload would leave when its answer comes: each of them is drawn again, too. Only if
the endpoint cannot be reached, so that nobody saw a report, does the whole device pause; then all are drawn again.

One of the reports that an earlier run left may leave at once, so that a program that never runs for long still gets rid
of its reports, one per run.

**What an answer means.** A report is dropped only if the answer blames its bytes, because the same bytes would be
refused again. Every other refusal may be over tomorrow: the collector is upgraded, or gets the app's questions or its
token, or a hotel's login page no longer answers in its place. So the report is kept, as long as the outbox keeps any,
and tried again: after minutes if the collector is busy, after hours if somebody must fix something first.

Retries have full jitter (Brooker 2015, "Exponential Backoff and Jitter"): the n-th delay is uniform in
[0, min(cap, base · 2^n)], so that many clients that failed together do not come back together.
"""

from __future__ import annotations

import math
import os
import time

from dither_shared.light import NamedTuple

from ..settings import SPREAD, seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from ..state.journal_records import Fate, Queued

GONE = 410
"""The collector takes no more reports of this metric version (``urn:dither:problem:metric-disabled``).

Besides accepted, refused and later, an answer can say nothing else. Only the status decides, and the body is not read;
the only consequence is that the metric is silent for a month.
"""

_LONGEST_HOLD = 6 * 3600.0
"""The longest time for which a collector can postpone a report, in seconds."""

_STEP = 900.0
_DOUBLINGS = 20


class RetryWindow(NamedTuple):
    """The seconds over which the next attempt is spread: ``base``, doubled by each failure, at most ``cap``."""

    base: float
    cap: float

    def after(self, failures: int) -> float:
        """Return the window if there were this many failures before."""
        return min(self.cap, self.base * 2.0 ** min(failures, _DOUBLINGS))


BUSY = RetryWindow(900.0, _LONGEST_HOLD)
"""The collector is overloaded, is down behind its proxy, or hung up."""

REFUSED = RetryWindow(4 * 3600.0, 24 * 3600.0)
"""Somebody must fix something first: a token, a path, a definition."""

NETWORK = RetryWindow(120.0, 600.0)
"""The endpoint cannot be reached. With a base of 1 s, ten thousand clients would come back five times too fast."""


class AnswerRule(NamedTuple):
    """What an answer means for its report: ``words`` for the user; its ``fate``, or None to try again in a window.

    ``metric_only``: the answer says nothing about reports of other metrics.
    """

    words: str
    fate: Fate | None = None
    window: RetryWindow = REFUSED
    metric_only: bool = False


_RULES = {
    200: AnswerRule("accepted", "sent"),
    202: AnswerRule("accepted", "sent"),
    400: AnswerRule("the collector cannot read the report", "dropped", metric_only=True),
    401: AnswerRule("the collector requires a token, or does not know this one"),
    403: AnswerRule("the collector does not let this token report"),
    404: AnswerRule("the collector does not know this metric, or there is none at this address", metric_only=True),
    408: AnswerRule("the collector waited too long", window=BUSY),
    409: AnswerRule("the collector does not know this version of the metric", metric_only=True),
    GONE: AnswerRule("the collector takes no more reports of this metric version", "dropped", metric_only=True),
    413: AnswerRule("the report is too large for the collector", "dropped", metric_only=True),
    415: AnswerRule("the collector does not take reports in this format", "dropped", metric_only=True),
    422: AnswerRule("the collector cannot use the report", "dropped", metric_only=True),
    425: AnswerRule("the collector is busy", window=BUSY),
    429: AnswerRule("the collector is receiving too many reports", window=BUSY),
    502: AnswerRule("the collector is down", window=BUSY),
    503: AnswerRule("the collector is busy", window=BUSY),
    504: AnswerRule("the collector is slow", window=BUSY),
}
_UNEXPECTED = AnswerRule("not an answer of a collector; is there one at this address?")
_OTHER_RULES = {
    3: AnswerRule("the endpoint redirects; the client does not follow"),
    5: AnswerRule("the collector failed"),
}
"""Rules for all other statuses, by their first digit."""


def rule_for(status: int) -> AnswerRule:
    """Return what an answer with this status means for its report."""
    return _RULES.get(status) or _OTHER_RULES.get(status // 100, _UNEXPECTED)


def kind_of(status: int) -> str:
    """Return the kind of an answer; statuses that no collector gives share a kind per hundred."""
    return str(status) if status in _RULES else f"{status // 100}xx"


def hold_of(retry_after: float | None) -> float:
    """Return for how many seconds a Retry-After holds a report: rounded up to 15 minutes, and 6 hours at most.

    A finer one could mark a report by the time at which it comes again.
    """
    return min(_LONGEST_HOLD, _STEP * -(-max(retry_after or 0.0, 0.0) // _STEP))


def uniform() -> float:
    """Return a uniformly random number in [0, 1)."""
    return int.from_bytes(os.urandom(4), "big") / 2**32


class Postponed(NamedTuple):
    """A report that failed: when it leaves next, before when not even a flush sends it, and its number of failures."""

    moment: float
    not_before: float
    failures: int


class UploadSchedule:
    """The times at which reports leave, by ``clock``. ``uniform`` returns a number in [0, 1).

    The clock is the system's: it runs while a computer sleeps, and its times mean the same to the next run. If it is
    set back, a time that lies too far ahead is drawn again. Raises ParameterError for a spread that is not a number of
    seconds from 0 to a year.
    """

    def __init__(
        self,
        spread: float = SPREAD,
        *,
        uniform: Callable[[], float] = uniform,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._clock = clock
        self._spread = seconds("spread", spread)
        self._longest = _LONGEST_HOLD + max(self._spread, REFUSED.cap)
        self._uniform = uniform
        self._due: dict[str, float] = {}
        self.held: dict[str, Postponed] = {}
        """The reports that failed, by batch."""
        self._paused_until = -math.inf
        self._unreached = 0  # failed connection attempts since the last success

    def clear(self) -> None:
        """Forget all reports and failures."""
        self._due, self.held = {}, {}
        self._paused_until, self._unreached = -math.inf, 0

    def next_due(self, waiting: Sequence[Queued]) -> tuple[Queued, float]:
        """Return which of ``waiting``, oldest first, leaves next, and in how many seconds."""
        now = self._clock()
        if self._paused_until - now > self._longest:
            self._paused_until = now
        # In one pass and without calls, because there may be 10,000 while the program's own threads wait.
        known, due, latest = self._due.get, {}, now + self._longest
        first, soonest = waiting[0], math.inf
        for entry in waiting:
            moment = known(entry.batch)
            if moment is None or not moment <= latest:  # NaN is not a time either
                moment = self._drawn(now)
            due[entry.batch] = moment
            if moment < soonest:
                first, soonest = entry, moment
        self._due = due
        self.held = {batch: hold for batch, hold in self.held.items() if batch in due}
        return first, max(0.0, soonest - now)

    def next_for_flush(self, waiting: Sequence[Queued], tried: Container[str]) -> Queued | None:
        """Return which of ``waiting`` a flush sends next: if possible one that has not failed; never a held one."""
        untried = [entry for entry in waiting if entry.batch not in tried]
        fresh = (entry for entry in untried if entry.batch not in self.held)
        free = (entry for entry in untried if not self._ahead(self.held[entry.batch].not_before))
        return next(fresh, None) or next(free, None)

    def send_now(self, entry: Queued) -> None:
        """Let a report leave without waiting."""
        self._due[entry.batch] = -math.inf

    def redraw_missed(self) -> None:
        """Draw new times for reports that became due while they could not leave."""
        now = self._clock()
        self._due = {batch: self._drawn(now) if moment <= now else moment for batch, moment in self._due.items()}

    def pause(self) -> None:
        """Pause all uploads for a random delay, because the endpoint is unreachable; redraw times that fall into it."""
        end = self._paused_until = self._clock() + self._uniform() * NETWORK.after(self._unreached)
        self._unreached += 1
        self._due = {batch: moment for batch, moment in self._due.items() if moment > end}

    def reached(self) -> None:
        """Reset the delays of ``pause`` to the shortest, because the endpoint was reached."""
        self._unreached = 0

    def put_off(self, entry: Queued, retry_after: float | None, window: RetryWindow) -> bool:
        """Postpone a report that failed, and no other; return whether it had failed before.

        ``retry_after`` is what the collector asked for, in seconds: not even a flush sends the report earlier.
        """
        known, hold = self.held.get(entry.batch), hold_of(retry_after)
        failures = known.failures if known else 0
        not_before = self._clock() + hold
        moment = not_before + self._uniform() * max(self._spread, hold, window.after(failures))
        self.held[entry.batch] = Postponed(moment, not_before if hold else 0.0, failures + 1)
        self._due[entry.batch] = moment
        return known is not None

    def is_put_off(self, entry: Queued) -> bool:
        """Return whether a report failed and is not due again yet."""
        known = self.held.get(entry.batch)
        return known is not None and self._ahead(known.moment)

    def forget(self, entry: Queued) -> None:
        """Forget a report that is gone."""
        self.held.pop(entry.batch, None)
        self._due.pop(entry.batch, None)

    def merge(self, held: Mapping[str, Postponed]) -> None:
        """Take over what another process, or an earlier run, knows of reports that failed."""
        for batch, hold in held.items():
            known = self.held.get(batch)
            if known is None or known.failures < hold.failures:
                self.held[batch] = hold
                self._due[batch] = hold.moment

    def _ahead(self, moment: float) -> bool:
        """Return whether a time is in the future; one further ahead than any can be comes from another clock."""
        return 0 < moment - self._clock() <= self._longest

    def _drawn(self, now: float) -> float:
        return max(now, self._paused_until) + self._uniform() * self._spread
