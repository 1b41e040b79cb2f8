"""Local hashing with linear seeds: a public seed hashes the value to a few symbols, and the symbol is perturbed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import exp
from typing import ClassVar, Self

from ..errors import ParameterError
from ..mechanism import MAX_COUNTERS, Item
from ..primitives.channel import TwoLevel
from ..primitives.galois import field as galois_field
from ..primitives.galois import field_integers, prime_power, prime_powers
from ..primitives.probability import as_probability, threshold_text, toward
from ..rows import Shape
from .chained import ChainOfSymbols
from .checks import checked_epsilons, checked_size, index_of
from .randomized_response import symbol_chain, truths


@dataclass(frozen=True, kw_only=True)
class LocalHashing(ChainOfSymbols):
    """Optimal local hashing (OLH; Wang, Blocki, Li and Jha 2017) over a complete family of linear hashes.

    The domain is written as vectors of GF(g)^t, g^t >= k (the base-g digits of an index). A cohort is a seed c in
    GF(g)^t, uniform, and H_c(v) = ⟨c, v⟩. Any two values collide under exactly 1/g of the seeds, so, unlike with a
    family of a few hundred random functions, no bias is left that more users could not average away (Pan 2024, arXiv
    2406.03785, shows that such pairwise independence suffices). The symbol goes through g-ary randomized response:

        p = e^ε/(e^ε + g - 1),   q = 1/g,   n·Var = q(1-q)/(p-q)² + f(1-p-q)/(p-q),

    least near g = e^ε + 1; ``calibrate`` takes the prime power g with the least total risk.

    With a permanent part (LOLOHA; Arcolezi, Pinzón, Palamidessi and Gambs 2023) the symbol of a device's fixed seed is
    memoised, and each report perturbs it again; see ``RandomizedResponse`` for the chain.
    """

    name: ClassVar[str] = "local-hashing"
    keys: ClassVar[frozenset[str]] = frozenset({"epsilon", "permanent_epsilon"})

    size: int
    symbols: int
    truth: Fraction
    permanent_truth: Fraction | None = None
    _length: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        size, g = checked_size(self.size), self.symbols
        if prime_power(g) is None:
            raise ParameterError("symbols", f"{g} is not a prime power, such as 2, 3, 4, 5, 7, 8 or 9")
        length = vector_length(g, size)
        if g ** (length + 1) > MAX_COUNTERS:
            raise ParameterError("symbols", f"{g} for {size} values makes a table of {g}^{length + 1} counters")
        truth = toward(Fraction(1, g), as_probability(self.truth, "truth"))
        chain = symbol_chain(g, truth, self.permanent_truth)
        self._derive(
            shape=Shape.SYMBOL,
            truth=truth,
            permanent_truth=None if chain.permanent is None else chain.permanent.truth,
            cohorts=g**length,
            cells=g,
            a=chain.truth,
            b=chain.lie,
            p=chain.truth,
            q=Fraction(1, g),
            ratio=chain.ratio_after(1),
            permanent_ratio=chain.permanent_ratio,
            _length=length,
            _chain=chain,
        )

    @classmethod
    def calibrate(cls, size: int | None, epsilon: float, permanent_epsilon: float | None = None) -> Self:
        """Return the mechanism with the number of symbols that has the least total risk."""
        size = checked_size(size)
        once, forever = checked_epsilons(epsilon, permanent_epsilon)
        odds = exp(once)
        orders = [g for g in prime_powers(max(size, 7)) if g ** (vector_length(g, size) + 1) <= MAX_COUNTERS]
        if not orders:
            raise ParameterError("symbols", f"no finite field has at most {MAX_COUNTERS} counters for {size} values")
        g = min(orders, key=lambda g: _risk(size, g, odds))
        truth, permanent_truth = truths(g, once, forever)
        return cls(size=size, symbols=g, truth=truth, permanent_truth=permanent_truth)

    @property
    def max_size(self) -> int:
        """The number of vectors, because each can stand for a value."""
        return self.cohorts

    @property
    def uniform_cells(self) -> tuple[int, int]:
        """All symbols except 0: over all seeds they are equally frequent. Value 0 and seed 0 always hash to 0."""
        return 1, 1

    @property
    def joint_support(self) -> tuple[Fraction, Fraction]:
        """Two values collide under 1/g of the seeds; so does a third on their line, otherwise under 1/g²."""
        g, others = self.symbols, self.cohorts - 2
        on_line = g - 2
        all_three = Fraction(on_line * g + others - on_line, others * g**2) if others else Fraction(0)
        return self.p / g, self.p * all_three + self.b * (Fraction(1, g) - all_three)

    @property
    def two_level(self) -> TwoLevel:
        """The law of two levels: a value owns one symbol of each seed; two values collide under 1/g of the seeds."""
        g, third = self.symbols, None
        if self.size > 2:  # on the line of 0 and 1; over two elements, where there is no third, off it
            third = Fraction(0) if g > 2 else Fraction(1, 8)
        return TwoLevel(self.ratio, Fraction(1, g), Fraction(1, g**2), third)

    @property
    def integers(self) -> Mapping[str, object]:
        """The truth, the field of the hashes, and the entries of a vector."""
        return {"truth": threshold_text(self.truth), **field_integers(self.symbols, self._length)}

    def marked(self, item: Item, cohort: int = 0) -> tuple[int, ...]:
        """Return the symbol ⟨c, v⟩."""
        plane = galois_field(self.symbols)
        value = plane.digits(index_of(item, self.size), self._length)
        return (plane.dot(plane.digits(cohort, self._length), value),)


def vector_length(order: int, size: int) -> int:
    """Return the least t with order^t >= size."""
    length, reach = 1, order
    while reach < size:
        length, reach = length + 1, reach * order
    return length


def _risk(size: int, symbols: int, odds: float) -> float:
    """Return the total risk k·V(0) + V(1) - V(0) of one report; used only to choose."""
    p, q = odds / (odds + symbols - 1), 1 / symbols
    return size * q * (1 - q) / (p - q) ** 2 + (1 - p - q) / (p - q)
