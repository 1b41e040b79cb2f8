"""Bounds of shares below points from any table of chances, without its inverse."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....tally.arrays import Counts, Floats

__all__ = ["Dominating", "dominating"]


_RIDGES = (1e-2, 1e-4, 1e-6, 1e-8)
"""Of squares of the table's singular values, in parts of the largest: the less, the nearer and the noisier."""


@dataclass(frozen=True)
class Dominating:
    """Scores h of cells, whose expectation is no less than the share of answers below a point.

    There are several kinds of them, and those of a cut are made when they are needed, for all would take hundreds of
    megabytes. Of each kind and cut: ``excess``, by how much the expectation is more, and ``variance``, of the score,
    both if all points are alike; ``reach``, from the least score to the greatest; ``raised``, the constant in it.
    """

    table: "_Decomposed"
    kinds: Sequence[tuple[float, int]]
    excess: Floats
    variance: Floats
    reach: Floats
    raised: Floats

    def bounds(self, counts: Counts, alpha: float) -> Floats:
        """Return bounds above the shares below points 1, 2, …, each of which misses with at most ``alpha``.

        Of the kinds of scores that one is taken of which, by the number of reports alone, the tightest is expected. The
        bound is the empirical Bernstein inequality (Maurer and Pontil 2009, theorem 4), which holds for any law of
        bounded scores: m + sqrt(2 V ln(2/α)/n) + 7 R ln(2/α)/(3(n-1)), with mean m, sample variance V, and range R.
        """
        n = int(counts.sum())
        if n < 2:
            return np.full(self.excess.shape[1], 1.0)
        surprise = math.log(2 / alpha)
        slack = 7 * surprise * self.reach / (3 * (n - 1))
        best = (self.excess + np.sqrt(2 * surprise * self.variance / n) + slack).argmin(axis=0)
        bounds = np.empty(len(best))
        for kind in set(best.tolist()):
            cuts = np.flatnonzero(best == kind)
            chosen = self.table.scores(*self.kinds[kind])[:, cuts] + self.raised[kind, cuts]
            mean = counts @ chosen / n
            variance = counts @ (chosen - mean) ** 2 / (n - 1)
            bounds[cuts] = mean + np.sqrt(2 * surprise * variance / n) + slack[kind, cuts]
        return bounds


@dataclass(frozen=True)
class _Decomposed:
    """A table's singular values, and its vectors on the side of points (``left``) and of cells (``right``)."""

    left: Floats
    sizes: Floats
    right: Floats

    def scores(self, ridge: float, width: int) -> Floats:
        """Return scores of shape (cells, cuts), fitted to ramps that fall from 1 to 0 over ``width`` points."""
        points = len(self.left)
        ramp = np.clip(1 - (np.arange(points)[:, np.newaxis] - np.arange(points - 1)) / width, 0, 1)
        inverse = self.sizes / (self.sizes**2 + ridge * self.sizes[0] ** 2)
        return np.asarray(self.right.T @ (inverse[:, np.newaxis] * (self.left.T @ ramp)))


def dominating(table: Floats) -> Dominating:
    """Return scores for a table of shape (points, cells).

    A ramp that falls from 1 to 0 over some points from a cut on is fitted by ridge regression to what scores can have
    as expectations, the rows of ``table`` times them, and the scores are raised until none is below the cut's step.
    """
    points = len(table)
    decomposed = _Decomposed(*np.linalg.svd(table, full_matrices=False))
    step = (np.arange(points)[:, np.newaxis] < np.arange(1, points)).astype(np.float64)
    even = table.mean(axis=0)
    kinds = [(ridge, 2**power) for ridge in _RIDGES for power in range((points - 1).bit_length())]
    facts = []
    for kind in kinds:
        scores = decomposed.scores(*kind)
        raised = (step - table @ scores).max(axis=0)
        mean = even @ scores
        variance = np.maximum(even @ scores**2 - mean**2, 0)
        facts.append((mean + raised - step.mean(axis=0), variance, np.ptp(scores, axis=0), raised))
    return Dominating(decomposed, kinds, *np.array(facts).swapaxes(0, 1))
