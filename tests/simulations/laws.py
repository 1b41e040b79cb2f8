"""The exact law of a tally, by enumeration, written independently of the samplers; and a chi-square test against it."""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats

from dither_server.tally.tally import Tally
from dither_shared import Mechanism, Shape
from dither_simulations.users.populations import Population, items_of

Cells = tuple[int, ...]
"""A tally as one tuple: reports per cohort, then counts row by row."""

ERROR_PROBABILITY = 1e-7
"""How often, over the choice of its seed, a chi-square test here fails although the law is right."""

DRAWS = [pytest.param(600, id="few"), pytest.param(4_000, id="many", marks=pytest.mark.slow)]
"""How many tallies a test draws. Slow is the number that shows a law which is off by a third as much."""

_LEAST_EXPECTED = 20.0
"""Neighbouring outcomes are pooled until as many are expected, so that the chi-square law holds far into its tail."""


def flat(tally: Tally) -> Cells:
    return (*tally.reports.tolist(), *tally.counts.reshape(-1).tolist())


def law_of_one(mechanism: Mechanism, item: int | bytes) -> dict[Cells, float]:
    """The tally of a single user: a cohort by its law, and in it what the mechanism's docstring says of a report."""
    law: dict[Cells, float] = {}
    cohorts, cells = mechanism.cohorts, mechanism.cells
    for cohort in range(cohorts):
        for row, probability in _rows(mechanism, item, cohort):
            counts = [0] * (cohorts * cells)
            counts[cohort * cells : (cohort + 1) * cells] = row
            law[(*(int(c == cohort) for c in range(cohorts)), *counts)] = probability * cohort_shares(mechanism)[cohort]
    return law


def law_of_all(mechanism: Mechanism, population: Population) -> dict[Cells, float]:
    """The tally of independent users: the convolution of their laws."""
    items = items_of(mechanism, population.labels)
    law: dict[Cells, float] = {(0,) * (mechanism.cohorts * (1 + mechanism.cells)): 1.0}
    for item, count in zip(items, population.counts.tolist(), strict=True):
        one = law_of_one(mechanism, item)
        for _ in range(count):
            law = convolved(law, one)
    return law


def assert_follows(draws: Iterable[Tally], law: Mapping[Cells, float]) -> None:
    """Chi-square of the draws against the law; fails with ``ERROR_PROBABILITY`` if the law is right."""
    seen = Counter(map(flat, draws))
    assert seen.keys() <= law.keys(), "a tally that cannot be"
    total, outcomes = seen.total(), sorted(law)
    each = np.array([total * law[cells] for cells in outcomes])
    bins = np.minimum((each.cumsum() - each / 2) // _LEAST_EXPECTED, total // _LEAST_EXPECTED - 1).astype(int)
    _, bins = np.unique(bins, return_inverse=True)
    expected = np.bincount(bins, each)
    observed = np.bincount(bins, [seen[cells] for cells in outcomes])
    assert len(expected) >= 3, "too few kinds of tallies to test a law by"
    statistic = float((np.square(observed - expected) / expected).sum())
    assert stats.chi2.sf(statistic, len(expected) - 1) > ERROR_PROBABILITY


def expected_counts(mechanism: Mechanism, population: Population) -> np.ndarray:
    """The mean of the counts of a tally, by the law of each cell; shape (cohorts, cells)."""
    counts = np.zeros((mechanism.cohorts, mechanism.cells))
    for item, users in zip(items_of(mechanism, population.labels), population.counts.tolist(), strict=True):
        for cohort in range(mechanism.cohorts):
            law = [float(probability) for probability in mechanism.cell_law(item, cohort)]
            counts[cohort] += users * cohort_shares(mechanism)[cohort] * np.array(law)
    return counts


def cohort_shares(mechanism: Mechanism) -> list[float]:
    """How likely each cohort is."""
    return [float(share) for share in mechanism.cohort_law or [1 / mechanism.cohorts] * mechanism.cohorts]


def _rows(mechanism: Mechanism, item: int | bytes, cohort: int) -> Iterable[tuple[Cells, float]]:
    cells, marked = mechanism.cells, mechanism.marked(item, cohort)
    chance = [float(probability) for probability in mechanism.cell_law(item, cohort)]
    if mechanism.shape is Shape.SYMBOL:
        return ((tuple(int(cell == symbol) for cell in range(cells)), chance[symbol]) for symbol in range(cells))
    if mechanism.weight is not None:
        return _subsets(mechanism, mechanism.weight, marked)
    rows = product((0, 1), repeat=cells)
    return ((row, float(np.prod([c if bit else 1 - c for bit, c in zip(row, chance, strict=True)]))) for row in rows)


def _subsets(mechanism: Mechanism, size: int, marked: Cells) -> Iterable[tuple[Cells, float]]:
    """The subsets of a size: one with a marked cell is e^ε times as likely as one without."""
    cells, odds = range(mechanism.cells), float(mechanism.ratio)
    weights = {subset: 1.0 if set(subset).isdisjoint(marked) else odds for subset in combinations(cells, size)}
    total = sum(weights.values())
    return ((tuple(int(cell in subset) for cell in cells), weight / total) for subset, weight in weights.items())


def convolved(one: Mapping[Cells, float], other: Mapping[Cells, float]) -> dict[Cells, float]:
    law: dict[Cells, float] = {}
    for (a, p), (b, q) in product(one.items(), other.items()):
        cells = tuple(x + y for x, y in zip(a, b, strict=True))
        law[cells] = law.get(cells, 0.0) + p * q
    return law
