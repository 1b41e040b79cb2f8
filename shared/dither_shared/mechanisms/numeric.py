"""Mechanisms of numeric questions: their items are the points 0, 1, …, size - 1 of an even grid.

Point v stands for the share x = v/(size - 1) of the range. Each report has a score, an exact fraction, whose
expectation is the x of its user, so the mean of the scores is an unbiased estimate of the mean of the answers.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm
from typing import ClassVar

from ..errors import ParameterError
from ..light import cached_property
from ..mechanism import NUMBERS, Item, Items, Mechanism
from ..primitives.entropy import Entropy
from ..primitives.probability import ONE, as_probability, checked_epsilon, exp_below, threshold_up
from ..primitives.tabulated import TabulatedLaw, worst_ratio
from ..rows import Shape
from .checks import checked_count, index_of

MAX_RESOLUTION = 128
"""Maximum steps of a tabulated grid: the exact scores of a finer one take minutes."""


@dataclass(frozen=True, kw_only=True)
class NumericMechanism(Mechanism):
    """A mechanism for answers on a grid, whose reports have an unbiased score of the mean.

    All variances are per user, in squares of the range, and from noise alone: n·Var[estimated mean] for fixed answers.
    If users are drawn from a population, the variance of their answers is added.
    """

    items: ClassVar[Items] = NUMBERS
    pure: ClassVar[bool] = False

    size: int

    @abstractmethod
    def mean_score(self, cell: int, cohort: int = 0) -> Fraction:
        """Return the score of a report of ``cell`` in ``cohort``: its expectation is the share x."""

    @abstractmethod
    def mean_variance(self, item: Item) -> Fraction:
        """Return the variance of the score of a user whose answer is the point ``item``, over cohorts and noise."""

    @cached_property
    def worst_mean_variance(self) -> Fraction:
        """The largest ``mean_variance`` of any point."""
        return max(self.mean_variance(item) for item in range(self.size))

    @cached_property
    def average_mean_variance(self) -> Fraction:
        """The mean of ``mean_variance`` over answers that are uniform on the range; each end counts for half a step."""
        ends = (self.mean_variance(0) + self.mean_variance(self.size - 1)) / 2
        return (sum((self.mean_variance(item) for item in range(1, self.size - 1)), ends)) / (self.size - 1)

    @cached_property
    def reach(self) -> tuple[float, float]:
        """The least and the most that one report, honest or forged, adds to n times the estimated mean."""
        scores = [self.mean_score(cell, cohort) for cell in range(self.cells) for cohort in range(self.cohorts)]
        return float(min(scores)), float(max(scores))


@dataclass(frozen=True, kw_only=True)
class TabulatedMechanism(NumericMechanism):
    """A mechanism whose cells are the points themselves, with a tabulated law for each: symmetric about the middle."""

    keys: ClassVar[frozenset[str]] = frozenset({"epsilon", "resolution"})

    _laws: tuple[TabulatedLaw, ...] = field(init=False, repr=False, compare=False)

    def _tabulate(self, weights: Sequence[Sequence[int]]) -> None:
        """Take laws proportional to ``weights``; row v must peak at v."""
        laws = tuple(TabulatedLaw.rounded(row, peak) for peak, row in enumerate(weights))
        self._derive(shape=Shape.SYMBOL, cells=len(laws), ratio=worst_ratio(laws), _laws=laws)

    def marked(self, item: Item, cohort: int = 0) -> tuple[int, ...]:
        """Return the likeliest cell, which is the point itself."""
        return (index_of(item, self.size),)

    def cell_law(self, item: Item, cohort: int = 0) -> tuple[Fraction, ...]:
        """Return the row of the table."""
        return self._laws[index_of(item, self.size)].probabilities

    def randomize(self, item: Item, entropy: Entropy, cohort: int = 0, permanent: Entropy | None = None) -> bytes:
        """Return a point drawn by the law of ``item``."""
        return self.row_format.symbol(self._laws[index_of(item, self.size)].draw(entropy))

    def mean_score(self, cell: int, cohort: int = 0) -> Fraction:
        """Return the score of ``cell``."""
        return self._mean_scores[cell]

    def mean_variance(self, item: Item) -> Fraction:
        """Return Σ_y P(y | x) g(y)² - x²."""
        point = index_of(item, self.size)
        below, scores = self._whole_scores
        square = sum(weight * score**2 for weight, score in zip(self._laws[point].weights, scores, strict=True))
        return Fraction(square, ONE * below**2) - Fraction(point, self.size - 1) ** 2

    @cached_property
    def _mean_scores(self) -> tuple[Fraction, ...]:
        """The g with Σ_y P(y | x) g(y) = x for all points x.

        The table is symmetric about the middle, so g - 1/2 is antisymmetric, and half of the equations are enough.
        """
        last, half = self.size - 1, self.size // 2
        rows = [law.weights for law in self._laws[:half]]
        odd = solve(
            [[row[y] - row[last - y] for y in range(half)] for row in rows],
            [(2 * x - last) * ONE for x in range(half)],
        )
        first = [Fraction(1, 2) + one / (2 * last) for one in odd]
        middle = [Fraction(1, 2)] * (self.size % 2)
        return (*first, *middle, *(1 - score for score in reversed(first)))

    @cached_property
    def _whole_scores(self) -> tuple[int, tuple[int, ...]]:
        """The scores as whole numbers over a common denominator, which comes first."""
        below = lcm(*(score.denominator for score in self._mean_scores))
        return below, tuple(score.numerator * (below // score.denominator) for score in self._mean_scores)


def points_of(size: int | None, resolution: object, name: str) -> int:
    """Return the points of a grid of ``resolution`` steps; ``size`` must not be given for the mechanism ``name``."""
    check_no_size(size, name)
    return checked_count(resolution, "resolution", 1, MAX_RESOLUTION) + 1


def check_no_size(size: int | None, name: str) -> None:
    """Raise ParameterError if a ``size`` is given to a mechanism that makes its own grid."""
    if size is not None:
        raise ParameterError("size", f"{name} takes numbers; its grid follows from the resolution")


def checked_points(size: int) -> int:
    """Return the number of points of a tabulated grid, at least 2."""
    return checked_count(size, "size", 2, MAX_RESOLUTION + 1)


def checked_decay(decay: Fraction) -> Fraction:
    """Return the ratio of neighbouring probabilities, rounded up to a multiple of 2^-64."""
    rounded = Fraction(threshold_up(as_probability(decay, "decay")), ONE)
    if not 0 < rounded < 1:
        raise ParameterError(
            "decay", f"{float(decay):g} must lie strictly between 0 (no privacy) and 1 (no information)"
        )
    return rounded


def decay_at(epsilon: float, steps: int) -> Fraction:
    """Return e^(-ε/``steps``)."""
    return 1 / exp_below(checked_epsilon(epsilon) / steps)


def powers(decay: Fraction, most: int) -> list[int]:
    """Return ``decay``^0, …, ``decay``^``most``, times 2^(64 ``most``): integers for a multiple of 2^-64."""
    base = int(decay * ONE)
    return [base**power << 64 * (most - power) for power in range(most + 1)]


def solve(matrix: Sequence[Sequence[int]], targets: Sequence[int]) -> tuple[Fraction, ...]:
    """Return the x with Σ_j ``matrix[i][j]`` x_j = ``targets[i]`` for every i.

    Elimination without fractions (Bareiss 1968): every number on the way is a determinant of a part of the matrix, so
    n equations in numbers of b bits take n³/3 products of at most n·b bits. Raises ParameterError if the matrix is
    singular.
    """
    rows = [[*row, target] for row, target in zip(matrix, targets, strict=True)]
    size, last = len(rows), 1
    for step in range(size):
        pivot_row = next((row for row in range(step, size) if rows[row][step]), None)
        if pivot_row is None:
            raise ParameterError("matrix", "is singular; its equations have no single solution")
        rows[step], rows[pivot_row] = rows[pivot_row], rows[step]
        pivot, tail = rows[step][step], rows[step][step + 1 :]
        for row in range(step + 1, size):
            factor, rest = rows[row][step], rows[row][step + 1 :]
            rows[row][step + 1 :] = [
                (pivot * mine - factor * theirs) // last for mine, theirs in zip(rest, tail, strict=True)
            ]
        last = pivot
    # ``last`` is now the determinant up to its sign, and each x_j a whole number over it (Cramer).
    solution: list[int] = []
    for step in reversed(range(size)):
        known = sum(weight * x for weight, x in zip(rows[step][step + 1 : size], solution, strict=True))
        solution.insert(0, (last * rows[step][size] - known) // rows[step][step])
    return tuple(Fraction(x, last) for x in solution)
