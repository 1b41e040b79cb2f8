"""Small laws with round numbers, and the tallies that they are expected to leave."""

from fractions import Fraction
from math import lcm

import numpy as np

from dither_server.estimation.numeric.dithered import Dithered
from dither_server.tally.tally import Tally

SMALL = [(1, 1), (1, 3), (2, 1), (3, 2), (4, 3), (16, 1), (17, 2)]
"""Phases and steps: the smallest, and where all widths of windows fit and do not."""


def small_law(phases: int, steps: int) -> Dithered:
    p = Fraction(1, 2) + Fraction(1, 2 * steps + 3)
    return Dithered(phases, steps, p, (1 - p) / steps)


def cell_chances(law: Dithered, point: int, phase: int) -> list[Fraction]:
    """P[cell | point, phase], by the definition of the mechanism."""
    return [law.p if cell == (point + phase) // law.phases else law.q for cell in range(law.steps + 1)]


def expected_tally(law: Dithered, points: list[int]) -> Tally:
    """Return a multiple of the expected tally of people at these points."""
    per_phase = lcm(law.p.denominator, law.q.denominator)
    counts = np.zeros((law.phases, law.steps + 1), dtype=np.int64)
    for phase in range(law.phases):
        for point in points:
            counts[phase] += [int(per_phase * chance) for chance in cell_chances(law, point, phase)]
    return Tally(counts.sum(axis=1), counts)
