"""Retries: decide by the answer whether a report was sent, is dropped or is kept, and when it is tried again.

Only an answer that blames the very bytes drops a report: the same bytes would be blamed again. Whatever else is no
acceptance may be over tomorrow: a collector is upgraded, is given the app's questions or its token, or a hotel's login
page stops answering in its place. So the report is kept, for as long as the outbox keeps any, and tried again: in
minutes where the collector is busy, in hours where somebody must first mend something.

Full jitter (Brooker 2015, "Exponential Backoff and Jitter"): the n-th delay is uniform in [0, min(cap, base · 2^n)], so
that many clients that failed together do not come back together.
"""

import os
from collections.abc import Callable
from typing import NamedTuple

from ..state.journal_records import Fate

GONE = 410
"""The collector takes no more reports of this metric version (``urn:dither:problem:metric-disabled``).

It is all that an answer can say besides accepted, refused and later. The status alone decides, the body is not read;
and silence, for a month, is all that comes of it.
"""

LONGEST_HOLD = 6 * 3600.0
"""The longest that a collector can put a report off, in seconds."""

_STEP = 900.0
_DOUBLINGS = 20


class Patience(NamedTuple):
    """Over how many seconds the next try of a report is spread: ``base``, twice as many each time, at most ``cap``."""

    base: float
    cap: float

    def window(self, failures: int) -> float:
        """Return the seconds after so many failures before this one."""
        return min(self.cap, self.base * 2.0 ** min(failures, _DOUBLINGS))


BUSY = Patience(900.0, LONGEST_HOLD)
"""The collector is overloaded, down behind its proxy, or hung up."""

REFUSED = Patience(4 * 3600.0, 24 * 3600.0)
"""Somebody must mend something first: a token, a path, a definition."""

NETWORK = Patience(120.0, 600.0)
"""Nobody was reached. From a second, ten thousand clients would come back five times too fast."""


class Verdict(NamedTuple):
    """What an answer says of the report: ``words`` for the user; its ``fate``, or None to keep it and be patient.

    ``only_its_own``: it says nothing of reports of other metrics, so that these need not expect the same.
    """

    words: str
    fate: Fate | None = None
    patience: Patience = REFUSED
    only_its_own: bool = False


_VERDICTS = {
    200: Verdict("accepted", "sent"),
    202: Verdict("accepted", "sent"),
    400: Verdict("the collector cannot read the report", "dropped", only_its_own=True),
    401: Verdict("the collector asks for another token, or for one at all"),
    403: Verdict("the collector does not let this token report"),
    404: Verdict("the collector does not know this metric, or there is none at this address", only_its_own=True),
    408: Verdict("the collector waited too long", patience=BUSY),
    409: Verdict("the collector does not know this version of the metric", only_its_own=True),
    GONE: Verdict("the collector takes no more reports of this metric version", "dropped", only_its_own=True),
    413: Verdict("the report is too large for the collector", "dropped", only_its_own=True),
    415: Verdict("the collector does not take reports in this format", "dropped", only_its_own=True),
    422: Verdict("the collector cannot use the report", "dropped", only_its_own=True),
    425: Verdict("the collector is busy", patience=BUSY),
    429: Verdict("the collector has too many reports just now", patience=BUSY),
    502: Verdict("the collector is down", patience=BUSY),
    503: Verdict("the collector is busy", patience=BUSY),
    504: Verdict("the collector is slow", patience=BUSY),
}
_OTHERS = {
    3: Verdict("it points elsewhere, and is not followed"),
    4: Verdict("not what a collector answers; is there one at this address?"),
    5: Verdict("the collector failed"),
}
_STRANGE = Verdict("not what a collector answers; is there one at this address?")


def verdict_on(status: int) -> Verdict:
    """Return the verdict of a status on the report that it answers."""
    return _VERDICTS.get(status) or _OTHERS.get(status // 100, _STRANGE)


def kind_of(status: int) -> str:
    """Return the kind of an answer; statuses that no collector gives share a kind by the hundred."""
    return str(status) if status in _VERDICTS else f"{status // 100}xx"


def hold_of(retry_after: float | None) -> float:
    """Return the seconds to hold a report for a Retry-After: it is rounded up to 15 minutes, and 6 hours at most.

    A finer one could mark a report by the moment at which it comes again.
    """
    return min(LONGEST_HOLD, _STEP * -(-max(retry_after or 0.0, 0.0) // _STEP))


def uniform() -> float:
    """Return a random number in [0, 1)."""
    return int.from_bytes(os.urandom(4), "big") / 2**32


class Backoff:
    """The delays between tries while nobody is reached, in seconds. ``uniform`` returns a number in [0, 1)."""

    def __init__(self, uniform: Callable[[], float] = uniform) -> None:
        self._uniform = uniform
        self._failures = 0

    def reset(self) -> None:
        """Start again from the shortest delay, after somebody was reached."""
        self._failures = 0

    def delay(self) -> float:
        """Return how long to wait after one more failure."""
        self._failures += 1
        return self._uniform() * NETWORK.window(self._failures - 1)
