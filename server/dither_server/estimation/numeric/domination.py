"""Bounds of shares below points from any table of chances, without its inverse."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Dominating", "dominating"]

Floats = NDArray[np.float64]

_RIDGES = (1e-2, 1e-4, 1e-6, 1e-8)
"""Of squares of the table's singular values, in parts of the largest: the less, the nearer and the noisier."""


@dataclass(frozen=True)
class Dominating:
    """Scores h of cells, whose expectation is no less than the share of answers below a point.

    Arrays are of kinds of scores by cells by cuts. ``excess``: by how much the expectation is more, ``variance``: of
    the score, both if all points are alike.
    """

    scores: Floats
    excess: Floats
    variance: Floats

    def bounds(self, counts: NDArray[np.int64], alpha: float) -> Floats:
        """Return bounds above the shares below points 1, 2, …, each of which misses with at most ``alpha``.

        Of the kinds of scores that one is taken of which, by the number of reports alone, the tightest is expected. The
        bound is the empirical Bernstein inequality (Maurer and Pontil 2009, theorem 4), which holds for any law of
        bounded scores: m + sqrt(2 V ln(2/α)/n) + 7 R ln(2/α)/(3(n-1)), with mean m, sample variance V, and range R.
        """
        n = int(counts.sum())
        if n < 2:
            return np.full(self.excess.shape[1], 1.0)
        surprise = math.log(2 / alpha)
        reach = np.ptp(self.scores, axis=1)
        expected = self.excess + np.sqrt(2 * surprise * self.variance / n) + 7 * surprise * reach / (3 * (n - 1))
        best = expected.argmin(axis=0), np.arange(self.excess.shape[1])
        chosen = self.scores[best[0], :, best[1]].T
        mean = counts @ chosen / n
        variance = counts @ (chosen - mean) ** 2 / (n - 1)
        return np.asarray(mean + np.sqrt(2 * surprise * variance / n) + 7 * surprise * reach[best] / (3 * (n - 1)))


def dominating(table: Floats) -> Dominating:
    """Return scores for a table of shape (points, cells).

    A ramp that falls from 1 to 0 over some points from a cut on is fitted by ridge regression to what scores can have
    as expectations, the rows of ``table`` times them, and the scores are raised until none is below the cut's step.
    """
    points = len(table)
    left, sizes, right = np.linalg.svd(table, full_matrices=False)
    cut = np.arange(1, points)
    step = (np.arange(points)[:, np.newaxis] < cut).astype(np.float64)
    widths = [2**power for power in range((points - 1).bit_length())]
    kinds = []
    for ridge in _RIDGES:
        inverse = right.T * (sizes / (sizes**2 + ridge * sizes[0] ** 2)) @ left.T
        for width in widths:
            ramp = np.clip(1 - (np.arange(points)[:, np.newaxis] - cut + 1) / width, 0, 1)
            scores = inverse @ ramp
            kinds.append(scores + (step - table @ scores).max(axis=0))
    scores = np.array(kinds)
    even = table.mean(axis=0)
    mean = np.einsum("y,kyc->kc", even, scores)
    variance = np.einsum("y,kyc->kc", even, scores**2) - mean**2
    return Dominating(scores, mean - step.mean(axis=0), np.maximum(variance, 0))
