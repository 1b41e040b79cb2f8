"""Bound the ε of few shuffled reports of any mechanism, such as those of numbers, by one blanket for all values.

A report of value x is y with P[y|x]. With ω(y) = min_x P[y|x] and γ = Σ ω, each report is, with probability γ, drawn
from ω/γ independently of its value, and then hides the report in question (Balle, Bell, Gascón and Nissim, CRYPTO 2019,
lemma 5.3). For two values a and b among n reports, with E = e^ε,

    δ_ab(ε) = E[(X_1 + … + X_n)_+]/n,    X = 0 with probability 1 - γ,
                                          X = (P[y|a] - E P[y|b])/ω(y) with probability ω(y) of each y.

E[X] = 1 - E for all a and b. So one law is enough for all pairs: let Π(t) = max_ab E[(X_ab - t)_+]. As a maximum of
convex functions Π is convex; it is 1 - E - t on the far left, like every pair's function, and 0 on the far right; so it
is E[(X* - t)_+] of one law X*, and E[f(X_ab)] <= E[f(X*)] for every convex f (a line and a mixture of (· - t)_+). With
f(x) = E[(x + Z)_+] for independent Z, the steps of a sum can be replaced by X* one after the other, and no replacement
decreases E[(·)_+]. So max_ab δ_ab(ε) <= E[(X*_1 + … + X*_n)_+]/n.

Π is evaluated at the points of a lattice and interpolated linearly, which is an upper bound because Π is convex. At
these points E[(X - t)_+] of a pair equals that of X with each value split between its two neighbours such that it keeps
its mean. If one pair attains the maximum at three neighbouring points, the probability of the middle point is that
pair's; otherwise it is the second difference of Π or, left of 0, of E[(t - X)_+], which is the same, and ``_SLACK`` is
added for rounding. Overestimated probabilities can only increase δ.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dither_shared import Mechanism
from dither_shared.rows import Shape

from ...tally.arrays import Floats
from .lattice import StepLaw

_POINTS, _MOST_POINTS = 256, 1 << 15
"""Approximate number of lattice points in the range of X, more if its greatest value is near 0; and the maximum."""

_MOST_WORK = 1 << 22
"""Maximum of values² times possible reports for which this bound is computed."""

_SLACK = 1e-12
"""Bound of the rounding error of a second difference, relative to the sums over some hundred points in it."""


@dataclass(frozen=True, eq=False)
class FiniteLaw:
    """The law of a report: ``odds`` holds P[y|x]/ω(y) for each value x (rows) and report y; ``common`` holds ω(y)."""

    odds: Floats
    common: Floats
    ratio: Fraction

    def alone(self, after: float) -> float:
        """Return max_ab E[(X_ab)_+] for ε = ``after``: the δ of a single report without any other."""
        return max(float((np.maximum(one - math.exp(after) * self.odds, 0.0) @ self.common).max()) for one in self.odds)

    def steps(self, after: float) -> StepLaw | None:
        """Return X* for ε = ``after``; None if X is never positive, or too seldom for the size of the lattice."""
        more = math.exp(after)
        low, high = self.odds.min(axis=0), self.odds.max(axis=0)
        least, greatest = float((low - more * high).min()), float((high - more * low).max())
        if greatest <= 0 or greatest - least > _MOST_POINTS * greatest:
            return None
        unit = math.ldexp(greatest, -max(0, math.ceil(math.log2(_POINTS * greatest / (greatest - least)))))
        zero = 2 - math.floor(least / unit)  # the index of 0, with two free points at either end
        masses = self._masses(more, unit, zero, zero + math.ceil(greatest / unit) + 3)
        kept = masses > 0
        values = unit * (np.flatnonzero(kept) - zero).astype(float)
        return StepLaw(values, masses[kept], max(0.0, math.fsum(masses) - 1))

    def _masses(self, more: float, unit: float, zero: int, points: int) -> Floats:
        """Return the probabilities of X* at the points of a lattice."""
        above, below = _Greatest(points), _Greatest(points)
        values, nothing = len(self.odds), max(0.0, 1 - math.fsum(self.common))
        rows = points * np.arange(values)[:, np.newaxis]
        for place, one in enumerate(self.odds):
            exact = (one - more * self.odds) / unit + zero
            floor = np.floor(exact).astype(np.int64)
            parts = exact - floor
            at = np.concatenate([(rows + floor).ravel(), (rows + floor + 1).ravel()])
            weights = np.concatenate([(self.common * (1 - parts)).ravel(), (self.common * parts).ravel()])
            masses = np.asarray(np.bincount(at, weights, values * points), dtype=float).reshape(values, points)
            masses[:, zero] += nothing
            above.add(masses, place)
            below.add(masses[:, ::-1], place)
        return np.concatenate([below.masses()[::-1][:zero], above.masses()[zero:]])


class _Greatest:
    """max_ab E[(X_ab - t)_+] at the points t of a lattice, in units of it, with the pair that attains it."""

    def __init__(self, points: int) -> None:
        self._best, self._pair, self._mass = np.full(points, -1.0), np.zeros(points, np.int64), np.zeros(points)

    def add(self, masses: Floats, first: int) -> None:
        """Include the pairs of the value ``first`` with each other value, given one row of probabilities per pair."""
        beyond = np.cumsum(masses[:, ::-1], axis=1)[:, ::-1] - masses
        sums = np.cumsum(beyond[:, ::-1], axis=1)[:, ::-1]  # Σ_i (i - j)_+ masses_i at place j
        second, places = sums.argmax(axis=0), np.arange(sums.shape[1])
        higher = sums[second, places] > self._best
        self._best[higher] = sums[second, places][higher]
        self._pair[higher] = (first * len(masses) + second)[higher]
        self._mass[higher] = masses[second, places][higher]

    def masses(self) -> Floats:
        """Return the probabilities of the law whose expectations these are."""
        best, pair, found = self._best, self._pair, self._mass.copy()
        bent = best[:-2] - 2 * best[1:-1] + best[2:]
        changes = (pair[:-2] != pair[1:-1]) | (pair[2:] != pair[1:-1])
        found[1:-1][changes] = np.maximum(bent[changes], 0.0) + _SLACK * best[:-2][changes]
        return found


@lru_cache(maxsize=64)
def finite_law(mechanism: Mechanism) -> FiniteLaw | None:
    """Return the law of a mechanism; None if a report is not a single symbol, or there are too many symbols."""
    size = mechanism.size
    if mechanism.shape is not Shape.SYMBOL or size is None:
        return None
    if size**2 * mechanism.cells * mechanism.cohorts > _MOST_WORK:
        return None
    weights = mechanism.cohort_law or (Fraction(1, mechanism.cohorts),) * mechanism.cohorts
    laws = [
        [weight * chance for cohort, weight in enumerate(weights) for chance in mechanism.cell_law(item, cohort)]
        for item in range(size)
    ]
    common = [min(column) for column in zip(*laws, strict=True)]
    odds = [[float(chance / least) for chance, least in zip(law, common, strict=True)] for law in laws]
    return FiniteLaw(np.array(odds), np.array([float(least) for least in common]), mechanism.ratio)
