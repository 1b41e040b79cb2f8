"""Optimised unary encoding: one bit per answer, the true one kept with 1/2, the others set as rarely as ε allows."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from ..errors import ParameterError
from ..primitives.channel import BitChain, BitChannel
from ..primitives.probability import ONE, as_probability, exp_below, threshold_down, threshold_up
from ..rows import Shape
from .chained import UnaryBits
from .checks import checked_epsilons, checked_size

_HALF = Fraction(1, 2)


@dataclass(frozen=True, kw_only=True)
class OptimizedUnary(UnaryBits):
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
