"""Set up the weighted linear system of RAPPOR reports: a debiased table of (cohort, bit) against candidate strings.

With y[c, j] = (counts[c, j]/n_c - b)/(a - b), which estimates the share of cohort c that marks bit j, and
X[(c, j), v] = 1 if candidate v marks bit j in cohort c,

    E y[c, j] = Σ_v f_v X[(c, j), v] + μ_c,

where μ_c is the background: the bits of people whose string is no candidate, which are uniform. The weighted mean over
the cohort is subtracted from both sides, which removes μ_c and loses no information, because every string marks h bits.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
import scipy

from ...tally.arrays import Counts, Floats, Indices
from ..hashing import Marks

_NEXT_TO_NOTHING = 1e-12


@dataclass(frozen=True)
class BitCounts:
    """Counts of ones, shape (cohorts, bits), in the ``reports`` of each cohort, shape (cohorts,).

    A bit is reported as 1 with probability ``a`` if the value marks it and ``b`` if not.
    """

    reports: Counts
    counts: Counts
    a: float
    b: float

    def variance(self, share: Floats) -> Floats:
        """Return Var y, over noise and sampling, of cells that a ``share`` of the cohort marks."""
        reported = self.b + (self.a - self.b) * share
        return np.asarray(reported * (1 - reported) / (self.reports[:, np.newaxis] * (self.a - self.b) ** 2))


@dataclass(frozen=True)
class System:
    """The system of the cohorts that have reports. Cells have shape (cohorts, bits), candidates (V,).

    ``marks`` holds the bits that candidates mark (hashing.py); the entry ``bits`` means none. ``target`` is y minus its
    mean, ``weight`` the inverse variance of a cell.
    """

    table: BitCounts
    marks: Marks
    target: Floats
    weight: Floats

    @classmethod
    def of(cls, table: BitCounts, marks: Marks) -> Self:
        """Return the system of a table with at least one report."""
        present = np.flatnonzero(table.reports)
        table = replace(table, reports=table.reports[present], counts=table.counts[present])
        marks = marks if len(present) == len(marks) else marks[present]
        shifted = table.counts / (table.reports[:, np.newaxis] * (table.a - table.b))  # centring removes b, too
        return cls(table, marks, shifted, np.ones(shifted.shape)).reweighted(np.zeros(marks.shape[2]))

    @property
    def candidates(self) -> int:
        """The number of candidates."""
        return int(self.marks.shape[2])

    @property
    def freedom(self) -> int:
        """The degrees of freedom: the number of cells minus one mean per cohort."""
        cohorts, bits = self.weight.shape
        return int(cohorts * (bits - 1))

    def centred(self, cells: Floats) -> Floats:
        """Return cells minus the weighted mean of their cohort."""
        mean = (self.weight * cells).sum(axis=1, keepdims=True) / self.weight.sum(axis=1, keepdims=True)
        return np.asarray(cells - mean)

    def spread(self, frequency: Floats) -> Floats:
        """Return X f, centred."""
        return self.centred(self._marked(frequency))

    def gathered(self, residual: Floats) -> Floats:
        """Return X' W r for a centred residual."""
        return sum(self._by_cohort(self.weight * residual), start=np.zeros(self.candidates))

    @cached_property
    def information(self) -> Floats:
        """The diagonal of X' W X: the inverse variance of each candidate fitted alone; near 0 without cells."""
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
        """Return the share of each cohort that marks each bit; the bits of unknown strings are uniform."""
        background = (self.marks < self.weight.shape[1]).sum() / (self.weight.size * self.candidates)
        return np.asarray(np.clip(self._marked(frequency) + (1 - frequency.sum()) * background, 0, 1))

    def reweighted(self, frequency: Floats) -> Self:
        """Return the system with weights computed from a fit."""
        system = replace(self, weight=1 / self.table.variance(self.share(frequency)))
        return replace(system, target=system.centred(self.target))

    def _marked(self, frequency: Floats) -> Floats:
        """Return X f."""
        bits = self.weight.shape[1]
        repeated = np.tile(frequency, self.marks.shape[1])
        return np.array([np.bincount(cohort.ravel(), repeated, bits)[:bits] for cohort in self.marks])

    def _by_cohort(self, cells: Floats) -> list[Floats]:
        """Return for every cohort and candidate the sum of the cells that the candidate marks."""
        padded = np.pad(cells, ((0, 0), (0, 1)))
        return [row.take(marks).sum(axis=0) for row, marks in zip(padded, self.marks, strict=True)]


_APART = 1e-6
"""Largest error in fitting a candidate to a table of itself alone; above it the candidate is not identifiable."""

_MANY_COHORTS = 24
"""Minimum number of cohorts for a standard error from the scatter between cohorts."""


class Refit(NamedTuple):
    """Frequencies of the ``chosen``, their standard errors (infinite if indistinguishable), and that of the sum."""

    chosen: Indices
    frequency: Floats
    standard_error: Floats
    total_error: float

    @property
    def scores(self) -> Floats:
        """Frequencies in standard errors; -inf for a candidate that cannot be distinguished from others."""
        return np.where(np.isfinite(self.standard_error), self.frequency / self.standard_error, -np.inf)


def refit(system: System, chosen: Indices, target: Floats, frequencies: Floats) -> Refit:
    """Fit the chosen to ``target``, cells of shape (cohorts, bits), by weighted least squares.

    The errors are valid even if one person reports many times.

    ``frequencies`` are those of all candidates, shape (V,); those of the others enter the weights.
    """
    if not len(chosen):
        none = frequencies[chosen]
        return Refit(chosen, none, none, 0.0)
    everyone = frequencies.copy()
    everyone[chosen] = np.maximum(_fitted(system, chosen, target)[0], 0)
    system = system.reweighted(everyone)
    target = system.centred(target)
    frequency, columns, solve = _fitted(system, chosen, target)
    total = np.vstack([solve, solve.sum(axis=0)])
    variance = _model_variance(system, columns, total, everyone[chosen], system.share(everyone))
    error = _errors(system, total, target.ravel() - columns @ frequency, variance, len(chosen))
    apart = np.einsum("ij,ji->i", solve, columns) > 1 - _APART  # otherwise the table cannot distinguish them
    return Refit(chosen, frequency, np.where(apart, error[:-1], np.inf), float(error[-1]))


def _fitted(system: System, chosen: Indices, target: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the frequencies of the chosen candidates, their columns, and the matrix that solves for the frequencies.

    Shapes (S,), (cells, S) and (S, cells).
    """
    columns = system.dense(chosen)
    weighted = columns.T * system.weight.ravel()
    solve = np.asarray(scipy.linalg.pinvh(weighted @ columns) @ weighted)
    return np.asarray(solve @ target.ravel()), columns, solve


def _errors(system: System, solve: Floats, residual: Floats, variance: Floats, width: int) -> Floats:
    """Return the standard errors of ``solve @ target``: those of the model or of the cohorts, whichever are larger.

    The model's noise is scaled up if the residuals exceed it, because the same people may report repeatedly, or hold
    strings that are no candidates. Cohorts are independent surveys of one population; if there are many, the scatter of
    their contributions gives an error that assumes nothing about the dependence of reports.
    """
    spare, cohorts = system.freedom - width, len(system.weight)
    error = np.sqrt(variance * max(1.0, float(residual @ (system.weight.ravel() * residual)) / spare))
    if cohorts >= _MANY_COHORTS:
        parts = (solve * residual).reshape(len(solve), cohorts, -1).sum(axis=2)
        scatter = (parts**2).sum(axis=1) * cohorts / (cohorts - 1) * system.freedom / spare
        error = np.maximum(error, np.sqrt(scatter))
    return np.asarray(error)


def _model_variance(system: System, columns: Floats, solve: Floats, held: Floats, share: Floats) -> Floats:
    """Return Var(solve @ target) over noise and over the assignment of people to cohorts.

    A cohort's shares f_c scatter around f with covariance (diag f - f f')/n_c, which couples the bits of one string;
    given them, the bits are independent.
    """
    table = system.table
    noise = (share * table.a * (1 - table.a) + (1 - share) * table.b * (1 - table.b)) / (
        table.reports[:, np.newaxis] * (table.a - table.b) ** 2
    )
    variance = np.asarray((solve**2) @ noise.ravel(), dtype=np.float64)
    bits = share.shape[1]
    for cohort, reports in enumerate(table.reports):
        cells = slice(cohort * bits, (cohort + 1) * bits)
        seen = solve[:, cells] @ columns[cells]
        variance += np.maximum((seen**2) @ held - (seen @ held) ** 2, 0) / reports
    return variance
