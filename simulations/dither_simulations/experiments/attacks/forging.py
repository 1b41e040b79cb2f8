"""Forged reports: rows that a collector takes, made by no randomizer."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dither_shared import Mechanism, Shape

from ...users.populations import Counts


def random_support(mechanism: Mechanism) -> float:
    """Return the probability that a uniformly random report supports a value."""
    return 0.5 if mechanism.weight is None else mechanism.weight * mechanism.marks / mechanism.cells


def random_rows(mechanism: Mechanism, count: int, rng: np.random.Generator) -> bytes:
    """Return rows of reports drawn uniformly from all possible ones."""
    if mechanism.shape is Shape.SYMBOL:
        cohorts, cells = rng.integers(mechanism.cohorts, size=count), rng.integers(mechanism.cells, size=count)
        return b"".join(_row(mechanism, (cell,), cohort) for cohort, cell in zip(cohorts, cells, strict=True))
    if mechanism.weight is not None:
        return b"".join(_row(mechanism, rng.permutation(mechanism.cells)[: mechanism.weight]) for _ in range(count))
    chosen = rng.integers(2, size=(count, mechanism.cells), dtype=np.int8)
    return b"".join(_row(mechanism, np.flatnonzero(row)) for row in chosen)


def most_supported(mechanism: Mechanism, targets: Sequence[int]) -> int:
    """Return how many of the targets one report can support at most."""
    if mechanism.shape is Shape.SYMBOL:
        return int(_hits(mechanism, tuple(targets)).max())
    return len(targets) if mechanism.weight is None else min(len(targets), mechanism.weight)


def best_symbols(mechanism: Mechanism, targets: Sequence[int]) -> Counts:
    """Return the symbols that support the most targets, as pairs of a cohort and a cell; shape (symbols, 2)."""
    hits = _hits(mechanism, tuple(targets))
    return np.argwhere(hits == hits.max())


def crafted_rows(mechanism: Mechanism, targets: Sequence[int], count: int, rng: np.random.Generator) -> bytes:
    """Return rows of reports that each support the most targets, and otherwise look like honest ones.

    A symbol is any of the best symbols. Bits are set for all targets and for enough random others that there are as
    many ones as in an average honest report. A subset holds as many targets as fit, and others.
    """
    if mechanism.shape is Shape.SYMBOL:
        best = best_symbols(mechanism, targets)
        picked = best[rng.integers(len(best), size=count)]
        return b"".join(_row(mechanism, (cell,), cohort) for cohort, cell in picked)
    usual = round(float(mechanism.a) + (mechanism.cells - 1) * float(mechanism.b))
    ones = max(usual, len(targets)) if mechanism.weight is None else mechanism.weight
    others = np.setdiff1d(np.arange(mechanism.cells), targets)
    return b"".join(_row(mechanism, _filled(targets, others, ones, rng)) for _ in range(count))


def _filled(targets: Sequence[int], others: Counts, ones: int, rng: np.random.Generator) -> Counts:
    kept = rng.permutation(np.array(targets))[:ones]
    return np.concatenate([kept, rng.permutation(others)[: ones - len(kept)]])


@lru_cache(maxsize=64)
def _hits(mechanism: Mechanism, targets: tuple[int, ...]) -> Counts:
    """Return how many targets each symbol of each cohort supports; shape (cohorts, cells)."""
    hits = np.zeros((mechanism.cohorts, mechanism.cells), dtype=np.int64)
    for cohort in range(mechanism.cohorts):
        for target in targets:
            hits[cohort, list(mechanism.supporting(target, cohort))] += 1
    return hits


def _row(mechanism: Mechanism, cells: Sequence[int] | NDArray[np.int64], cohort: int = 0) -> bytes:
    """Return the row that reports these cells."""
    rows = mechanism.row_format
    return rows.encode(int(cohort), rows.payload(int(cell) for cell in cells))
