"""Symmetric unary encoding: one bit per answer, each flipped with the same probability."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from ..errors import ParameterError
from ..primitives.channel import BitChain, BitChannel
from ..primitives.probability import (
    ONE,
    as_probability,
    checked_epsilon,
    exp_below,
    threshold_down,
    toward,
)
from ..rows import Shape
from .chained import UnaryBits
from .checks import checked_size


@dataclass(frozen=True, kw_only=True)
class SymmetricUnary(UnaryBits):
    """Symmetric unary encoding, which is basic one-time RAPPOR (Erlingsson, Pihur and Korolova 2014, section 2).

    Write x as k bits of which the x-th is 1; keep each with probability p (``keep``), flip it with q = 1 - p. Two
    values differ in two bits, so

        ε = 2 ln(p/q),   p = s/(s+1) with s = e^(ε/2),   n·Var = s/(s-1)² whatever f.

    In RAPPOR's terms f = 2q and there is no second flip: ε = 2 ln((1-f/2)/(f/2)). ``keep`` is rounded to a multiple
    of 2^-64 toward 1/2.
    """

    name: ClassVar[str] = "symmetric-unary"

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
