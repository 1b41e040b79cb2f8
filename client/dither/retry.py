"""Retries: which answers are worth another try, and when.

Full jitter (Brooker 2015, "Exponential Backoff and Jitter"): the n-th delay is uniform in [0, min(cap, base · 2^n)], so
that many clients that failed together do not come back together. A server that says when to come back is heeded, up to
a cap, and the jitter is added to it, for it told everyone the same moment.
"""

import os
from collections.abc import Callable

from .records import Fate
from .transport import Answer

__all__ = ["GONE", "Backoff", "fate_of", "uniform"]

GONE = 410
"""The collector takes no more reports of this metric version (``urn:dither:problem:metric-disabled``).

It is all that an answer can say besides accepted, refused and later. The status alone decides, the body is not read;
and silence, for a month, is all that comes of it.
"""

_ACCEPTED = frozenset({200, 202})
_TRY_AGAIN = frozenset({429, 502, 503, 504})
_BASE = 120.0  # telemetry is in no hurry: from a second, ten thousand clients would come back five times too fast
_CAP = 600.0
_LONGEST_WISH = 3600.0
_DOUBLINGS = 20


def fate_of(answer: Answer | None) -> Fate | None:
    """Return what becomes of a report given the answer to it; None if it is to be tried again.

    No answer at all (a network error) and 429, 502, 503, 504 are worth another try. Whatever else is not an acceptance
    would be answered the same again, so the report is dropped.
    """
    if answer is None or answer.status in _TRY_AGAIN:
        return None
    return "sent" if answer.status in _ACCEPTED else "dropped"


def uniform() -> float:
    """Return a random number in [0, 1)."""
    return int.from_bytes(os.urandom(4), "big") / 2**32


class Backoff:
    """The delays between tries, in seconds. ``uniform`` returns a number in [0, 1)."""

    def __init__(self, uniform: Callable[[], float] = uniform) -> None:
        self._uniform = uniform
        self._failures = 0

    def reset(self) -> None:
        """Start again from the shortest delay, after a success."""
        self._failures = 0

    def delay(self, retry_after: float | None = None) -> float:
        """Return how long to wait after one more failure."""
        jitter = self._uniform() * min(_CAP, _BASE * 2.0 ** min(self._failures, _DOUBLINGS))
        self._failures += 1
        return jitter + min(max(retry_after or 0.0, 0.0), _LONGEST_WISH)
