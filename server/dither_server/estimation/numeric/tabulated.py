"""The law of a mechanism given as a table of cell probabilities for each point, and the choice of a mechanism's law.

Shares below points are bounded by scores that dominate them; such scores exist for every table, and need no inverse.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Self

import numpy as np
import scipy

from dither_shared import DitheredResponse, Mechanism
from dither_shared.mechanisms.numeric import NumericMechanism

from ...tally.arrays import Counts, Floats
from ...tally.tally import Tally
from .dithered import Dithered
from .law import Cuts, NumericLaw, ReportScores, Solver

_RIDGES = (1e-2, 1e-4, 1e-6, 1e-8)
"""Ridge terms relative to the largest squared singular value of the table: smaller is less biased, but noisier."""


@dataclass(frozen=True)
class _Dominating:
    """Scores h of cells whose expectation is at least the share of answers below a point.

    There are several kinds of scores. Those of a cut are computed when needed, because all together would take hundreds
    of megabytes. For each kind and cut: ``excess`` is the expectation minus the share, and ``variance`` that of the
    score, both for uniform points; ``reach`` is the greatest score minus the least; ``raised`` is the added constant;
    ``shared`` is the largest variance over people of a person's expected score.
    """

    table: "_Decomposed"
    kinds: Sequence[tuple[float, int]]
    excess: Floats
    variance: Floats
    reach: Floats
    raised: Floats
    shared: Floats

    def bounds(self, counts: Counts, alpha: float, repeats: float = 1.0) -> Floats:
        """Return upper bounds of the shares below points 1, 2, …, each of which misses with at most ``alpha``.

        Each bound uses the kind of score that is expected to be tightest, chosen by the number of reports alone. The
        bound is the empirical Bernstein inequality (Maurer and Pontil 2009, theorem 4), which holds for any law of
        bounded scores: m + sqrt(2 V ln(2/α)/n) + 7 R ln(2/α)/(3(n-1)), with mean m, sample variance V, and range R. It
        is applied to the means of people, of whom there are n over the design effect ``repeats``; their variances come
        from their reports and from the part that these share.
        """
        n = int(counts.sum())
        people = n / repeats
        if people < 2:
            return np.full(self.excess.shape[1], 1.0)
        surprise, again = math.log(2 / alpha), repeats - 1
        slack = 7 * surprise * self.reach / (3 * (people - 1))
        judged = self.variance + again * np.minimum(self.variance, self.shared)
        best = (self.excess + np.sqrt(2 * surprise * judged / n) + slack).argmin(axis=0)
        bounds = np.empty(len(best))
        for kind in set(best.tolist()):
            cuts = np.flatnonzero(best == kind)
            chosen = self.table.scores(*self.kinds[kind])[:, cuts] + self.raised[kind, cuts]
            mean = counts @ chosen / n
            variance = counts @ (chosen - mean) ** 2 / (n - 1)
            variance = variance + again * np.minimum(variance, self.shared[kind, cuts])
            bounds[cuts] = mean + np.sqrt(2 * surprise * variance / n) + slack[kind, cuts]
        return bounds


@dataclass(frozen=True)
class _Decomposed:
    """The singular values of a table, with its left (points) and right (cells) singular vectors."""

    left: Floats
    sizes: Floats
    right: Floats

    def scores(self, ridge: float, width: int) -> Floats:
        """Return scores of shape (cells, cuts), fitted to ramps that fall from 1 to 0 over ``width`` points."""
        points = len(self.left)
        ramp = np.clip(1 - (np.arange(points)[:, np.newaxis] - np.arange(points - 1)) / width, 0, 1)
        inverse = self.sizes / (self.sizes**2 + ridge * self.sizes[0] ** 2)
        return np.asarray(self.right.T @ (inverse[:, np.newaxis] * (self.left.T @ ramp)))


def dominating(table: Floats) -> _Dominating:
    """Return scores for a table of shape (points, cells).

    Ridge regression fits the expectations of scores, ``table`` times the scores, to a ramp that falls from 1 to 0 over
    some points after a cut. Then the scores are raised until no expectation is below the step function of the cut.
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
        variance = even @ (scores - mean) ** 2
        shared = np.ptp(table @ scores, axis=0) ** 2 / 4
        facts.append((mean + raised - step.mean(axis=0), variance, np.ptp(scores, axis=0), raised, shared))
    return _Dominating(decomposed, kinds, *np.array(facts).swapaxes(0, 1))


@dataclass(frozen=True, eq=False)
class Tabulated:
    """The law with cell probabilities ``table``, shape (points, cells), and the ``score`` of each cell.

    The expected score is the answer in parts of the range, for every point.
    """

    table: Floats
    score: Floats

    @classmethod
    def of(cls, mechanism: NumericMechanism) -> Self:
        """Return the law of a mechanism."""
        table = [[float(chance) for chance in mechanism.cell_law(point)] for point in range(mechanism.size)]
        return cls(np.array(table), np.array([float(mechanism.mean_score(cell)) for cell in range(mechanism.cells)]))

    @property
    def points(self) -> int:
        """How many points the grid has."""
        return len(self.table)

    def scores(self, tally: Tally) -> ReportScores:
        """Return the scores of the reports of a tally."""
        return ReportScores(self.score, tally.counts[0])

    def noise_variance(self, tally: Tally) -> float:
        """Return the noise variance of a score, or an upper bound of it, because the true answers are not known well.

        It is the sample variance of the scores, which includes that of the answers, clipped to the least and the worst.
        """
        if tally.total < 2:
            return self.worst_variance
        return min(max(self.scores(tally).variance, float(self._variances.min())), self.worst_variance)

    def least_noise_variance(self, tally: Tally) -> float:
        """Return the noise variance of a score for the answer with the smallest one."""
        return float(self._variances.min())

    @property
    def worst_variance(self) -> float:
        """The noise variance of a score for the answer with the largest one."""
        return float(self._variances.max())

    @cached_property
    def _variances(self) -> Floats:
        """The noise variance of a score, for each answer."""
        return np.asarray(self.table @ self.score**2 - (self.table @ self.score) ** 2)

    def permanent_variance(self, tally: Tally) -> float:
        """Return 0: a table has no permanent draw."""
        return 0.0

    def cuts(self, tally: Tally, confidence: float) -> Cuts:
        """Return the shares below all points, as intervals without estimates.

        Unbiased estimates would need the inverse of the table, which amplifies the noise beyond use (for Gaussian noise
        by powers of ten), so ``frequency`` and its errors are NaN. Intervals come from scores that dominate the share.
        """
        unknown = np.full(self.points - 1, np.nan)
        rising, falling = self._dominating
        (counts,), tail, repeats = tally.counts, (1 - confidence) / 2, tally.repeats.effect
        high = np.clip(rising.bounds(counts, tail, repeats), 0, 1)
        low = np.clip(1 - falling.bounds(counts, tail, repeats)[::-1], 0, 1)
        return Cuts.between(unknown, unknown, unknown, np.minimum(low, high), np.maximum(low, high))

    @cached_property
    def _dominating(self) -> tuple[_Dominating, _Dominating]:
        """Scores for the shares below points, and for the shares above them, with the points in reverse order."""
        return dominating(self.table), dominating(self.table[::-1])

    def cell_shares(self, tally: Tally) -> Floats:
        """Return the share of the reports in each cell."""
        return np.asarray(tally.counts[0] / max(tally.total, 1))

    @property
    def cost(self) -> int:
        """The cost of one estimate, which computes its matrix in each of about ten steps."""
        return 300 + self.points**2 * len(self.score) // 10_000

    @property
    def floor(self) -> float:
        """0: no common part of the probabilities is separated."""
        return 0.0

    def spread(self, curve: Floats) -> Floats:
        """Return the probability of each cell under a curve."""
        return np.asarray(curve @ self.table)

    def gathered(self, cells: Floats) -> Floats:
        """Return for each point the sum over cells, weighted by their probabilities."""
        return np.asarray(self.table @ cells)

    def solver(self, cells: Floats, points: Floats) -> Solver:
        """Factor the matrix."""
        matrix = (self.table * cells) @ self.table.T
        matrix.flat[:: self.points + 1] += points
        factor = scipy.linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        return lambda right: np.asarray(scipy.linalg.cho_solve(factor, right, check_finite=False))


LAWS: dict[type[Mechanism], Callable[[Any], NumericLaw]] = {
    DitheredResponse: Dithered.of,
    NumericMechanism: Tabulated.of,  # type: ignore[type-abstract]  # the entry holds for all its subclasses
}
"""Constructors of laws by the mechanism's class or its nearest base class: a law of two levels, or a table."""


@lru_cache(maxsize=256)
def law_of(mechanism: Mechanism) -> NumericLaw:
    """Return the law of a mechanism of numbers; it is cached, because a table takes a while to compute."""
    known = next(LAWS[each] for each in type(mechanism).__mro__ if each in LAWS)
    return known(mechanism)
