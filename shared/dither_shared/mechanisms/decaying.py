"""Noise that decays with distance: a point of the grid, folded into the range or normalized over it."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from ..primitives.probability import ONE
from .numeric import TabulatedMechanism, checked_decay, checked_points, decay_at, points_of, powers


@dataclass(frozen=True, kw_only=True)
class _Decaying(TabulatedMechanism):
    """A mechanism whose probabilities decrease by the factor ``decay`` per step of distance.

    ``decay`` is rounded up to a multiple of 2^-64, and probabilities as ``TabulatedLaw.rounded`` says: ε never grows.
    """

    decay: Fraction

    def __post_init__(self) -> None:
        last, decay = checked_points(self.size) - 1, checked_decay(self.decay)
        power = powers(decay, last)
        self._derive(decay=decay)
        shares = [self._share(y, last) for y in range(self.size)]
        self._tabulate([[power[abs(x - y)] * shares[y] for y in range(self.size)] for x in range(self.size)])

    def _share(self, cell: int, last: int) -> int:
        """Return the factor of the weights of a cell."""
        return 1

    @classmethod
    def calibrate(cls, size: int | None, epsilon: float, *, resolution: int = 64) -> Self:
        """Return the mechanism on a grid of ``resolution`` steps; ``size`` must be None, because it follows."""
        points = points_of(size, resolution, cls.name)
        return cls(size=points, decay=decay_at(epsilon, points - 1))


@dataclass(frozen=True, kw_only=True)
class DiscreteLaplace(_Decaying):
    """Two-sided geometric noise (Ghosh, Roughgarden and Sundararajan 2009), folded into the range.

    On the grid 0, …, m, with r = ``decay`` = e^(-ε/m), the noise k has the law (1-r)/(1+r) r^|k|, and what falls beyond
    an end is reported as that end:

        P(y | x) = r^|x-y| (1-r)/(1+r) inside,   r^|x-y|/(1+r) at y = 0 and y = m,   largest ratio r^-m = e^ε.

    The mean of such reports is biased toward the middle. The scores of the law, in steps, are y inside and -r/(1-r) and
    m + r/(1-r) at the ends; those of the rounded table are solved for exactly. A user at x adds

        ( 2r/(1-r)² - r (r^x + r^(m-x))/((1+r)(1-r)²) )/m²

    to n·Var: less than the 2/ε² of unfolded noise, because an end stands for the mean of everything beyond it.
    """

    name: ClassVar[str] = "discrete-laplace"

    def _share(self, cell: int, last: int) -> int:
        """Return 2^64 (1 - decay) inside, and 2^64 at the ends, which stand for everything beyond them."""
        return int((1 - self.decay) * ONE) if 0 < cell < last else ONE


@dataclass(frozen=True, kw_only=True)
class Exponential(_Decaying):
    """The exponential mechanism (McSherry and Talwar 2007) of one number, whose quality is minus the distance.

    On the grid 0, …, m, with r = ``decay``,

        P(y | x) = r^|x-y|/Z(x),   Z(x) = (1 + r - r^(x+1) - r^(m-x+1))/(1 - r).

    The general theorem spends ε on r = e^(-ε/2m), because Z may differ by as much as the quality. Here it does not: the
    largest ratio of two probabilities is r^-m, at an end of the range. (By the triangle inequality y is likeliest for x
    = y, and r^(m-k) Z(x') <= Z(y) with k = |x' - y|: term by term, both sums in order of their exponents.) So r =
    e^(-ε/m), which makes full use of ε.

    The scores of the mean are solved for. No cell stands for values beyond an end, so the scores near the ends are
    large, and the variance grows with the steps: 4.9 at m = 16 and 15.3 at m = 64 for ε = 1, compared with 1.4 for
    discrete Laplace.
    """

    name: ClassVar[str] = "exponential"
