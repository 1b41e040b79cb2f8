"""The exact output law of a randomizer, found by walking every branch of the code that the device runs."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import TypeVar

from dither_shared import Entropy
from dither_shared.primitives.probability import ONE

Outcome = TypeVar("Outcome")


class Branching(Entropy):
    """An entropy that follows a prescribed path of outcomes and knows the probability of each.

    Only the draws that ``Entropy`` documents are offered; each is proven by itself in
    tests/shared/primitives/test_entropy.py.
    """

    def __init__(self, path: list[int]) -> None:
        self.path = path
        self.options: list[int] = []
        self.probability = Fraction(1)

    def take(self, count: int) -> bytes:
        raise AssertionError("a randomizer makes only draws whose law is documented")

    def _choose(self, options: int) -> int:
        step = len(self.options)
        if step == len(self.path):
            self.path.append(0)
        self.options.append(options)
        return self.path[step]

    def below(self, bound: int) -> int:
        self.probability /= bound
        return self._choose(bound)

    def bernoulli(self, threshold: int) -> bool:
        happens = self._choose(2) == 0
        self.probability *= Fraction(threshold if happens else ONE - threshold, ONE)
        return happens

    def choice(self, cumulative: Sequence[int]) -> int:
        chosen = self._choose(len(cumulative))
        self.probability *= Fraction(cumulative[chosen] - (cumulative[chosen - 1] if chosen else 0), ONE)
        return chosen

    def bernoulli_bits(self, width: int, marked: int, high: int, low: int) -> int:
        if (high, low) == (ONE, 0):
            return marked
        bits = self._choose(1 << width)
        for lane in range(width):
            one = Fraction(high if marked >> lane & 1 else low, ONE)
            self.probability *= one if bits >> lane & 1 else 1 - one
        return bits

    def subset(self, width: int, size: int) -> int:
        sets = list(combinations(range(width), size))
        self.probability /= len(sets)
        return sum(1 << lane for lane in sets[self._choose(len(sets))])

    def subset_meeting(self, width: int, size: int, marked: int) -> int:
        sets = [sum(1 << lane for lane in each) for each in combinations(range(width), size)]
        meeting = [each for each in sets if each & marked]
        self.probability /= len(meeting)
        return meeting[self._choose(len(meeting))]


def exact_law(draw: Callable[[Entropy], Outcome]) -> dict[Outcome, Fraction]:
    """Return the probability of each outcome of ``draw``, as exact rationals."""
    law: dict[Outcome, Fraction] = defaultdict(Fraction)
    path: list[int] = []
    while True:
        entropy = Branching(path)
        outcome = draw(entropy)
        law[outcome] += entropy.probability
        while path and path[-1] + 1 == entropy.options[len(path) - 1]:
            path.pop()
        if not path:
            return {outcome: probability for outcome, probability in law.items() if probability}
        path[-1] += 1


def worst_ratio(laws: list[dict[Outcome, Fraction]]) -> Fraction:
    """Return the largest P[y|x]/P[y|x'] over outcomes and pairs of laws; every law must have the same outcomes."""
    outcomes = laws[0].keys()
    assert all(law.keys() == outcomes for law in laws), "an outcome that only some inputs can give tells them apart"
    return max(max(law[y] for law in laws) / min(law[y] for law in laws) for y in outcomes)


def worst_excess(laws: list[dict[Outcome, Fraction]], ratio: Fraction) -> Fraction:
    """Return the largest Σ_y max(0, P[y|x] - ratio·P[y|x']) over pairs of laws, whose outcomes may differ."""
    none = Fraction(0)
    return max(
        sum((max(none, chance - ratio * other.get(outcome, none)) for outcome, chance in law.items()), none)
        for law in laws
        for other in laws
    )
