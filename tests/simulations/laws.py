"""The exact law of a tally, by enumeration, and a chi-square test against it."""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import product

import numpy as np
import pytest
from scipy import stats

from contract.exact_law import law_of
from dither_server.tally.tally import Tally
from dither_shared import Mechanism
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
    """The tally of a single user: a cohort by its law, and in it the exact law of a report from tests/contract."""
    law: dict[Cells, float] = {}
    for cohort, share in enumerate(cohort_shares(mechanism)):
        for payload, probability in law_of(mechanism, item, cohort).items():
            counts = [0] * (mechanism.cohorts * mechanism.cells)
            for cell in mechanism.row_format.cells_of(payload):
                counts[cohort * mechanism.cells + cell] = 1
            law[(*(int(c == cohort) for c in range(mechanism.cohorts)), *counts)] = float(probability) * share
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


def convolved(one: Mapping[Cells, float], other: Mapping[Cells, float]) -> dict[Cells, float]:
    law: dict[Cells, float] = {}
    for (a, p), (b, q) in product(one.items(), other.items()):
        cells = tuple(x + y for x, y in zip(a, b, strict=True))
        law[cells] = law.get(cells, 0.0) + p * q
    return law
