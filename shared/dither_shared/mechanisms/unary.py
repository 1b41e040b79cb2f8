"""Unary encoding: one bit per answer, each kept or flipped, alike for 0 and 1 or with the fewest ones for ε."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from ..errors import ParameterError
from ..mechanism import Item
from ..primitives.channel import BitChain, BitChannel, TwoLevel
from ..primitives.probability import (
    ONE,
    as_probability,
    checked_epsilon,
    exp_below,
    threshold_down,
    threshold_text,
    threshold_up,
    toward,
)
from ..rows import Shape
from .chained import ChainOfBits, two_level_bits
from .checks import checked_epsilons, checked_size, index_of

_HALF = Fraction(1, 2)


@dataclass(frozen=True, kw_only=True)
class _UnaryBits(ChainOfBits):
    """A mechanism in which each value marks its own bit."""

    own_cells: ClassVar[bool] = True

    size: int

    @property
    def two_level(self) -> TwoLevel:
        """The law of two levels: a value owns the rows in which its bit is 1."""
        return two_level_bits(self.ratio, self.b, self.size)

    @property
    def integers(self) -> Mapping[str, object]:
        """The probabilities of a 1: of the marked bit, and of each other."""
        return {"high": threshold_text(self.p), "low": threshold_text(self.q)}

    def marked(self, item: Item, cohort: int = 0) -> tuple[int, ...]:
        """Return the item itself."""
        return (index_of(item, self.size),)


@dataclass(frozen=True, kw_only=True)
class SymmetricUnary(_UnaryBits):
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
        keep = toward(_HALF, as_probability(self.keep, "keep"))
        if not _HALF < keep < 1:
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


@dataclass(frozen=True, kw_only=True)
class OptimizedUnary(_UnaryBits):
    """Optimised unary encoding (OUE; Wang, Blocki, Li and Jha 2017, equations 7 and 8), and its chain L-OSUE.

    Write x as k bits of which the x-th is 1; report that one with p = 1/2 and each other with q = 1/(e^ε + 1):

        ε = ln( p(1-q)/(q(1-p)) ) = ln((1-q)/q),   n·Var = 4e^ε/(e^ε-1)² + f.

    With a permanent part (L-OSUE; Arcolezi, Couchot, Al Bouna and Xiao 2021) the permanent bits are these at ε∞, and
    each report keeps a permanent bit with probability c and flips it with 1 - c. A half stays a half, so the report
    again has p = 1/2, and q = 1/(e^ε₁ + 1) if c = (ab-1)/(ab+a-b-1), a = e^ε∞, b = e^ε₁: memoisation costs nothing in
    the variance of one report.

    ``raised`` is q of one report, ``permanent_raised`` that of the permanent draw; both are rounded up to multiples
    of 2^-64, and c is rounded down.
    """

    name: ClassVar[str] = "optimized-unary"
    keys: ClassVar[frozenset[str]] = frozenset({"epsilon", "permanent_epsilon"})

    raised: Fraction
    permanent_raised: Fraction | None = None

    def __post_init__(self) -> None:
        size = checked_size(self.size)
        raised = _checked_raised(self.raised, "raised")
        if self.permanent_raised is None:
            permanent, chain = None, BitChain(BitChannel(_HALF, raised))
        else:
            permanent = _checked_raised(self.permanent_raised, "permanent_raised")
            if permanent >= raised:
                raise ParameterError(
                    "permanent_raised", "must lie below raised: a report cannot be less noisy than the permanent draw"
                )
            kept = Fraction(threshold_down((1 - permanent - raised) / (1 - 2 * permanent)), ONE)
            chain = BitChain(BitChannel(kept, 1 - kept), BitChannel(_HALF, permanent))
        whole = chain.whole
        self._derive(
            shape=Shape.BITS,
            raised=raised,
            permanent_raised=permanent,
            cells=size,
            a=whole.high,
            b=whole.low,
            p=whole.high,
            q=whole.low,
            ratio=chain.ratio_after(1),
            permanent_ratio=chain.permanent_ratio,
            _chain=chain,
        )

    @classmethod
    def calibrate(cls, size: int | None, epsilon: float, permanent_epsilon: float | None = None) -> Self:
        """Return the mechanism with q = 1/(e^ε + 1), and likewise for the permanent draw."""
        once, forever = checked_epsilons(epsilon, permanent_epsilon)
        raised = 1 / (1 + exp_below(once))
        permanent = None if forever is None else 1 / (1 + exp_below(forever))
        return cls(size=checked_size(size), raised=raised, permanent_raised=permanent)


def _checked_raised(value: Fraction, place: str) -> Fraction:
    raised = Fraction(threshold_up(as_probability(value, place)), ONE)
    if not 0 < raised < _HALF:
        raise ParameterError(place, f"{float(raised):g} must lie between 0 (no privacy) and 1/2 (no information)")
    return raised
