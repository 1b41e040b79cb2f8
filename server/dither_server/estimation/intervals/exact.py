"""Compute exact intervals of a share from the number of reports that support it.

Over a population the support of a share f is exactly Bin(n, q + f(p-q)). An interval contains the shares for which the
observed support lies in neither tail (Clopper and Pearson 1934, with the tails that ``feldman_cousins`` assigns to each
share), so its coverage is at least nominal.

For thousands of values the ends are interpolated from a few hundred counts at which they are computed. As a function of
the count, an end is smooth except at its bends: where it leaves 0, where it reaches 1, and where the tails become
equal. Between two bends it is fitted by Chebyshev polynomials of the count's angle (the arcsine scale, on which an
estimate's error is constant) and, if values differ in their trials, of the number of trials, too. If the polynomials do
not converge, the range is halved; the few counts in a short range, or next to a bend, are computed directly.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple, Protocol, Self

import numpy as np
import scipy
from numpy.polynomial import chebyshev

from ...tally.arrays import Counts, Floats, Indices
from .feldman_cousins import Tails, normal_scores, tails

Ends = tuple[Floats, Floats]

_NEAR, _ROUNDED = 1e-10, 1e-15
"""An end has converged when it moves by less than this number of standard errors, or this part of the range."""

_SECANTS, _HALVINGS = 10, 60
"""Maximum secant steps (4 to 6 are usual), and bisections for the ends that have not converged by then."""

_TINY = 1e-290
"""A tail below this is computed by its logarithm."""

_NOUGHT = 1e-300
"""Replaces a shape of 0 of a beta function; the results for such shapes are set separately."""

_CERTAIN = 8.2
"""The normal quantile of a probability that a double rounds to 1."""

_FEW = 400
"""Up to this number of counts, each end is computed directly."""

_DEGREE = 15
"""Degrees of the polynomials of the count."""

_CLOSE = 1e-8
"""A polynomial has converged if its last two coefficients are below this number of standard errors."""

_BETWEEN = float(np.nextafter(0, 1)), float(np.nextafter(1, 0))
"""An end that is neither 0 nor 1 is between them."""

_BESIDE = 0.01
"""Standard errors within which a count is next to a bend."""


class Levels(Protocol):
    """Defines P[a report supports the share]: ``p`` for a user who counts in it, and ``q`` for any other."""

    @property
    def p(self) -> Fraction:
        """P[a report supports it] for a user who counts in it."""

    @property
    def q(self) -> Fraction:
        """P[a report supports it] for any other user."""


def exact_interval(levels: Levels, supporting: Counts | Floats, trials: Counts | Floats, alpha: float) -> Ends:
    """Return the interval of a share in the population, given how many of the trials support it.

    The numbers need not be whole. It misses with probability ``alpha`` at most. For thousands of values the ends are
    interpolated, to well under 1e-6 standard errors; they never fall as the count rises, and are 0 or 1 where the exact
    ones are.
    """
    p, q = levels.p, levels.q
    if p < q:  # the opposite is reported more often: count how many do not support the value
        supporting, p, q = trials - supporting, 1 - p, 1 - q
    seen, out_of = supporting.astype(np.float64), trials.astype(np.float64)
    law, opposite = SupportLaw.between(q, p), SupportLaw.between(1 - p, 1 - q)
    low = ends_of_many(LowEnds(law, alpha), seen, out_of)
    high = 1 - ends_of_many(LowEnds(opposite, alpha), out_of - seen, out_of)
    return low, np.maximum(low, high)  # rounding may swap the ends of a very narrow interval


class SupportLaw(NamedTuple):
    """P[a report supports a value] at a share of 0 and at a share of 1, and the difference of the two."""

    q: float
    p: float
    gap: float

    @classmethod
    def between(cls, q: Fraction, p: Fraction) -> Self:
        """Return the law with these exact probabilities, q < p."""
        return cls(float(q), float(p), float(p - q))

    def success(self, share: Floats) -> Floats:
        """Return P[a report supports a value] at a share."""
        return self.q + share * self.gap

    def error(self, share: Floats | float, trials: Floats) -> Floats:
        """Return the standard error of the estimate of a share."""
        success = self.q + share * self.gap
        return np.asarray(np.sqrt(success * np.maximum(1 - success, _NOUGHT) / np.maximum(trials, 1)) / self.gap)

    def estimate(self, seen: Floats, trials: Floats) -> Floats:
        """Return the unbiased estimate of a share."""
        return np.asarray((seen / np.maximum(trials, 1) - self.q) / self.gap)


class LowEnds:
    """Computes the low ends of exact intervals that miss with probability ``alpha``.

    High ends follow from the low ends for the complement, 1 - share, which the other reports support. All methods take
    arrays with one entry per value; ``seen`` and ``trials`` need not be whole numbers.
    """

    def __init__(self, support: SupportLaw, alpha: float) -> None:
        """Look up the tail probabilities for ``alpha``."""
        self.support = support
        self.tails: Tails = tails(alpha)

    def excess(self, share: Floats, seen: Floats, trials: Floats) -> Floats:
        """Return by how much P[count >= seen] exceeds the upper tail of a share, as normal quantiles.

        On that scale the difference is nearly linear in the share and in the count: it is above 0 for larger shares and
        smaller counts. Near a share of 1 the quantile of the tail grows like 1/(1 - share), so the difference is scaled
        by 1 - share.
        """
        chance = _score_of_chance(seen, trials, self.support.success(share))
        from_0, from_1 = share / self.support.error(0.0, trials), (1 - share) / self.support.error(1.0, trials)
        if self.tails.alpha > 0.5:
            return np.asarray(chance - self.tails.upper(from_0, from_1))
        scale = np.minimum(np.maximum(from_1, _NOUGHT) / self.tails.alike, 1)
        return np.asarray((chance - self.tails.upper(from_0, np.maximum(from_1, _NOUGHT))) * scale)

    def bends(self, trials: Floats) -> Floats:
        """Return the shares, ascending, between which an end is a smooth function of the count: one row per bend."""
        near = (
            self.tails.alike * self.support.error(0.0, trials),
            1 - self.tails.alike * self.support.error(1.0, trials),
        )
        inner = np.clip(np.sort(np.stack(near), axis=0), 0, 1)
        return np.stack([np.zeros(len(trials)), *inner, np.ones(len(trials))])

    def ends(self, seen: Floats, trials: Floats) -> Floats:
        """Return the least share in [0, 1] whose upper tail does not contain the count; 1 if all tails contain it."""
        least = np.zeros(len(seen))
        some = self.excess(least, seen, trials) < 0
        least[some] = self._between(seen[some], trials[some])
        return least

    def _between(self, seen: Floats, trials: Floats) -> Floats:
        def excess(places: Indices, share: Floats) -> Floats:
            return self.excess(share, seen[places], trials[places])

        error = self.support.error(np.clip(self.support.estimate(seen, trials), 0, 1), trials)
        return crossing(excess, self._guess(seen, trials), (np.zeros(len(seen)), np.ones(len(seen))), error)

    def counts_at(self, share: Floats, trials: Floats) -> Floats:
        """Return the count, as a real number, above which the low end exceeds a share; ``trials`` if there is none."""
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
        """Return approximate ends by Wilson's interval (1927), with a continuity correction of half a count."""
        errors = (self.support.error(0.0, trials), self.support.error(1.0, trials))
        score, _ = normal_scores(self.support.estimate(seen, trials), errors, self.tails.alpha)
        seen = np.maximum(seen - 0.5, 0)
        half = score * np.sqrt(seen * (trials - seen) / trials + score**2 / 4)
        success = (seen + score**2 / 2 - half) / (trials + score**2)
        return np.asarray((success - self.support.q) / self.support.gap)


def crossing(excess: Callable[[Indices, Floats], Floats], guess: Floats, bracket: Ends, error: Floats) -> Floats:
    """Return the root of a rising function in a bracket at whose low end it is below 0; the high end if there is none.

    Secant steps start from a guess. ``excess`` takes indices into the arrays and a point for each; its value is about 1
    if a point is off by ``error``.
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
    """Return log P[as many or more] far above the expected count, where the sum is nearly a geometric series."""
    ways = -np.log1p(trials) - scipy.special.betaln(trials - seen + 1, seen + 1)
    first = ways + scipy.special.xlogy(seen, success) + scipy.special.xlog1py(trials - seen, -success)
    ratio = (trials - seen) / (seen + 1) * success / (1 - success)
    return np.asarray(first - np.log1p(-ratio))


def ends_of_many(ends: LowEnds, seen: Floats, trials: Floats) -> Floats:
    """Return the low end of each value: within 1e-6 standard errors of the exact one, and monotone in the count.

    It is 0 or 1 exactly where the exact end is.
    """
    order = np.lexsort((seen, trials))
    seen, trials = seen[order], trials[order]
    new = np.append(True, (np.diff(seen) != 0) | (np.diff(trials) != 0))[: len(seen)]  # works for empty arrays, too
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.cumsum(new) - 1
    seen, trials = seen[new], trials[new]
    found = ends.ends(seen, trials) if len(seen) <= _FEW else _interpolated(ends, seen, trials)
    _let_rise(found, trials)
    return np.asarray(found[place])


def _let_rise(found: Floats, trials: Floats) -> None:
    """Raise, in place, ends that rounding has put below that of a smaller count; counts ascend."""
    while (fallen := (np.diff(found) < 0) & (np.diff(trials) == 0)).any():
        found[1:][fallen] = found[:-1][fallen]


def _interpolated(ends: LowEnds, seen: Floats, trials: Floats) -> Floats:
    """Interpolate separately within groups of trials that differ by less than a factor of two."""
    found = np.empty(len(seen))
    octave = np.floor(np.log2(np.maximum(trials, 1)))
    for one in np.unique(octave):
        places = np.flatnonzero(octave == one)
        if len(places) <= _FEW:
            found[places] = ends.ends(seen[places], trials[places])
        else:
            found[places] = _Octave(ends, seen[places], trials[places]).ends()
    return found


class _Grid(NamedTuple):
    """Chebyshev points of [-1, 1], and the matrix from values at these points to coefficients."""

    points: Floats
    fit: Floats

    @classmethod
    def of(cls, degree: int) -> "_Grid":
        points = np.asarray(chebyshev.chebpts1(degree + 1), dtype=np.float64)
        fit = np.asarray(np.linalg.inv(chebyshev.chebvander(points, degree)), dtype=np.float64)
        return cls(points, fit)


_COUNTS = _Grid.of(_DEGREE)


class _Octave:
    """Computes the ends of distinct counts whose numbers of trials are similar."""

    def __init__(self, ends: LowEnds, seen: Floats, trials: Floats) -> None:
        """Compute the angles of the bends at a few numbers of trials, and interpolate them for all others."""
        self._ends, self._seen, self._trials = ends, seen, trials
        self._angle = np.arcsin(np.sqrt(seen / trials))
        least, most = trials.min(), trials.max()
        self._grid = _Grid.of(_degree_for(least, most))
        self._kinds = (least + most) / 2 + (most - least) / 2 * self._grid.points
        scaled = (2 * trials - least - most) / max(most - least, 1.0)
        self._bases = chebyshev.chebvander(scaled, len(self._grid.points) - 1)
        bends = ends.bends(self._kinds)
        counts = ends.counts_at(bends.ravel(), np.tile(self._kinds, len(bends))).reshape(bends.shape)
        self._bends_of_kinds = np.arcsin(np.sqrt(counts / self._kinds))
        self._bends = (self._bends_of_kinds @ self._grid.fit.T) @ self._bases.T

    def ends(self) -> Floats:
        """Return the ends."""
        found = np.zeros(len(self._seen))
        beside = _BESIDE / (2 * np.sqrt(self._trials))
        alone = (np.abs(self._angle - self._bends) < beside).any(axis=0) | (self._angle > self._bends[-1])
        for bend in range(len(self._bends) - 1):
            after, before = self._bends[bend], self._bends[bend + 1]
            inside = np.flatnonzero((after < self._angle) & (self._angle < before) & ~alone)
            part = (self._angle[inside] - after[inside]) / (before - after)[inside]
            for left in self._stretch(bend, inside, part, found):
                alone[left] = True
        found[alone] = self._ends.ends(self._seen[alone], self._trials[alone])
        return found

    def _stretch(self, bend: int, places: Indices, part: Floats, found: Floats) -> list[Indices]:
        """Interpolate the ends between two bends, and return the indices of those that remain to be computed.

        ``part`` is the relative position of each count between one bend and the next.
        """
        left, ranges = [], [(places, part)]
        while ranges:
            places, part = ranges.pop()
            if len(places) <= 2 * len(self._kinds) * len(_COUNTS.points):
                left.append(places)
                continue
            least, most = part.min(), part.max()
            polynomial = self._fitted(bend, least, most)
            if polynomial is None:
                upper = part > (least + most) / 2
                ranges += [(places[side], part[side]) for side in (upper, ~upper)]
            else:
                found[places] = self._evaluated(polynomial, places, (2 * part - least - most) / (most - least))
        return left

    def _evaluated(self, polynomial: Floats, places: Indices, part: Floats) -> Floats:
        basis = chebyshev.chebvander(part, _DEGREE)
        excess = np.sum(basis * (self._bases[places] @ polynomial.T), axis=1) / np.sqrt(self._trials[places])
        estimate = self._ends.support.estimate(self._seen[places], self._trials[places])
        return np.asarray(np.clip(estimate + excess, *_BETWEEN))

    def _fitted(self, bend: int, least: float, most: float) -> Floats | None:
        """Return the coefficients, by count and trials, of sqrt(n) (end - estimate); None if they do not converge."""
        after, before = self._bends_of_kinds[bend], self._bends_of_kinds[bend + 1]
        part = (least + most) / 2 + (most - least) / 2 * _COUNTS.points[:, np.newaxis]
        angle = after + part * (before - after)
        trials = np.broadcast_to(self._kinds, angle.shape).ravel()
        seen = trials * np.sin(angle.ravel()) ** 2
        support = self._ends.support
        estimate = support.estimate(seen, trials)
        excess = np.sqrt(trials) * (self._ends.ends(seen, trials) - estimate)
        coefficients = _COUNTS.fit @ excess.reshape(angle.shape) @ self._grid.fit.T
        scale = np.sqrt(trials) * support.error(np.clip(estimate, 0, 1), trials)
        close = np.abs(coefficients[-2:]).max() < _CLOSE * scale.min()
        return coefficients if close else None


def _degree_for(least: float, most: float) -> int:
    """Return the polynomial degree sufficient on such a range for a function that is singular at 0."""
    if least == most:
        return 0
    ratio = (most + least) / (most - least)
    return int(np.ceil(np.log(1e10) / np.log(ratio + np.sqrt(ratio**2 - 1))))
