"""The exponential mechanism on distance: a point of the grid, more likely the nearer it is."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from .numeric import TabulatedMechanism, checked_decay, checked_points, decay_at, points_of, powers


@dataclass(frozen=True, kw_only=True)
class Exponential(TabulatedMechanism):
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

    ``decay`` is rounded up to a multiple of 2^-64, and probabilities as ``TabulatedLaw.rounded`` says: ε never grows.
    """

    name: ClassVar[str] = "exponential"

    decay: Fraction

    def __post_init__(self) -> None:
        last, decay = checked_points(self.size) - 1, checked_decay(self.decay)
        power = powers(decay, last)
        self._derive(decay=decay)
        self._tabulate([[power[abs(x - y)] for y in range(self.size)] for x in range(self.size)])

    @classmethod
    def calibrate(cls, size: int | None, epsilon: float, *, resolution: int = 64) -> Self:
        """Return the mechanism on a grid of ``resolution`` steps; ``size`` must be None, because it follows."""
        points = points_of(size, resolution, cls.name)
        return cls(size=points, decay=decay_at(epsilon, points - 1))
