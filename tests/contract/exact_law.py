"""The exact output law of a randomizer, enumerated over every branch of the code that runs on the device."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import TypeVar

from dither_shared import Entropy, Mechanism
from dither_shared.mechanism import Item
from dither_shared.primitives.probability import ONE

Outcome = TypeVar("Outcome")


class Branching(Entropy):
    """An entropy that follows a prescribed path of outcomes and knows the probability of each.

    Only the draws that ``Entropy`` documents are offered; each is proven by itself in
    tests/shared/primitives/test_entropy.py. The probability is ``weight / total``: two integers, because reducing a
    fraction after each draw takes most of the time of an enumeration.
    """

    def __init__(self, path: list[int]) -> None:
        self.path = path
        self.options: list[int] = []
        self.weight = self.total = 1

    def take(self, count: int) -> bytes:
        raise AssertionError("a randomizer makes only draws whose law is documented")

    def _choose(self, options: int) -> int:
        step = len(self.options)
        if step == len(self.path):
            self.path.append(0)
        self.options.append(options)
        return self.path[step]

    def below(self, bound: int) -> int:
        self.total *= bound
        return self._choose(bound)

    def bernoulli(self, threshold: int) -> bool:
        happens = self._choose(2) == 0
        self.weight *= threshold if happens else ONE - threshold
        self.total *= ONE
        return happens

    def choice(self, cumulative: Sequence[int]) -> int:
        chosen = self._choose(len(cumulative))
        self.weight *= cumulative[chosen] - (cumulative[chosen - 1] if chosen else 0)
        self.total *= ONE
        return chosen

    def bernoulli_bits(self, width: int, marked: int, high: int, low: int) -> int:
        if (high, low) == (ONE, 0):
            return marked
        bits = self._choose(1 << width)
        for lane in range(width):
            chance = high if marked >> lane & 1 else low
            self.weight *= chance if bits >> lane & 1 else ONE - chance
        self.total *= ONE**width
        return bits

    def subset(self, width: int, size: int) -> int:
        sets = list(combinations(range(width), size))
        self.total *= len(sets)
        return sum(1 << lane for lane in sets[self._choose(len(sets))])

    def subset_meeting(self, width: int, size: int, marked: int) -> int:
        sets = [sum(1 << lane for lane in each) for each in combinations(range(width), size)]
        meeting = [each for each in sets if each & marked]
        self.total *= len(meeting)
        return meeting[self._choose(len(meeting))]


def exact_law(draw: Callable[[Entropy], Outcome], source: type[Branching] = Branching) -> dict[Outcome, Fraction]:
    """Return the probability of each outcome of ``draw``, as exact rationals."""
    weights: dict[Outcome, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    path: list[int] = []
    while True:
        entropy = source(path)
        outcome = draw(entropy)
        if entropy.weight:
            weights[outcome][entropy.total] += entropy.weight
        while path and path[-1] + 1 == entropy.options[len(path) - 1]:
            path.pop()
        if not path:
            break
        path[-1] += 1
    return {
        outcome: sum((Fraction(weight, total) for total, weight in weight_of_total.items()), Fraction(0))
        for outcome, weight_of_total in weights.items()
    }


@cache
def law_of(mechanism: Mechanism, item: Item, cohort: int = 0) -> Mapping[bytes, Fraction]:
    """Return the law of a report's payload, enumerated once per process: every property is asserted on the same law."""
    return exact_law(lambda entropy: mechanism.randomize(item, entropy, cohort))


def worst_ratio(laws: Sequence[Mapping[Outcome, Fraction]]) -> Fraction:
    """Return the largest P[y|x]/P[y|x'] over outcomes and pairs of laws; every law must have the same outcomes."""
    outcomes = laws[0].keys()
    assert all(law.keys() == outcomes for law in laws), "an outcome that only some inputs have identifies them"
    return max(max(law[y] for law in laws) / min(law[y] for law in laws) for y in outcomes)


def worst_excess(laws: Sequence[Mapping[Outcome, Fraction]], ratio: Fraction) -> Fraction:
    """Return the largest Σ_y max(0, P[y|x] - ratio·P[y|x']) over pairs of laws, whose outcomes may differ."""
    none = Fraction(0)
    return max(
        sum((max(none, chance - ratio * other.get(outcome, none)) for outcome, chance in law.items()), none)
        for law in laws
        for other in laws
    )
