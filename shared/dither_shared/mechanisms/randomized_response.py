"""Randomized response: the truth with a known probability, otherwise one of the other answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Self

from ..entropy import Entropy
from ..errors import ParameterError
from ..mechanism import Item, Mechanism, Shape
from ..probability import ONE, as_probability, checked_epsilon, exp_below, threshold_down, toward
from .checks import checked_size, index_of

__all__ = ["RandomizedResponse"]


@dataclass(frozen=True, kw_only=True)
class RandomizedResponse(Mechanism):
    """k-ary randomized response (Warner 1965; Kairouz, Bonawitz and Ramage 2016).

    Report x with probability γ (``truth``), otherwise one of the k - 1 *other* answers, uniformly:

        p = γ,   q = (1 - γ)/(k - 1),   ε = |ln(p/q)|.

    At a given ε, γ = e^ε/(e^ε + k - 1). With k = 2 and any γ but 1/2 it is Warner's survey, ε = |ln(γ/(1-γ))|; the
    two-coin survey (heads: the truth; tails: a second coin answers; Dwork and Roth 2014, section 3.2) is γ = 3/4, so
    ε = ln 3. n·Var = q(1-q)/(p-q)² + f(1-p-q)/(p-q), which for k = 2 is γ(1-γ)/(2γ-1)² whatever f.

    ``truth`` is rounded to a multiple of 2^-64 toward 1/k, where nothing is told.
    """

    name: ClassVar[str] = "randomized-response"
    shape: ClassVar[Shape] = Shape.SYMBOL
    keys: ClassVar[frozenset[str]] = frozenset({"epsilon", "truth"})

    size: int
    truth: Fraction
    _threshold: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        size = checked_size(self.size)
        truth = as_probability(self.truth, "truth")
        if not 0 < truth < 1:
            raise ParameterError("truth", f"{self.truth} would always tell; it must lie strictly between 0 and 1")
        truth = toward(Fraction(1, size), truth)
        if truth == Fraction(1, size) or (size > 2 and truth < Fraction(1, size)):
            raise ParameterError("truth", f"{float(truth):g} tells nothing of {size} answers; it must exceed 1/{size}")
        lie = (1 - truth) / (size - 1)
        self._derive(
            truth=truth,
            cells=size,
            a=truth,
            b=lie,
            p=truth,
            q=lie,
            ratio=max(truth / lie, lie / truth),
            _threshold=threshold_down(truth),
        )

    @classmethod
    def calibrate(cls, size: int | None, epsilon: float) -> Self:
        """Return the one with truth probability e^ε/(e^ε + k - 1), rounded down."""
        size = checked_size(size)
        odds = exp_below(checked_epsilon(epsilon))
        return cls(size=size, truth=Fraction(threshold_down(odds / (odds + size - 1)), ONE))

    @classmethod
    def configure(cls, size: int | None, parameters: Mapping[str, float]) -> Self:
        """Return the one asked for by ``truth`` or by ``epsilon``, but not both."""
        if "truth" not in parameters:
            return super().configure(size, parameters)
        if "epsilon" in parameters:
            raise ParameterError("truth", "stands beside epsilon; each follows from the other, give one")
        return cls(size=checked_size(size), truth=as_probability(parameters["truth"], "truth"))

    def marked(self, item: Item, cohort: int = 0) -> tuple[int, ...]:
        """Return the item itself."""
        return (index_of(item, self.size),)

    def randomize(self, item: Item, entropy: Entropy, cohort: int = 0, permanent: Entropy | None = None) -> bytes:
        """Return the item with probability ``truth``, otherwise one of the others."""
        index = index_of(item, self.size)
        if entropy.bernoulli(self._threshold):
            return self._symbol(index)
        other = entropy.below(self.size - 1)
        return self._symbol(other + (other >= index))
