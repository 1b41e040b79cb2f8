"""The discrete Gaussian mechanism: a point of the grid, with Gaussian noise on whole steps; (ε, δ) only."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Self

from ..errors import ParameterError
from ..mechanism import Item
from ..primitives.entropy import Entropy
from ..primitives.probability import ONE, checked_epsilon, exp_below, threshold_down
from ..primitives.tabulated import TabulatedLaw, divergence
from ..rows import Shape
from .checks import index_of
from .numeric import NumericMechanism, checked_points, points_of

MIN_DELTA, MAX_DELTA = 1e-12, 0.01
"""Range of δ: below it, the noise cut off below 2^-64 would matter; above it, over 1% of users may have no guarantee.
"""

MIN_DEVIATION, MAX_DEVIATION = Fraction(1, 16), 1 << 12
"""Range of σ in steps: the narrowest noise is 0 to within 2^-64, the widest needs some 70,000 cells in a tally."""

_BITS = 15
"""Binary places of the calibrated deviation: at most 0.01% more noise than needed."""

_DIGITS = 192
"""Binary places of the weights; tens of thousands of products lose 40 of them."""


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussian(NumericMechanism):
    """Gaussian noise on whole steps (Canonne, Kamath and Steinke 2020): P(k) in proportion to e^(-k²/2σ²).

    On the grid 0, …, m a report is y = x + k, which may lie beyond the range: the noise is cut off where its
    probability falls below 2^-64. It is symmetric, so the position of y itself is an unbiased score, and n·Var =
    Var(k)/m², about σ²/m², for every x. (Folded into the range, Gaussian noise could not be debiased: the equations for
    the scores are nearly singular.)

    Its ratios have no bound ε. ``delta`` is computed from the table itself for every pair of points, with e^ε rounded
    down:

        δ(ε) = max over x, x' of Σ_y max(0, P(y | x) - e^ε P(y | x')),

    including the noise that was cut off. ``calibrate`` takes the least σ with δ(ε) <= δ. On a fine grid it is that of
    the continuous noise (Balle and Wang 2018): 4.22 ranges at ε = 1 and δ = 10^-6, 17 times the variance of the
    dithered response, which has a stronger guarantee. It is included for comparison.

    ``deviation`` is σ in steps; ``loss`` is the ε for which δ is stated.
    """

    name: ClassVar[str] = "discrete-gaussian"
    keys: ClassVar[frozenset[str]] = frozenset({"epsilon", "delta", "resolution"})

    deviation: Fraction
    loss: Fraction
    _noise: TabulatedLaw = field(init=False, repr=False, compare=False)
    _widest: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        last, loss = checked_points(self.size) - 1, checked_epsilon(self.loss)
        if not MIN_DEVIATION <= self.deviation <= MAX_DEVIATION:
            raise ParameterError(
                "deviation", f"{float(self.deviation):g} steps; it must lie between {MIN_DEVIATION} and {MAX_DEVIATION}"
            )
        deviation = Fraction(self.deviation)  # which may be represented by a whole number
        noise, ratio = gaussian_noise(deviation), _odds(loss)
        self._derive(
            shape=Shape.SYMBOL,
            cells=last + len(noise),
            deviation=deviation,
            loss=loss,
            ratio=ratio,
            delta=max(_delta(noise, apart, ratio) for apart in range(1, self.size)),
            _noise=TabulatedLaw(noise),
            _widest=len(noise) // 2,
        )

    @classmethod
    def calibrate(cls, size: int | None, epsilon: float, delta: float | None = None, *, resolution: int = 64) -> Self:
        """Return the mechanism with the least noise on a grid of ``resolution`` steps whose δ(ε) is at most ``delta``.

        Raises ParameterError if that would be more than ``MAX_DEVIATION`` steps.
        """
        points, loss = points_of(size, resolution, cls.name), checked_epsilon(epsilon)
        ratio, most, steps = _odds(loss), _checked_delta(delta), points - 1

        def enough(deviation: Fraction) -> bool:
            return _delta(gaussian_noise(deviation), steps, ratio) <= most

        high = Fraction(steps)
        while not enough(high):
            high *= 2
            if high > MAX_DEVIATION:
                raise ParameterError(
                    "epsilon", f"{float(loss):g} takes noise of more than {MAX_DEVIATION} steps; lower the resolution"
                )
        while enough(high / 2):
            high /= 2
        low, unit = 0, high / (1 << _BITS + 1)
        # ``low`` units above high/2 are too few, ``up`` are enough.
        up = 1 << _BITS
        while up - low > 1:
            middle = (low + up) // 2
            low, up = (low, middle) if enough(high / 2 + middle * unit) else (middle, up)
        return cls(size=points, deviation=high / 2 + up * unit, loss=loss)

    def marked(self, item: Item, cohort: int = 0) -> tuple[int, ...]:
        """Return the likeliest cell: that of the point without noise."""
        return (index_of(item, self.size) + self._widest,)

    def cell_law(self, item: Item, cohort: int = 0) -> tuple[Fraction, ...]:
        """Return the law of the noise, shifted to the point."""
        before = index_of(item, self.size)
        zero = (Fraction(0),)
        return (*zero * before, *self._noise.probabilities, *zero * (self.size - 1 - before))

    def randomize(self, item: Item, entropy: Entropy, cohort: int = 0, permanent: Entropy | None = None) -> bytes:
        """Return the cell of the point with noise."""
        return self.row_format.symbol(index_of(item, self.size) + self._noise.draw(entropy))

    def mean_score(self, cell: int, cohort: int = 0) -> Fraction:
        """Return the position of the cell, which may lie beyond the range."""
        return Fraction(cell - self._widest, self.size - 1)

    def mean_variance(self, item: Item) -> Fraction:
        """Return the variance of the noise, the same for every point."""
        square = sum(weight * (k - self._widest) ** 2 for k, weight in enumerate(self._noise.weights))
        return Fraction(square, ONE * (self.size - 1) ** 2)


def gaussian_noise(deviation: Fraction) -> tuple[int, ...]:
    """Return the law of noise of -K, …, K steps over 2^64, proportional to e^(-k²/2σ²), where that is not 0.

    It is the same on every machine: whole numbers throughout, from one exponential to 110 digits. Each weight except
    that of 0 is rounded down.
    """
    one = 1 << _DIGITS
    base = int(one / exp_below(1 / (2 * deviation**2)))
    weights, factor, square = [one], base, base * base >> _DIGITS
    while weights[-1] >> _DIGITS - 64:
        weights.append(weights[-1] * factor >> _DIGITS)
        factor = factor * square >> _DIGITS
    total = 2 * sum(weights) - one
    side = [share for weight in weights[1:] if (share := weight * ONE // total)]
    return (*reversed(side), ONE - 2 * sum(side), *side)


def _delta(noise: tuple[int, ...], apart: int, ratio: Fraction) -> Fraction:
    """Return δ of two points that are ``apart`` steps apart; it is symmetric in the points."""
    gap = (0,) * apart
    return divergence(noise + gap, gap + noise, ratio)


def _odds(loss: Fraction) -> Fraction:
    """Return e^ε, rounded down."""
    return Fraction(threshold_down(exp_below(loss)), ONE)


def _checked_delta(delta: object) -> Fraction:
    if delta is None:
        raise ParameterError(
            "delta", "missing; the probability with which a report may exceed ε, for example delta = 1e-6"
        )
    if isinstance(delta, bool) or not isinstance(delta, int | float | Fraction):
        raise ParameterError("delta", f"{delta!r} is not a number")
    if not MIN_DELTA <= delta <= MAX_DELTA:  # comparisons with NaN are false
        raise ParameterError(
            "delta", f"{float(delta):g} is out of range; it must lie between {MIN_DELTA:g} and {MAX_DELTA:g}"
        )
    return Fraction(delta)
