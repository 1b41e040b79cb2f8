"""The laws of permanent draws, from which the bounds on attacks against series of reports follow."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dither_shared import Mechanism
from dither_shared.mechanism import Item


@dataclass(frozen=True)
class Bits:
    """The permanent draw of a row of bits: 1 with probability ``high`` if ``marked``, else with ``low``."""

    cells: int
    marked: int
    high: float
    low: float

    def kinds(self) -> Sequence[tuple[float, float]]:
        """Return the probabilities and counts; draws with equally many marked and other bits are one kind."""
        others = self.cells - self.marked
        return [
            (
                self.high**i * (1 - self.high) ** (self.marked - i) * self.low**j * (1 - self.low) ** (others - j),
                float(math.comb(self.marked, i) * math.comb(others, j)),
            )
            for i in range(self.marked + 1)
            for j in range(others + 1)
        ]

    def same(self, both: int) -> float:
        """Return the product over all bits."""
        mixed = self.high * self.low + (1 - self.high) * (1 - self.low)
        ones, zeros = self.high**2 + (1 - self.high) ** 2, self.low**2 + (1 - self.low) ** 2
        apart = 2 * (self.marked - both)
        return float(mixed**apart * ones**both * zeros ** (self.cells - apart - both))


@dataclass(frozen=True)
class Subsets:
    """The permanent draw of ``size`` cells, one symbol or a list: ``ratio`` times as likely if one is ``marked``."""

    cells: int
    size: int
    marked: int
    ratio: float

    def kinds(self) -> Sequence[tuple[float, float]]:
        """Return the probabilities of draws that meet the marks, and of the others."""
        low = self._low
        return [(self.ratio * low, float(self._meeting)), (low, float(self._all - self._meeting))]

    def same(self, both: int) -> float:
        """Return the sum over draws that meet the marks of both values, of one of them, and of none."""
        neither = math.comb(self.cells - 2 * self.marked + both, self.size)
        one = 2 * (self._all - self._meeting - neither)
        two = self._all - one - neither
        return float(self._low**2 * (two * self.ratio**2 + one * self.ratio + neither))

    @property
    def _all(self) -> int:
        return math.comb(self.cells, self.size)

    @property
    def _meeting(self) -> int:
        return self._all - math.comb(self.cells - self.marked, self.size)

    @property
    def _low(self) -> float:
        return 1 / (self.ratio * self._meeting + self._all - self._meeting)


def distinct(mechanism: Mechanism, draw: Bits | Subsets, devices: int) -> float:
    """Return the expected number of different draws of ``devices`` devices with one value, cohorts included.

    It is the sum over cohorts and draws of 1 - (1 - P)^N.
    """
    law = mechanism.cohort_law
    cohorts = Counter(map(float, law)) if law is not None else {1 / mechanism.cohorts: mechanism.cohorts}
    total = 0.0
    for chance, alike in cohorts.items():
        for probability, number in draw.kinds():
            total += alike * number * -math.expm1(devices * math.log1p(-min(probability * chance, 1 - 1e-16)))
    return total


def same_draw(mechanism: Mechanism, first: Item, second: Item) -> float:
    """Return the probability that the permanent draws of two values are equal in a device's random cohort; 0 if none.

    Values that mark the same cells share one draw. (A RAPPOR value whose hash functions collide marks fewer cells than
    another; that is not counted.)
    """
    draw = permanent_draw(mechanism)
    if draw is None:
        return 0.0
    law = mechanism.cohort_law or (Fraction(1, mechanism.cohorts),) * mechanism.cohorts
    total = 0.0
    for cohort, chance in enumerate(law):
        both = len(set(mechanism.marked(first, cohort)) & set(mechanism.marked(second, cohort)))
        total += float(chance) * (1.0 if both == draw.marked else draw.same(both))
    return total


def permanent_draw(mechanism: Mechanism) -> Bits | Subsets | None:
    """Return the law of the permanent draw of any value in its device's cohort, or None if there is none."""
    law, ratio = mechanism.permanent_law, mechanism.permanent_ratio
    if law is None or ratio is None:
        return None
    if mechanism.weight is not None:
        return Subsets(mechanism.cells, mechanism.weight, mechanism.marks, float(ratio))
    high, low = (float(each) for each in law)
    return Bits(mechanism.cells, mechanism.marks, 1 - low if sum(law) == 1 else high, low)
