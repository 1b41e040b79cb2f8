"""Retries: decide by the answer whether a report was sent, is dropped or kept, and within which time it is tried again.

A report is dropped only if the answer blames its bytes, because the same bytes would be refused again. Every other
refusal may be over tomorrow: the collector is upgraded, or gets the app's questions or its token, or a hotel's login
page no longer answers in its place. So the report is kept, as long as the outbox keeps any, and tried again: after
minutes if the collector is busy, after hours if somebody must fix something first.

Retries have full jitter (Brooker 2015, "Exponential Backoff and Jitter"): the n-th delay is uniform in
[0, min(cap, base · 2^n)], so that many clients that failed together do not come back together; ``schedule.py`` draws
it.
"""

from __future__ import annotations

import os

from dither_shared.light import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..state.journal_records import Fate

GONE = 410
"""The collector takes no more reports of this metric version (``urn:dither:problem:metric-disabled``).

Besides accepted, refused and later, an answer can say nothing else. Only the status decides, and the body is not read;
the only consequence is that the metric is silent for a month.
"""

LONGEST_HOLD = 6 * 3600.0
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


BUSY = RetryWindow(900.0, LONGEST_HOLD)
"""The collector is overloaded, is down behind its proxy, or hung up."""

REFUSED = RetryWindow(4 * 3600.0, 24 * 3600.0)
"""Somebody must fix something first: a token, a path, a definition."""

NETWORK = RetryWindow(120.0, 600.0)
"""Nobody was reached. With a base of one second, ten thousand clients would come back five times too fast."""


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
    return min(LONGEST_HOLD, _STEP * -(-max(retry_after or 0.0, 0.0) // _STEP))


def uniform() -> float:
    """Return a random number in [0, 1)."""
    return int.from_bytes(os.urandom(4), "big") / 2**32
