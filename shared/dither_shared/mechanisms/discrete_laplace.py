"""The discrete Laplace mechanism: a point of the grid, with two-sided geometric noise."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from ..primitives.probability import ONE
from .numeric import TabulatedMechanism, checked_decay, checked_points, decay_at, points_of, powers


@dataclass(frozen=True, kw_only=True)
class DiscreteLaplace(TabulatedMechanism):
    """Two-sided geometric noise (Ghosh, Roughgarden and Sundararajan 2009), folded into the range.

    On the grid 0, …, m, with r = ``decay`` = e^(-ε/m), the noise k has the law (1-r)/(1+r) r^|k|, and what falls beyond
    an end is reported as that end:

        P(y | x) = r^|x-y| (1-r)/(1+r) inside,   r^|x-y|/(1+r) at y = 0 and y = m,   largest ratio r^-m = e^ε.

    The mean of such reports is biased toward the middle. The scores of the law, in steps, are y inside and -r/(1-r) and
    m + r/(1-r) at the ends; those of the rounded table are solved for exactly. A user at x adds

        ( 2r/(1-r)² - r (r^x + r^(m-x))/((1+r)(1-r)²) )/m²

    to n·Var: less than the 2/ε² of unfolded noise, because an end stands for the mean of everything beyond it.

    ``decay`` is rounded up to a multiple of 2^-64, and probabilities as ``TabulatedLaw.rounded`` says: ε never grows.
    """

    name: ClassVar[str] = "discrete-laplace"

    decay: Fraction

    def __post_init__(self) -> None:
        last, decay = checked_points(self.size) - 1, checked_decay(self.decay)
        power, inside = powers(decay, last), int((1 - decay) * ONE)
        self._derive(decay=decay)
        self._tabulate(
            [
                [power[abs(x - y)] * (inside if 0 < y < last else ONE) for y in range(self.size)]
                for x in range(self.size)
            ]
        )

    @classmethod
    def calibrate(cls, size: int | None, epsilon: float, *, resolution: int = 64) -> Self:
        """Return the mechanism on a grid of ``resolution`` steps; ``size`` must be None, because it follows."""
        points = points_of(size, resolution, cls.name)
        return cls(size=points, decay=decay_at(epsilon, points - 1))
