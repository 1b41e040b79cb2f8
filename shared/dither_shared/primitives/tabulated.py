"""Tabulated laws: whole numbers that sum to 2^64, one for each outcome.

A draw takes one 64-bit word and finds its place among the cumulative sums, so the law is exactly the table. It contains
no float, whose lowest bits could reveal the input (Mironov 2012); and the loss of a channel of such laws is computed
from these integers, not by a theorem on real numbers.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Self

from ..errors import ParameterError
from ..light import cached_property
from .entropy import Entropy
from .probability import ONE


@dataclass(frozen=True)
class TabulatedLaw:
    """A law over 0, 1, …: outcome i has the probability ``weights[i]``/2^64.

    Raises ParameterError if a weight is negative or their sum is not 2^64.
    """

    weights: tuple[int, ...]

    def __post_init__(self) -> None:
        if sum(self.weights) != ONE or min(self.weights) < 0:
            raise ParameterError("weights", "are not a distribution; they must not be negative and must sum to 2^64")

    @classmethod
    def rounded(cls, weights: Sequence[int], peak: int) -> Self:
        """Return the law proportional to ``weights``: all rounded up except the one at ``peak``, which takes the rest.

        If all laws of a channel are rounded in this way, and each outcome is likeliest by the law that peaks there,
        then no ratio of two probabilities of an outcome grows: the largest of them is rounded down, and all others are
        rounded up.
        """
        total = sum(weights)
        row = [-(-weight * ONE // total) for weight in weights]
        row[peak] -= sum(row) - ONE
        return cls(tuple(row))

    @cached_property
    def cumulative(self) -> tuple[int, ...]:
        """The sums of the weights up to each outcome."""
        return tuple(accumulate(self.weights))

    @property
    def probabilities(self) -> tuple[Fraction, ...]:
        """The probability of each outcome."""
        return tuple(Fraction(weight, ONE) for weight in self.weights)

    def draw(self, entropy: Entropy) -> int:
        """Return an outcome."""
        return entropy.choice(self.cumulative)


def worst_ratio(laws: Sequence[TabulatedLaw]) -> Fraction:
    """Return the largest P[y | x]/P[y | x'] over outcomes and pairs of ``laws``: e^ε of the channel, exactly.

    Raises ParameterError if an outcome is possible only by some of the laws: no ε bounds its privacy loss.
    """
    columns = list(zip(*(law.weights for law in laws), strict=True))
    if any(max(column) and not min(column) for column in columns):
        raise ParameterError("laws", "have an outcome that only some inputs can produce, which reveals them")
    return max(Fraction(max(column), min(column)) for column in columns if max(column))


def divergence(one: Iterable[int], other: Iterable[int], ratio: Fraction) -> Fraction:
    """Return Σ_y max(0, P(y) - ``ratio``·Q(y)) of two laws given by their weights over 2^64.

    For ratio = e^ε it is the least δ for which P is (ε, δ)-indistinguishable from Q. It falls as ``ratio`` grows: for
    one just below e^ε it is an upper bound. Over all ordered pairs of a channel's laws the largest is its δ(ε).
    """
    top, bottom = ratio.numerator, ratio.denominator
    excess = (p * bottom - q * top for p, q in zip(one, other, strict=True))
    return Fraction(sum(more for more in excess if more > 0), bottom * ONE)
