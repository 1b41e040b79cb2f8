"""Plan a survey: how far the interval of a share will reach, which strings are found, and how many users that takes."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, singledispatch
from statistics import NormalDist
from typing import NamedTuple, Protocol

import numpy as np
import scipy

from dither_shared import Mechanism, ParameterError, PrefixSketch, ProjectiveSketch
from dither_shared.mechanisms.prefix_levels import CONFIRMING, KEPT, WEIGHT

from ..tally.arrays import Counts, Floats
from .fit import FALSE_DISCOVERIES
from .intervals.exact import Levels, exact_interval
from .intervals.score import law_of
from .strings.cells import SLACK

MAX_USERS = 10**15
"""Maximum number of users; counts up to this are exact in a double."""

_AT_ONCE = 32
"""The number of candidate numbers of users in one call of ``margin``."""

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
        """The probability that a report covers the value."""


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
    while margin(np.array([high])).item() > aim:
        if high == MAX_USERS:
            return None
        low, high = high, min(8 * high, MAX_USERS)
    while high - low > 1:
        tried = np.unique(np.rint(np.geomspace(low + 1, high, _AT_ONCE)).astype(np.int64))
        lacking = np.flatnonzero(margin(tried[:-1]) > aim)
        if len(lacking):
            low, high = int(tried[lacking[-1]]), int(tried[lacking[-1] + 1])
        else:
            high = int(tried[0])
    return high


LIST_LENGTH = 1_000_000
"""Default number of candidates of a list that is supplied later."""

_LEAST, _MOST, _HALVINGS = 1e-9, 1e6, 50
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


class _Tests(NamedTuple):
    """The tests that a string has to pass to be found; each uses its own reports.

    Each test gets a ``part`` of the reports, and a string that nobody holds passes it with probability ``chance``. The
    ``last`` test uses the standard error of a string of the same frequency, the others that of a string that nobody
    holds.
    """

    part: Floats
    chance: Floats
    last: Floats


def reach(mechanism: Mechanism, reports: int | Counts, listed: int = LIST_LENGTH) -> Floats:
    """Return, for each number of reports, the smallest share of people whose string is found with probability 1/2.

    It falls with the number of reports; above 1 it means that nothing can be found. ``listed`` is the number of
    candidates for a sketch without levels. Raises ParameterError for mechanisms that are not sketches of strings.

    Other strings that as many people hold are assumed to be listed: they are found, too, and their effect on the cells
    of rarer strings is subtracted (``strings.selection``). The strings that are not found have shares of at most f, so
    their sum of squared shares is at most f (1 - f); this is the assumed collision noise for a string of share f.
    """
    tests = _tests(mechanism, listed)
    users = np.maximum(np.asarray(reports, dtype=np.float64), 1)[..., np.newaxis] * tests.part
    bars = _bars(float(mechanism.q), users, tests.chance)
    low, high = np.full(users.shape[:-1], np.log(_LEAST)), np.full(users.shape[:-1], np.log(_MOST))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        passes = _found(mechanism, np.exp(middle)[..., np.newaxis], users, bars, tests.last) >= 0.5
        low, high = np.where(passes, low, middle), np.where(passes, middle, high)
    return np.asarray(np.exp(high))


@lru_cache(maxsize=64)
def reports_for(mechanism: Mechanism, share: float, listed: int = LIST_LENGTH) -> int | None:
    """Return the number of reports from which a string of this ``share`` is found with probability 1/2.

    It is rounded up to two digits, because the model is no more precise. None if no number is enough, because other
    strings share its buckets.
    """
    number = users_for(lambda users: reach(mechanism, users, listed), share)
    if number is None:
        return None
    step: int = 10 ** max(0, len(str(number)) - 2)
    return -(-number // step) * step


@singledispatch
def _tests(mechanism: Mechanism, listed: int) -> _Tests:
    """Return the tests that a string passes to be found."""
    raise ParameterError("mechanism", f"{mechanism.name} finds no strings")


@_tests.register
def _(mechanism: ProjectiveSketch, listed: int) -> _Tests:
    """Return one test: all listed strings are tried."""
    return _Tests(np.ones(1), np.array([FALSE_DISCOVERIES / listed]), np.ones(1, dtype=np.bool_))


@_tests.register
def _(mechanism: PrefixSketch, listed: int) -> _Tests:
    """Return one test per level, with the levels' shares of the reports."""
    part = np.array(mechanism.weights) / WEIGHT
    chance = scipy.special.ndtr(1 - (float(CONFIRMING) + 1) * np.sqrt(part / part[-1]))
    chance[-1] = FALSE_DISCOVERIES / KEPT
    return _Tests(part, chance, np.arange(len(part)) == len(part) - 1)


def _bars(q: float, users: Floats, chance: Floats) -> Floats:
    """Return the lowest threshold of the score that a string that nobody holds passes with at most ``chance``.

    With few reports the support is a skewed count, so high scores are more frequent than under the normal law.
    """
    least = np.maximum(np.round(users), 1)
    count = scipy.stats.binom.isf(chance, least, q) + 1
    return np.maximum(-scipy.special.ndtri(chance), (count - least * q) / np.sqrt(least * q * (1 - q)))


def _found(mechanism: Mechanism, share: Floats, users: Floats, bars: Floats, last: Floats) -> Floats:
    """Return P[a string of this share passes all tests], given its score and that of its lower row in each."""
    law, held = law_of(mechanism).sampled(), np.minimum(share, 1)
    crowd = np.sqrt(held * (1 - held) * mechanism.collision_variance)
    spread = law.error(held, users, crowd)
    unit = np.where(last, spread, law.error(np.zeros(1), users, crowd))
    return np.asarray(_both(share / spread - bars * unit / spread, SLACK * unit / spread).prod(axis=-1))


def _both(excess: Floats, slack: Floats) -> Floats:
    """Return P[(X + Y)/√2 > -e, min(X, Y) > -e/√2 - s] of two standard normal rows (``cells._agreed``).

    The first condition cuts a triangle with legs 2s off the quadrant of the second.
    """
    corner = -excess / math.sqrt(2) - slack
    x = corner[..., np.newaxis] + slack[..., np.newaxis] * (1 + _NODES)
    density = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    cut = scipy.special.ndtr(-math.sqrt(2) * excess[..., np.newaxis] - x) - scipy.special.ndtr(corner)[..., np.newaxis]
    return np.asarray(scipy.special.ndtr(-corner) ** 2 - slack * ((density * cut) @ _WEIGHTS))
