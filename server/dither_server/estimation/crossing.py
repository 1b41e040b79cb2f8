"""Read a crossing: the shares of both questions by themselves, and those of one within each answer to the other."""

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from dither_shared import Mechanism

from ..tally.arrays import Indices
from ..tally.tally import Tally
from .estimate import debiased
from .intervals.ratios import Ratios, fieller
from .sums import Sums, sums_of

_LEAST = 1_000
"""Reports below which no share within an answer is estimated: Fieller's normal law then holds too seldom.

Simulated with 300 reports: 92 to 94 times in 100."""


class Crossed(NamedTuple):
    """What a crossing says beside its cells: the shares of the answers to the first and to the second question.

    ``within[0]`` are the shares of the cells among those with the cell's answer to the first question, ``within[1]``
    to the second: one entry a cell, NaN where too few have that answer, or there are too few reports.
    """

    marginals: tuple[Sums, Sums]
    within: tuple[Ratios, Ratios]


def groups_of(shape: tuple[int, int]) -> tuple[Indices, Indices]:
    """Return the answer of each cell to the first question, which is the slowest, and to the second."""
    first, second = np.indices(shape).reshape(2, -1)
    return first, second


def crossed(
    mechanism: Mechanism, tally: Tally, shape: tuple[int, int], confidence: float, *, simultaneous: bool = False
) -> Crossed:
    """Return what a tally says of a product domain of that shape, about the population.

    With ``simultaneous`` the marginals hold all together, and so do the shares within answers, by Bonferroni's
    inequality. Raises ParameterError if the mechanism does not know how two supports hang together.
    """
    alpha = 1 - confidence
    answers, cells = (sum(shape), 2 * shape[0] * shape[1]) if simultaneous else (1, 1)
    groups = groups_of(shape)
    first, second = (sums_of(mechanism, tally, group, alpha / answers) for group in groups)
    score = -NormalDist().inv_cdf(alpha / cells / 2)
    within = (
        _within(mechanism, tally, group, sums, score) for group, sums in zip(groups, (first, second), strict=True)
    )
    by_first, by_second = within
    return Crossed((first, second), (by_first, by_second))


def _within(mechanism: Mechanism, tally: Tally, group: Indices, sums: Sums, score: float) -> Ratios:
    """Return the share of each cell in the sum of its group."""
    if tally.total < _LEAST:
        unknown = np.full(len(group), np.nan)
        return Ratios(unknown, unknown, unknown)
    frequency, supporting, trials = debiased(mechanism, (), tally)
    chance, out_of = supporting / np.maximum(trials, 1), np.maximum(trials, 1)
    alone = chance * (1 - chance) / (float(mechanism.p - mechanism.q) ** 2 * out_of)
    whole = np.bincount(group, sums.with_cells).astype(np.float64)
    return fieller(frequency, sums.frequency[group], alone, whole[group], sums.with_cells, score)
