"""Plan a survey: compute how far the interval of a share will reach, and how many users an aim needs."""

from collections.abc import Callable
from fractions import Fraction
from statistics import NormalDist
from typing import Protocol

import numpy as np

from ..tally.arrays import Counts, Floats
from .intervals.exact import Levels, exact_interval

MAX_USERS = 10**15
"""Maximum number of users; counts up to this are exact in a double."""

_AT_ONCE = 32
"""How many numbers of users are tried in one call of a margin."""

_WIDER = 0.1
"""Part of the error probability that is reserved for intervals that are by chance wider than planned."""


def planned_scores(confidence: float, *, varies: bool = True) -> tuple[float, float]:
    """Return the normal quantiles of a plan: one-tailed for the width of intervals, two-tailed for an estimate's error.

    In a part ``confidence`` of all surveys the estimate has to be near enough and its interval narrow enough. If the
    width ``varies`` independently of the error, each gets a part of the error probability.
    """
    normal, missed = NormalDist(), 1 - confidence
    width = _WIDER * missed if varies else missed
    error = missed - width if varies else missed
    return normal.inv_cdf(max(1 - width, 0.5)), normal.inv_cdf(1 - error / 2)


class Supported(Levels, Protocol):
    """A share, with the probability ``coverage`` that a report covers it."""

    @property
    def coverage(self) -> Fraction:
        """P[a report covers it]."""


def worst_share(law: Supported) -> float:
    """Return the share whose estimate has the largest variance: that which about half of all reports support."""
    return min(1.0, max(0.0, float((Fraction(1, 2) - law.q) / (law.p - law.q))))


def half_width(law: Supported, users: Counts, confidence: float, share: float | None = None) -> Floats:
    """Return the planned half-width of the interval of a share in the population, for each number of users.

    In a part ``confidence`` of all surveys the estimate is at most this far from the share and the interval reaches no
    further to either side. The other surveys have the largest errors, the fewest reports that cover the share, or by
    chance the widest intervals. ``share`` is None for the worst one.
    """
    p, q, coverage = float(law.p), float(law.q), float(law.coverage)
    sure, both = planned_scores(confidence, varies=coverage < 1)
    lost = sure * np.sqrt(users * coverage * (1 - coverage))
    trials = np.maximum(np.floor(users * coverage - lost), 1)
    success = q + (worst_share(law) if share is None else share) * (p - q)
    spread, middle = np.sqrt(trials * success * (1 - success)), trials * (success - 0.5)
    widest = trials / 2 + np.sign(middle) * np.maximum(np.abs(middle) - sure * spread - 0.5, 0)
    seen = np.rint(np.clip(widest, trials * min(p, q), trials * max(p, q)))
    low, high = exact_interval(law, seen.astype(np.int64), trials.astype(np.int64), 1 - confidence)
    estimate = (seen / trials - q) / (p - q)
    away = (both * spread + 0.5) / (trials * abs(p - q))
    return np.asarray(np.max([estimate - low, high - estimate, away], axis=0))


def users_for(margin: Callable[[Counts], Floats], aim: float) -> int | None:
    """Return the least number of users whose margin is at most the aim; None if 10^15 are too few.

    A margin falls with the number of users.
    """
    low, high = 0, 2
    while high < MAX_USERS and margin(np.array([high]))[0] > aim:
        low, high = high, min(8 * high, MAX_USERS)
    if high == MAX_USERS:
        return None
    while high - low > 1:
        tried = np.unique(np.rint(np.geomspace(low + 1, high, _AT_ONCE)).astype(np.int64))
        lacking = np.flatnonzero(margin(tried[:-1]) > aim)
        if len(lacking):
            low, high = int(tried[lacking[-1]]), int(tried[lacking[-1] + 1])
        else:
            high = int(tried[0])
    return high
