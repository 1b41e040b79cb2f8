"""Randomized response: the truth with a known probability, otherwise one of the other answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from ..errors import ParameterError
from ..mechanism import Item
from ..primitives.channel import SymbolChain, SymbolChannel, TwoLevel
from ..primitives.probability import (
    ONE,
    as_probability,
    checked_epsilon,
    exp_below,
    threshold_down,
    threshold_text,
    toward,
)
from ..rows import Shape
from .chained import ChainOfSymbols
from .checks import checked_epsilons, checked_size, index_of


@dataclass(frozen=True, kw_only=True)
class RandomizedResponse(ChainOfSymbols):
    """k-ary randomized response (Warner 1965; Kairouz, Bonawitz and Ramage 2016), and its chain L-GRR.

    Report x with probability γ (``truth``), otherwise one of the k - 1 *other* answers, uniformly:

        p = γ,   q = (1 - γ)/(k - 1),   ε = |ln(p/q)|.

    At a given ε, γ = e^ε/(e^ε + k - 1). With k = 2 and any γ but 1/2 it is Warner's survey, ε = |ln(γ/(1-γ))|; the
    two-coin survey (heads: the truth; tails: a second coin answers; Dwork and Roth 2014, section 3.2) is γ = 3/4, so
    ε = ln 3. n·Var = q(1-q)/(p-q)² + f(1-p-q)/(p-q), which for k = 2 is γ(1-γ)/(2γ-1)² whatever f.

    With a permanent part (L-GRR; Arcolezi et al. 2021) x goes once through this channel at ε∞ and the memoised answer
    through a second one for each report. For the report to have ε₁, that second one has the ratio

        c = (b(a+k-2) - (k-1))/(a - b),   a = e^ε∞, b = e^ε₁,

    and not (ab-1)/(a-b) as published, which is correct only for k = 2 and loses accuracy for larger k. Here its truth
    is solved for exactly: (γ - q∞)/(p∞ - q∞).

    ``truth`` (of one report) and ``permanent_truth`` are rounded to multiples of 2^-64 toward 1/k, where nothing is
    revealed; the truth of the second channel is rounded down.
    """

    name: ClassVar[str] = "randomized-response"
    keys: ClassVar[frozenset[str]] = frozenset({"epsilon", "permanent_epsilon", "truth"})
    own_cells: ClassVar[bool] = True

    size: int
    truth: Fraction
    permanent_truth: Fraction | None = None

    def __post_init__(self) -> None:
        size = checked_size(self.size)
        truth = toward(Fraction(1, size), as_probability(self.truth, "truth"))
        chain = symbol_chain(size, truth, self.permanent_truth)
        self._derive(
            shape=Shape.SYMBOL,
            truth=truth,
            permanent_truth=None if chain.permanent is None else chain.permanent.truth,
            cells=size,
            a=chain.truth,
            b=chain.lie,
            p=chain.truth,
            q=chain.lie,
            ratio=chain.ratio_after(1),
            permanent_ratio=chain.permanent_ratio,
            _chain=chain,
        )

    @classmethod
    def calibrate(cls, size: int | None, epsilon: float, permanent_epsilon: float | None = None) -> Self:
        """Return the mechanism with truth probability e^ε/(e^ε + k - 1), and likewise for the permanent draw."""
        size = checked_size(size)
        truth, permanent_truth = truths(size, *checked_epsilons(epsilon, permanent_epsilon))
        return cls(size=size, truth=truth, permanent_truth=permanent_truth)

    @classmethod
    def configure(cls, size: int | None, parameters: Mapping[str, float | str]) -> Self:
        """Return the mechanism for ``truth`` or ``epsilon``, but not both, and ``permanent_epsilon``."""
        size = checked_size(size)
        if "truth" not in parameters:
            numbers = cls._with_epsilon(parameters)
            return cls.calibrate(size, numbers["epsilon"], numbers.get("permanent_epsilon"))
        numbers = cls._numbers(parameters)
        if "epsilon" in numbers:
            raise ParameterError("truth", "cannot be given together with epsilon; each follows from the other")
        permanent_truth = None
        if "permanent_epsilon" in numbers:
            forever = checked_epsilon(numbers["permanent_epsilon"], "permanent_epsilon")
            permanent_truth = truths(size, forever, None)[0]
        return cls(size=size, truth=as_probability(numbers["truth"], "truth"), permanent_truth=permanent_truth)

    @property
    def joint_support(self) -> tuple[Fraction, Fraction]:
        """No report supports two values."""
        return Fraction(0), Fraction(0)

    @property
    def two_level(self) -> TwoLevel:
        """A value owns one answer: itself or, if lies are likelier, the other of two."""
        return TwoLevel(self.ratio, Fraction(1, self.size), Fraction(0), Fraction(0) if self.size > 2 else None)

    @property
    def integers(self) -> Mapping[str, object]:
        """The truth."""
        return {"truth": threshold_text(self.truth)}

    def marked(self, item: Item, cohort: int = 0) -> tuple[int, ...]:
        """Return the item itself."""
        return (index_of(item, self.size),)


def truths(size: int, epsilon: Fraction, permanent_epsilon: Fraction | None) -> tuple[Fraction, Fraction | None]:
    """Return the truth probabilities e^ε/(e^ε + size - 1) of one report and of the permanent draw, rounded down."""

    def truth(loss: Fraction) -> Fraction:
        odds = exp_below(loss)
        return Fraction(threshold_down(odds / (odds + size - 1)), ONE)

    return truth(epsilon), None if permanent_epsilon is None else truth(permanent_epsilon)


def symbol_chain(size: int, truth: Fraction, permanent_truth: Fraction | None) -> SymbolChain:
    """Return the chain over ``size`` symbols whose reports are true with probability ``truth``, or slightly less.

    Raises ParameterError if such a chain would reveal all or nothing, or does not exist.
    """
    chance = Fraction(1, size)
    if not 0 < truth < 1:
        raise ParameterError("truth", f"{truth} leaves nothing to chance; it must lie strictly between 0 and 1")
    if truth == chance or (truth < chance and size > 2):
        raise ParameterError("truth", f"{float(truth):g} reveals nothing about {size} answers; it must exceed 1/{size}")
    if permanent_truth is None:
        return SymbolChain(SymbolChannel(size, truth))
    permanent = SymbolChannel(size, toward(chance, as_probability(permanent_truth, "permanent_truth")))
    if not chance < truth < permanent.truth < 1:
        raise ParameterError(
            "permanent_truth", f"{float(permanent.truth):g} must lie between the truth of one report and 1"
        )
    kept = (truth - permanent.lie) / (permanent.truth - permanent.lie)
    return SymbolChain(SymbolChannel(size, Fraction(threshold_down(kept), ONE)), permanent)
