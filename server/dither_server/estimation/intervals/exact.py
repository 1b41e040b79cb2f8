"""Compute exact intervals of a share from the number of reports that support it.

Over a population the support of a share f is exactly Bin(n, q + f(p-q)). An interval holds the shares in whose two
tails the support seen is not (Clopper and Pearson 1934, with the tails that ``feldman_cousins`` gives each share), so
it covers f at least as often as it says.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple, Self

import numpy as np
import scipy

from ...tally.arrays import Floats, Indices
from .feldman_cousins import Tails, normal_scores, tails

Ends = tuple[Floats, Floats]

_NEAR, _ROUNDED = 1e-10, 1e-15
"""An end is found when it moves by less than this number of standard errors, or this part of the range."""

_SECANTS, _HALVINGS = 10, 60
"""Maximum secant steps (4 to 6 are usual), and bisections for the ends that have not converged by then."""

_TINY = 1e-290
"""A tail that is smaller is computed by its logarithm."""

_NOUGHT = 1e-300
"""In place of a beta function's shape of 0, where the answer is set apart."""

_CERTAIN = 8.2
"""The normal quantile of a probability that a double rounds to 1."""


class Support(NamedTuple):
    """P[a report supports a value], of a share of 0 and of a share of 1, and by how much the second is more."""

    q: float
    p: float
    gap: float

    @classmethod
    def between(cls, q: Fraction, p: Fraction) -> Self:
        """Return the law with these exact probabilities, q < p."""
        return cls(float(q), float(p), float(p - q))

    def success(self, share: Floats) -> Floats:
        """Return P[a report supports a value] of a share."""
        return self.q + share * self.gap

    def error(self, share: Floats | float, trials: Floats) -> Floats:
        """Return the standard error of the estimate of a share."""
        success = self.q + share * self.gap
        return np.asarray(np.sqrt(success * np.maximum(1 - success, _NOUGHT) / np.maximum(trials, 1)) / self.gap)

    def estimate(self, seen: Floats, trials: Floats) -> Floats:
        """Return the unbiased estimate of a share."""
        return np.asarray((seen / np.maximum(trials, 1) - self.q) / self.gap)


class LowEnds:
    """The low ends of exact intervals that miss with probability ``alpha``.

    High ends are the low ends of the opposite: one less the share, of which those speak that do not support it.
    All methods take arrays with an entry a value; ``seen`` and ``trials`` need not be whole numbers.
    """

    def __init__(self, support: Support, alpha: float) -> None:
        """Look up the tails."""
        self.support = support
        self.tails: Tails = tails(alpha)

    def excess(self, share: Floats, seen: Floats, trials: Floats) -> Floats:
        """Return by how much the chance to see as much or more exceeds the upper tail of a share.

        Both are normal quantiles, on which scale this is nearly straight in the share, and in the count: above 0 for
        larger shares and smaller counts. Near 1 the quantile of the tail is as one over what is left to 1, by which
        this is scaled.
        """
        chance = _score_of_chance(seen, trials, self.support.success(share))
        from_0, from_1 = share / self.support.error(0.0, trials), (1 - share) / self.support.error(1.0, trials)
        if self.tails.alpha > 0.5:
            return np.asarray(chance - self.tails.upper(from_0, from_1))
        scale = np.minimum(np.maximum(from_1, _NOUGHT) / self.tails.alike, 1)
        return np.asarray((chance - self.tails.upper(from_0, np.maximum(from_1, _NOUGHT))) * scale)

    def bends(self, trials: Floats) -> Floats:
        """Return the shares, ascending, between which an end is smooth in the count: one row per bend of the tails."""
        near = (
            self.tails.alike * self.support.error(0.0, trials),
            1 - self.tails.alike * self.support.error(1.0, trials),
        )
        inner = np.clip(np.sort(np.stack(near), axis=0), 0, 1)
        return np.stack([np.zeros(len(trials)), *inner, np.ones(len(trials))])

    def ends(self, seen: Floats, trials: Floats) -> Floats:
        """Return the least share in [0, 1] in whose upper tail the seen is not: 0 where that is in none of 0's."""
        nought, one = np.zeros(len(seen)), np.ones(len(seen))
        some = self.excess(nought, seen, trials) < 0
        if self.tails.alpha > 0.5:
            beyond = some & (self.excess(one, seen, trials) < 0)
            nought, some = np.where(beyond, 1.0, nought), some & ~beyond
        nought[some] = self._between(seen[some], trials[some])
        return nought

    def _between(self, seen: Floats, trials: Floats) -> Floats:
        def excess(places: Indices, share: Floats) -> Floats:
            return self.excess(share, seen[places], trials[places])

        error = self.support.error(np.clip(self.support.estimate(seen, trials), 0, 1), trials)
        return crossing(excess, self._guess(seen, trials), (np.zeros(len(seen)), np.ones(len(seen))), error)

    def counts_at(self, share: Floats, trials: Floats) -> Floats:
        """Return the count, as a real number, above which the low end is above a share, and ``trials`` if none is."""
        found = trials.copy()
        some = np.flatnonzero(self.excess(share, trials, trials) < 0)
        share, trials = share[some], trials[some]

        def lack(places: Indices, seen: Floats) -> Floats:
            return -self.excess(share[places], seen, trials[places])

        error = self.support.error(share, trials) * trials * self.support.gap
        guess = trials * self.support.success(share) + self.tails.alike * error + 0.5
        found[some] = crossing(lack, guess, (np.zeros(len(some)), trials), error)
        return found

    def _guess(self, seen: Floats, trials: Floats) -> Floats:
        """Return ends by Wilson's interval (1927), with half a count for continuity."""
        errors = (self.support.error(0.0, trials), self.support.error(1.0, trials))
        score, _ = normal_scores(self.support.estimate(seen, trials), errors, self.tails.alpha)
        seen = np.maximum(seen - 0.5, 0)
        half = score * np.sqrt(seen * (trials - seen) / trials + score**2 / 4)
        success = (seen + score**2 / 2 - half) / (trials + score**2)
        return np.asarray((success - self.support.q) / self.support.gap)


def crossing(excess: Callable[[Indices, Floats], Floats], guess: Floats, bracket: Ends, error: Floats) -> Floats:
    """Return where a rising function, below 0 and above 0 at the ends of the bracket, is 0, strictly between them.

    By secants from a guess. ``excess`` takes places of the arrays and a point for each; it is about 1 where a point is
    off by ``error``.
    """
    low, high = bracket[0].copy(), bracket[1].copy()
    found = np.where((guess > low) & (guess < high), guess, (low + high) / 2)
    active = np.arange(len(found))
    last_point, last_value = np.full((2, len(found)), np.nan)
    for step in range(_SECANTS + _HALVINGS):
        point = found[active]
        value = excess(active, point)
        low[active], high[active] = np.where(value < 0, (point, high[active]), (low[active], point))
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            slope = (value - last_value) / (point - last_point)
            move = value / np.where(slope > 0, slope, 1 / error[active])
        open_ = np.abs(move) > np.maximum(_NEAR * error, _ROUNDED * bracket[1])[active]
        active, move = active[open_], move[open_]
        if not len(active):
            break
        last_point, last_value = point[open_], value[open_]
        following = last_point - move
        inside = (low[active] < following) & (following < high[active]) & (step < _SECANTS)
        found[active] = np.where(inside, following, (low[active] + high[active]) / 2)
    return found


def _score_of_chance(seen: Floats, trials: Floats, success: Floats) -> Floats:
    """Return the normal quantile of the probability of ``seen`` or more successes in ``trials`` trials."""
    chance = scipy.special.betainc(np.maximum(seen, _NOUGHT), trials - seen + 1, success)
    score = np.minimum(scipy.special.ndtri(np.where(seen > 0, chance, 1.0)), _CERTAIN)
    far = (chance < _TINY) & (seen > 0)
    if far.any():
        score[far] = scipy.special.ndtri_exp(_log_far_tail(seen[far], trials[far], success[far]))
    return np.asarray(score)


def _log_far_tail(seen: Floats, trials: Floats, success: Floats) -> Floats:
    """Return log P[as many or more] far above what is expected, where the sum is nearly a geometric series."""
    ways = -np.log1p(trials) - scipy.special.betaln(trials - seen + 1, seen + 1)
    first = ways + scipy.special.xlogy(seen, success) + scipy.special.xlog1py(trials - seen, -success)
    ratio = (trials - seen) / (seen + 1) * success / (1 - success)
    return np.asarray(first - np.log1p(-ratio))
