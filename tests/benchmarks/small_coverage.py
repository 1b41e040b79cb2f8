"""Measure how often intervals of few reports hold: ``python -m tests.benchmarks.small_coverage [--surveys N]``.

A survey draws 5 or 50 people and, by the exact law, their reports: a choice of six answers, sets of five items, a
number that few people have high, and strings of which some are not listed. The table says how often intervals contain
the population's shares of answers, items and pairs, the average number of items, the mean, and the shares of strings,
wherever an interval is stated.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dither_server.estimation.estimate import estimate
from dither_server.estimation.numeric.estimate import estimate_number
from dither_server.estimation.numeric.tabulated import law_of
from dither_server.estimation.sets import estimate_sets
from dither_server.tally.tally import Tally
from dither_shared import DitheredResponse, Mechanism, ProjectiveSketch, SetResponse
from dither_shared.mechanisms.auto import choose
from dither_simulations.samplers import sample_tally
from dither_simulations.users.populations import Population, numbered, set_label

from .tables import Part, run

SURVEYS, SEED = 300, 20261128
EPSILONS, REPORTS = (1.0, 4.0, 8.0), (5, 50)
KINDS = ("answers", "items", "pairs", "average", "mean", "strings")

SHARES = np.array([0.5, 0.3, 0.15, 0.05, 0.0, 0.0])
SETS, OF_SETS = (0, 0b1, 0b11, 0b111, 0b11111, 0b10000), np.array([0.3, 0.25, 0.2, 0.1, 0.05, 0.1])
OF_ITEMS = np.array([sum(share for item, share in zip(SETS, OF_SETS, strict=True) if item >> j & 1) for j in range(5)])

Floats = NDArray[np.float64]


class _Ends(NamedTuple):
    """Intervals of a kind and the values that they should contain; NaN stands for no interval."""

    stated: Floats
    low: Floats
    high: Floats
    truth: Floats


def _both(one: int, other: int) -> float:
    pair = 1 << one | 1 << other
    return float(sum(share for item, share in zip(SETS, OF_SETS, strict=True) if item & pair == pair))


def surveyed(epsilon: float, reports: int, number: int, rng: np.random.Generator) -> list[_Ends]:
    """Return the intervals of one survey, one entry a kind."""

    def tally_of(mechanism: Mechanism, labels: tuple[str, ...], shares: Floats) -> Tally:
        return sample_tally(mechanism, Population.drawn(labels, shares, reports, rng), rng)

    listed = choose(len(SHARES), epsilon, None)
    chosen = estimate(listed, numbered(6), tally_of(listed, numbered(6), SHARES))
    window = SetResponse.calibrate(5, epsilon)
    sets = estimate_sets(window, numbered(5), tally_of(window, tuple(map(set_label, SETS)), OF_SETS))
    pairs, total = sets.pairs, sets.total
    of_pairs = np.array([_both(*two) for two in zip(pairs.given.tolist(), pairs.value.tolist(), strict=True)])
    grid = DitheredResponse.calibrate(None, epsilon)
    ends = np.zeros(grid.size)
    ends[[0, -1]] = 0.9, 0.1
    mean = estimate_number(law_of(grid), tally_of(grid, numbered(grid.size), ends)).mean
    sketch, strings = ProjectiveSketch.calibrate(None, epsilon), tuple(f"{number}/{place}" for place in range(8))
    held = np.array([0.3, 0.2, 0.1, 0.0, 0.0, 0.0, 0.2, 0.2])
    found = estimate(sketch, strings[:6], tally_of(sketch, strings, held))
    return [
        _Ends(chosen.frequency, chosen.low, chosen.high, SHARES),
        _Ends(sets.frequency, sets.low, sets.high, OF_ITEMS),
        _Ends(pairs.both, pairs.both_low, pairs.both_high, of_pairs),
        _Ends(*np.array([[total.value], [total.low], [total.high], [OF_ITEMS.sum()]])),
        _Ends(*np.array([[mean.estimate], [mean.low], [mean.high], [0.1]])),
        _Ends(found.frequency, found.low, found.high, held[:6]),
    ]


def measured(epsilon: float, reports: int, surveys: int) -> Iterator[list[str]]:
    """Yield how often the intervals of each kind hold, among those that are stated."""
    rng, held = np.random.default_rng([SEED, int(epsilon), reports]), np.zeros((2, len(KINDS)))
    for number in range(surveys):
        for kind, ends in enumerate(surveyed(epsilon, reports, number, rng)):
            stated = np.isfinite(ends.stated)
            held[:, kind] += ((ends.low <= ends.truth) & (ends.truth <= ends.high) & stated).sum(), stated.sum()
    figures = [f"{100 * one / stated:.1f}" if stated else "-" for one, stated in held.T.tolist()]
    yield [f"{epsilon:g}", str(reports), *figures]


CELLS = [(epsilon, reports) for epsilon in EPSILONS for reports in REPORTS]

if __name__ == "__main__":
    run(__doc__, small=Part("coverage-small", ["ε", "reports", *KINDS], CELLS, measured, SURVEYS, words=0))
