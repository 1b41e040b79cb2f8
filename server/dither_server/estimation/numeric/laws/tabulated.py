"""The law of a mechanism that is a table: the chance of each cell, for each point."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Protocol, Self

import numpy as np
from scipy import linalg

from ....tally.arrays import Floats
from ....tally.tally import Tally
from ..cuts import Cuts
from ..likelihood import Solver
from .domination import Dominating, dominating
from .law import Scores

__all__ = ["Tabulated", "TabulatedFacts"]


class TabulatedFacts(Protocol):
    """The facts of a tabulated mechanism, whose only cohort is 0."""

    @property
    def size(self) -> int:
        """How many points there are."""

    @property
    def cells(self) -> int:
        """How many cells there are."""

    def cell_law(self, item: int) -> Sequence[Fraction]:
        """Return the chances of the cells, for a point."""

    def mean_score(self, cell: int) -> Fraction:
        """Return the score of a cell."""


@dataclass(frozen=True, eq=False)
class Tabulated:
    """The law with the chances ``table`` of cells, shape (points, cells), and the ``score`` of each cell.

    The expected score is the answer in parts of the range, for every point.
    """

    table: Floats
    score: Floats

    @classmethod
    def of(cls, facts: TabulatedFacts) -> Self:
        """Return the law of a mechanism."""
        table = [[float(chance) for chance in facts.cell_law(point)] for point in range(facts.size)]
        return cls(np.array(table), np.array([float(facts.mean_score(cell)) for cell in range(facts.cells)]))

    @property
    def points(self) -> int:
        """How many points the grid has."""
        return len(self.table)

    def scores(self, tally: Tally) -> Scores:
        """Return the scores of the reports of a tally."""
        return Scores(self.score, tally.counts[0])

    def noise_variance(self, tally: Tally) -> float:
        """Return the noise variance of a score, or somewhat more: for whose answers these are is not well told.

        It is the sample variance of the scores, that of the answers included, kept between the least and the worst.
        """
        if tally.total < 2:
            return self.worst_variance
        return min(max(self.scores(tally).variance, float(self._variances.min())), self.worst_variance)

    def least_noise_variance(self, tally: Tally) -> float:
        """Return the noise variance of a score, for the answer where it is smallest."""
        return float(self._variances.min())

    @property
    def worst_variance(self) -> float:
        """The noise variance of a score, for the answer where it is largest."""
        return float(self._variances.max())

    @cached_property
    def _variances(self) -> Floats:
        """The noise variance of a score, for each answer."""
        return np.asarray(self.table @ self.score**2 - (self.table @ self.score) ** 2)

    def cuts(self, tally: Tally, confidence: float) -> Cuts:
        """Return the shares below all points, by intervals alone.

        Unbiased ones would take the inverse of the table, which magnifies noise beyond use (for Gaussian noise by
        powers of ten), so ``frequency`` and its errors are NaN. Intervals take scores that dominate the share.
        """
        unknown = np.full(self.points - 1, np.nan)
        rising, falling = self._dominating
        tail = (1 - confidence) / 2
        high = np.clip(rising.bounds(tally.counts[0], tail), 0, 1)
        low = np.clip(1 - falling.bounds(tally.counts[0], tail)[::-1], 0, 1)
        return Cuts.between(unknown, unknown, unknown, np.minimum(low, high), np.maximum(low, high))

    @cached_property
    def _dominating(self) -> tuple[Dominating, Dominating]:
        """Scores of the shares below points, and of those above when the points are counted from the other end."""
        return dominating(self.table), dominating(self.table[::-1])

    def cell_shares(self, tally: Tally) -> Floats:
        """Return the share of the reports in each cell."""
        return np.asarray(tally.counts[0] / max(tally.total, 1))

    @property
    def cost(self) -> int:
        """The cost of one estimate: of a matrix that is made anew in each of some ten steps."""
        return 300 + self.points**2 * len(self.score) // 10_000

    @property
    def floor(self) -> float:
        """No chance that every point has is set apart."""
        return 0.0

    def spread(self, curve: Floats) -> Floats:
        """Return the chances of the cells of a curve."""
        return np.asarray(curve @ self.table)

    def gathered(self, cells: Floats) -> Floats:
        """Return the sum over cells, weighed by their chances, of each point."""
        return np.asarray(self.table @ cells)

    def solver(self, cells: Floats, points: Floats) -> Solver:
        """Factor the matrix."""
        matrix = (self.table * cells) @ self.table.T
        matrix.flat[:: self.points + 1] += points
        factor = linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        return lambda right: np.asarray(linalg.cho_solve(factor, right, check_finite=False))
