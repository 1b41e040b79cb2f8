"""Symmetric unary encoding: one bit an answer, each flipped with the same probability."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from ..errors import ParameterError
from ..mechanism import Item
from ..primitives.channel import BitChain, BitChannel
from ..primitives.probability import (
    ONE,
    as_probability,
    checked_epsilon,
    exp_below,
    threshold_down,
    threshold_text,
    toward,
)
from ..primitives.two_level import TwoLevel
from ..rows import Shape
from .chained import ChainOfBits, two_level_bits
from .checks import checked_size, index_of


@dataclass(frozen=True, kw_only=True)
class SymmetricUnary(ChainOfBits):
    """Symmetric unary encoding, which is basic one-time RAPPOR (Erlingsson, Pihur and Korolova 2014, section 2).

    Write x as k bits of which the x-th is 1; keep each with probability p (``keep``), flip it with q = 1 - p. Two
    values differ in two bits, so

        ε = 2 ln(p/q),   p = s/(s+1) with s = e^(ε/2),   n·Var = s/(s-1)² whatever f.

    In RAPPOR's terms f = 2q and there is no second flip: ε = 2 ln((1-f/2)/(f/2)). ``keep`` is rounded to a multiple
    of 2^-64 toward 1/2.
    """

    name: ClassVar[str] = "symmetric-unary"
    own_cells: ClassVar[bool] = True

    size: int
    keep: Fraction

    def __post_init__(self) -> None:
        size = checked_size(self.size)
        keep = toward(Fraction(1, 2), as_probability(self.keep, "keep"))
        if not Fraction(1, 2) < keep < 1:
            raise ParameterError("keep", f"{float(keep):g} must lie between 1/2 (no information) and 1 (no privacy)")
        chain = BitChain(BitChannel(keep, 1 - keep))
        self._derive(
            shape=Shape.BITS,
            keep=keep,
            cells=size,
            a=keep,
            b=1 - keep,
            p=keep,
            q=1 - keep,
            ratio=chain.ratio_after(1),
            _chain=chain,
        )

    @classmethod
    def calibrate(cls, size: int | None, epsilon: float) -> Self:
        """Return the mechanism with p = s/(s+1), s = e^(ε/2), rounded down."""
        odds = exp_below(checked_epsilon(epsilon) / 2)
        return cls(size=checked_size(size), keep=Fraction(threshold_down(odds / (odds + 1)), ONE))

    @property
    def two_level(self) -> TwoLevel:
        """A value owns the rows in which its bit is 1."""
        return two_level_bits(self.ratio, self.b, self.size)

    @property
    def integers(self) -> Mapping[str, object]:
        """The probabilities that a bit is reported, for the true answer and for another."""
        return {"high": threshold_text(self.p), "low": threshold_text(self.q)}

    def marked(self, item: Item, cohort: int = 0) -> tuple[int, ...]:
        """Return the item itself."""
        return (index_of(item, self.size),)
