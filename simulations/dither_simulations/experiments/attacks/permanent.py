"""Compute the laws of permanent draws, from which the limits of attacks on memory follow."""

import math
from dataclasses import dataclass

from dither_shared import Mechanism, Shape
from dither_shared.mechanism import Item

__all__ = ["Draw", "permanent_draw", "same_draw"]


@dataclass(frozen=True)
class Draw:
    """The permanent draw of one value: bits that it ``marked`` are 1 with ``high`` and the others with ``low``.

    One symbol of several is a row of bits of which exactly one is 1; ``symbol`` says so, and ``high`` and ``low`` are
    then the probabilities of the value's own symbol and of each other one.
    """

    cells: int
    marked: int
    high: float
    low: float
    symbol: bool
    cohorts: int

    def distinct(self, devices: int) -> float:
        """Return how many different draws so many devices with one value are expected to have, cohorts included.

        Σ over draws of 1 - (1 - P)^N; draws alike in how many marked and other bits they have are counted together.
        """
        total = 0.0
        for probability, number in self._kinds():
            total += (
                number * self.cohorts * -math.expm1(devices * math.log1p(-min(probability / self.cohorts, 1 - 1e-16)))
            )
        return total

    def _kinds(self) -> list[tuple[float, float]]:
        """Return the probabilities of draws, and how many draws have each."""
        if self.symbol:
            return [(self.high, 1.0), (self.low, self.cells - 1.0)]
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
        """Return the probability that the draws of two values are equal, where so many cells are marked by both.

        Values that mark the same cells share one draw; others draw independently.
        """
        if both == self.marked:
            return 1.0
        mixed = self.high * self.low + (1 - self.high) * (1 - self.low)
        ones, zeros = self.high**2 + (1 - self.high) ** 2, self.low**2 + (1 - self.low) ** 2
        apart = 2 * (self.marked - both)
        if self.symbol:
            return 2 * self.high * self.low + (self.cells - 2) * self.low**2
        return float(mixed**apart * ones**both * zeros ** (self.cells - apart - both))


def same_draw(mechanism: Mechanism, first: Item, second: Item) -> float:
    """Return the probability that the permanent draws of two values are equal, in a device's random cohort; 0 if none.

    (Where a RAPPOR value's hash functions collide it marks fewer cells than another; that is not counted.)
    """
    draw = permanent_draw(mechanism)
    if draw is None:
        return 0.0
    cohorts = range(mechanism.cohorts)
    both = [len(set(mechanism.marked(first, each)) & set(mechanism.marked(second, each))) for each in cohorts]
    return sum(draw.same(each) for each in both) / len(both)


def permanent_draw(mechanism: Mechanism) -> Draw | None:
    """Return the law of the permanent draw of any value in its device's cohort, or None if there is none."""
    law = mechanism.permanent_law
    if law is None:
        return None
    symbol, (high, low) = mechanism.shape is Shape.SYMBOL, (float(each) for each in law)
    if symbol:
        low = (1 - high) / (mechanism.cells - 1)  # as floats, too, they are to add up to 1
    elif sum(law) == 1:
        high = 1 - low
    return Draw(mechanism.cells, mechanism.marks, high, low, symbol=symbol, cohorts=mechanism.cohorts)
