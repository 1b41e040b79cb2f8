"""Set up the weighted linear system of RAPPOR reports: a debiased table of (cohort, bit) against candidate strings.

With y[c, j] = (counts[c, j]/n_c - b)/(a - b), which estimates the share of cohort c that marks bit j, and
X[(c, j), v] = 1 if candidate v marks bit j in cohort c,

    E y[c, j] = Σ_v f_v X[(c, j), v] + μ_c,

where μ_c is the background: the bits of those whose string is no candidate, which are uniform. Both sides are taken
less their weighted mean over the cohort, which removes μ_c and loses nothing, since every string marks h bits.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from ...tally.arrays import Counts, Floats, Indices
from ..hashing import Marks

__all__ = ["Floats", "Indices", "System", "Table"]

_NEXT_TO_NOTHING = 1e-12


@dataclass(frozen=True)
class Table:
    """Counts of ones, shape (cohorts, bits), in so many ``reports`` a cohort, shape (cohorts,).

    A bit is reported as 1 with probability ``a`` if the value marks it and ``b`` if not.
    """

    reports: Counts
    counts: Counts
    a: float
    b: float

    def variance(self, share: Floats) -> Floats:
        """Return Var y of cells that a ``share`` of their cohort marks, over noise and sampling."""
        reported = self.b + (self.a - self.b) * np.clip(share, 0.0, 1.0)
        return np.asarray(reported * (1 - reported) / (self.reports[:, np.newaxis] * (self.a - self.b) ** 2))


@dataclass(frozen=True)
class System:
    """The system of the cohorts that have reports. Cells have shape (cohorts, bits), candidates (V,).

    ``marks`` holds the bits that candidates mark (hashing.py); where it is ``bits`` none is. ``target`` is y less its
    mean, ``weight`` the inverse variance of a cell.
    """

    table: Table
    marks: Marks
    target: Floats
    weight: Floats

    @classmethod
    def of(cls, table: Table, marks: Marks) -> Self:
        """Return the system of a table with at least one report."""
        present = np.flatnonzero(table.reports)
        table = replace(table, reports=table.reports[present], counts=table.counts[present])
        marks = marks if len(present) == len(marks) else marks[present]
        system = cls(table, marks, np.zeros(0), np.ones(table.counts.shape))
        system = replace(system, weight=1 / table.variance(system.share(np.zeros(system.candidates))))
        share = (table.counts / table.reports[:, np.newaxis] - table.b) / (table.a - table.b)
        return replace(system, target=system.centred(share))

    @property
    def candidates(self) -> int:
        """The number of candidates."""
        return int(self.marks.shape[2])

    @property
    def freedom(self) -> int:
        """The number of cells that can differ once each cohort's mean is gone."""
        cohorts, bits = self.weight.shape
        return int(cohorts * (bits - 1))

    def centred(self, cells: Floats) -> Floats:
        """Return cells less their cohort's weighted mean."""
        mean = (self.weight * cells).sum(axis=1, keepdims=True) / self.weight.sum(axis=1, keepdims=True)
        return np.asarray(cells - mean)

    def spread(self, frequency: Floats) -> Floats:
        """Return X f, centred."""
        held = np.flatnonzero(frequency)
        few = 4 * len(held) < len(frequency)
        marks, weights = (self.marks[:, :, held], frequency[held]) if few else (self.marks, frequency)
        bits = self.weight.shape[1]
        repeated = np.tile(weights, marks.shape[1])
        rows = [np.bincount(cohort.ravel(), repeated, bits + 1)[:bits] for cohort in marks]
        return self.centred(np.array(rows))

    def gathered(self, residual: Floats) -> Floats:
        """Return X' W r for a centred residual."""
        return sum(self._by_cohort(self.weight * residual), start=np.zeros(self.candidates))

    @cached_property
    def information(self) -> Floats:
        """The diagonal of X' W X: the inverse variance of each candidate fitted alone, next to 0 if nothing tells."""
        total = np.zeros(self.candidates)
        for marked, all_bits in zip(self._by_cohort(self.weight), self.weight.sum(axis=1), strict=True):
            total += marked - marked**2 / all_bits
        return np.asarray(np.maximum(total, _NEXT_TO_NOTHING * self.weight.sum()))

    def dense(self, chosen: Indices) -> Floats:
        """Return the chosen columns of X, centred; shape (cells, chosen)."""
        cohorts, bits = self.weight.shape
        columns = np.zeros((cohorts, bits + 1, len(chosen)))
        places = np.arange(len(chosen))
        for cohort, marks in zip(columns, self.marks[:, :, chosen], strict=True):
            cohort[marks, places] = 1.0
        columns = columns[:, :bits]
        share = self.weight / self.weight.sum(axis=1, keepdims=True)
        columns -= np.einsum("cb,cbv->cv", share, columns)[:, np.newaxis]
        return np.asarray(columns.reshape(cohorts * bits, len(chosen)))

    def share(self, frequency: Floats) -> Floats:
        """Return the share of each cohort that marks each bit, of people who hold these strings or unknown ones."""
        cohorts, bits = self.weight.shape
        background = float((self.marks < bits).sum()) / max(1, cohorts * bits * self.candidates)
        return np.asarray(np.clip(self.spread(frequency) + background, 0.0, 1.0))

    def reweighted(self, frequency: Floats) -> Self:
        """Return the system with the weights that follow from a fit."""
        system = replace(self, weight=1 / self.table.variance(self.share(frequency)))
        return replace(system, target=system.centred(self.target))

    def _by_cohort(self, cells: Floats) -> list[Floats]:
        """Return for every cohort the sums of its cells over the bits that each candidate marks."""
        padded = np.pad(cells, ((0, 0), (0, 1)))
        return [row.take(marks).sum(axis=0) for row, marks in zip(padded, self.marks, strict=True)]
