"""What follows from a mechanism's law: variances, weights and bounds that analyses ask for.

Each is a sound default, from the fields that every mechanism has; a mechanism that knows more says so itself.
"""

from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from .primitives.two_level import TwoLevel
from .rows import Shape

__all__ = ["Facts"]


class Facts:
    """The facts of a mechanism, whose fields are described at ``Mechanism``."""

    own_cells: ClassVar[bool]
    independent_cells: ClassVar[bool]
    size: int | None
    shape: Shape
    listed: int
    cells: int
    a: Fraction
    b: Fraction
    p: Fraction
    q: Fraction
    coverage: Fraction

    def variance(self, frequency: float = 0.0) -> float:
        """Return n · Var[estimate] of a value of that frequency, from noise alone (the histogram fixed).

        q(1-q)/(p-q)² + f·(1-p-q)/(p-q): Wang et al. 2017, equation 2 and its term in f. Where a share c < 1 of the
        reports covers the value, this is divided by c, and which users these are adds (1/c - 1)·f(1-f).
        """
        constant, slope, thinning = self._variance_terms
        return thinning * (constant + frequency * slope) + (thinning - 1) * frequency * (1 - frequency)

    @cached_property
    def _variance_terms(self) -> tuple[float, float, float]:
        gap = self.p - self.q
        return float(self.q * (1 - self.q) / gap**2), float((1 - self.p - self.q) / gap), float(1 / self.coverage)

    @property
    def marks(self) -> int:
        """How many cells a value marks in a cohort that speaks of it."""
        return 1

    @property
    def weight(self) -> int | None:
        """How many cells every report has; None if that varies."""
        return {Shape.SYMBOL: 1, Shape.LIST: self.listed, Shape.BITS: None}[self.shape]

    @property
    def weight_moments(self) -> tuple[float, float] | None:
        """Mean and variance of the cells that a report has, the same for every value; None if unknown or fixed."""
        if not self.independent_cells or self.coverage != 1:  # else not every value marks as many
            return None
        marked, others, a, b = self.marks, self.cells - self.marks, float(self.a), float(self.b)
        return marked * a + others * b, marked * a * (1 - a) + others * b * (1 - b)

    @property
    def independent_supports(self) -> bool:
        """Whether the supports of all values are independent, given the histogram: each is a cell of its own."""
        return self.own_cells and self.independent_cells

    @property
    def joint_support(self) -> tuple[Fraction, Fraction] | None:
        """P[a report supports u and v], if the user's value is one of the two and if it is a third; None if not known.

        Where not all values are alike it is the mean over the third values that there is room for.
        """
        return (self.p * self.q, self.q**2) if self.independent_cells and self.size is not None else None

    @property
    def two_level(self) -> TwoLevel | None:
        """The law of one report as one of two levels, with its exact shares; None if it is none, or not known to be.

        What shuffling is worth follows from it (the server's ``analysis/shuffling``).
        """
        return None

    @property
    def room(self) -> int | None:
        """The largest ``size`` with the same cohorts and cells: what it has beyond its own stands for no value."""
        return self.size

    @property
    def even_runs(self) -> tuple[int, int] | None:
        """A cell, and how many form a run: from that cell on all runs are reported alike, whatever the values are.

        This is over all cohorts together; None where no cells are known to be.
        """
        return None

    @property
    def reach(self) -> tuple[float, float]:
        """The least and the most that one report, honest or forged, adds to n times an estimate."""
        p, q = float(self.p), float(self.q)
        ends = (-q / (p - q), (1 - q) / (p - q))
        return min(ends), max(ends)

    @property
    def fitted_cells(self) -> float:
        """How many independent cells the estimate of one value averages; 1 where it is a count of support."""
        return 1.0

    @property
    def collision_variance(self) -> float:
        """Variance over fixed hash functions of an estimate's bias, per Σ f² of the other values; 0 without any."""
        return 0.0

    @property
    def collision_cube(self) -> float:
        """The third central moment of that bias, per Σ f³."""
        return 0.0

    @property
    def risk(self) -> float:
        """The total squared error over a listed domain, times n: k·V(0) + V(1) - V(0), whatever the frequencies.

        (V is linear in f, but for the term of thinning, which is left out.)
        """
        size = self.size or 0
        return size * self.variance(0.0) + self.variance(1.0) - self.variance(0.0)
