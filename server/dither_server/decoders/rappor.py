"""RAPPOR: candidate strings are fitted to the debiased (cohort, bit) table by weighted least squares.

With y[c, j] = (counts[c, j]/n_c - b)/(a - b), which estimates the share of cohort c that marks bit j, and
X[(c, j), v] = 1 if candidate v marks bit j in cohort c,

    E y[c, j] = Σ_v f_v X[(c, j), v] + (1 - Σ_v f_v) h/m.

The last term is the background: the people whose string is no candidate. Every string marks exactly h of m bits, and
the bits of an unknown one are uniform, so it has no parameter of its own; subtracting it, (y - h/m) is fitted by
(X - h/m) f. Two fits are made: an unconstrained one, which is unbiased and has a covariance, and a non-negative one,
which is what a reader would rather see and stands beside the first as the consistent estimate.

Where the candidates are too many for the table to tell apart, only those that the non-negative fit needs enter the
unconstrained one; every other is then fitted alone to what they leave over.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize, sparse

from dither_shared import Mechanism

from ..consistency import onto_subsimplex
from ..tally import Tally

__all__ = ["Fit", "design", "regress"]

Floats = NDArray[np.float64]

_MOST_AT_ONCE = 2000
"""The widest unconstrained fit: its normal matrix takes 32 MB."""

_APART = 1e-6
"""By how much the fit of a candidate may miss a tally of itself alone before it counts as not told from others."""


@dataclass(frozen=True)
class Fit:
    """Frequencies of the candidates: unbiased ones with standard errors, and the non-negative fit; each shape (V,).

    The standard error of a candidate that cannot be told from others is infinite.
    """

    frequency: Floats
    standard_error: Floats
    non_negative: Floats


@dataclass(frozen=True)
class _System:
    """The weighted system: rows are the cells of cohorts with reports, columns the candidates.

    ``reports`` and ``weight`` have an entry a row; ``target`` is y - h/m and ``background`` h/m.
    """

    marks: sparse.csr_array
    background: float
    target: Floats
    reports: Floats
    weight: Floats

    def fitted(self, frequency: Floats) -> Floats:
        """Return (X - h/m) f, without ever filling the sparse X."""
        return np.asarray(self.marks @ frequency - self.background * frequency.sum(), dtype=np.float64)

    def gradient(self, residual: Floats) -> Floats:
        """Return (X - h/m)' W r, one entry a candidate."""
        weighted = self.weight * residual
        return np.asarray(self.marks.T @ weighted - self.background * weighted.sum(), dtype=np.float64)

    def dense(self, chosen: NDArray[np.intp]) -> Floats:
        """Return the columns of X - h/m for the chosen candidates."""
        return np.asarray(self.marks[:, chosen].toarray() - self.background, dtype=np.float64)

    def reweighted(self, mechanism: Mechanism, frequency: Floats) -> Self:
        """Return the system with the weights that follow from a fit: the inverse variance of each cell."""
        share = np.clip(self.fitted(frequency) + self.background, 0.0, 1.0)
        return type(self)(
            self.marks, self.background, self.target, self.reports, 1 / _cell_variance(mechanism, share, self.reports)
        )


@lru_cache(maxsize=8)
def design(mechanism: Mechanism, candidates: tuple[str, ...]) -> sparse.csr_array:
    """Return X, of shape (cohorts · cells, candidates), with a 1 for every bit that a candidate marks."""
    encoded = [candidate.encode("utf-8") for candidate in candidates]
    rows = [
        cohort * mechanism.cells + cell
        for value in encoded
        for cohort in range(mechanism.cohorts)
        for cell in mechanism.marked(value, cohort)
    ]
    each = len(rows) // len(encoded)
    columns = np.repeat(np.arange(len(encoded)), each)
    shape = (mechanism.cohorts * mechanism.cells, len(encoded))
    return sparse.csr_array((np.ones(len(rows)), (np.asarray(rows), columns)), shape=shape)


def regress(mechanism: Mechanism, candidates: tuple[str, ...], tally: Tally) -> Fit:
    """Fit the candidates to a tally with at least one report."""
    system = _system(mechanism, candidates, tally)
    non_negative = _non_negative(system)
    system = system.reweighted(mechanism, non_negative)
    non_negative = _non_negative(system)
    cells, width = system.marks.shape
    together = np.arange(width)
    if width > min(_MOST_AT_ONCE, cells // 2):
        together = np.argsort(-non_negative, kind="stable")[: min(_MOST_AT_ONCE, cells // 2)]
        together = np.sort(together[non_negative[together] > 0])
    frequency, error = _unconstrained(mechanism, system, together)
    return Fit(frequency, error, onto_subsimplex(non_negative))


def _system(mechanism: Mechanism, candidates: tuple[str, ...], tally: Tally) -> _System:
    """Debias the table of a tally; cohorts without reports have nothing to say."""
    present = np.flatnonzero(tally.reports)
    rows = (present[:, None] * mechanism.cells + np.arange(mechanism.cells)).ravel()
    reports = np.repeat(tally.reports[present], mechanism.cells).astype(np.float64)
    a, b = float(mechanism.a), float(mechanism.b)
    share = (tally.counts[present].ravel() / reports - b) / (a - b)
    marks = design(mechanism, candidates)[rows]
    background = len(mechanism.marked(b"", 0)) / mechanism.cells
    weight = 1 / _cell_variance(mechanism, np.full(len(rows), background), reports)
    return _System(marks, background, share - background, reports, weight)


def _cell_variance(mechanism: Mechanism, share: Floats, reports: Floats) -> Floats:
    """Return Var y of a cell that a ``share`` of its cohort marks, over noise and sampling."""
    a, b = float(mechanism.a), float(mechanism.b)
    reported = b + (a - b) * share
    return reported * (1 - reported) / (reports * (a - b) ** 2)


def _non_negative(system: _System) -> Floats:
    """Return the weighted non-negative least-squares fit, by L-BFGS-B on the sparse system."""

    def objective(frequency: Floats) -> tuple[float, Floats]:
        residual = system.fitted(frequency) - system.target
        return 0.5 * float(residual @ (system.weight * residual)), system.gradient(residual)

    width = system.marks.shape[1]
    solution = optimize.minimize(
        objective, np.zeros(width), jac=True, method="L-BFGS-B", bounds=[(0, None)] * width, options={"maxiter": 1000}
    )
    return np.asarray(solution.x, dtype=np.float64)


def _unconstrained(mechanism: Mechanism, system: _System, together: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Return the least-squares fit of the candidates ``together``, of the others alone, and the standard errors."""
    width = system.marks.shape[1]
    frequency, error = np.zeros(width), np.zeros(width)
    residual = system.target
    if len(together):
        columns = system.dense(together)
        solve = linalg.pinvh((columns.T * system.weight) @ columns) @ (columns.T * system.weight)
        frequency[together] = solve @ system.target
        error[together] = _standard_errors(mechanism, system, solve, columns, np.maximum(frequency[together], 0))
        apart = np.einsum("ij,ji->i", solve, columns) > 1 - _APART
        error[together[~apart]] = np.inf  # others mark the same bits: the table cannot say whose they are
        residual = system.target - columns @ frequency[together]
    alone = np.setdiff1d(np.arange(width), together)
    if len(alone):
        information = _information(system)[alone]
        frequency[alone] = system.gradient(residual)[alone] / information
        error[alone] = 1 / np.sqrt(information)
    return frequency, error


def _information(system: _System) -> Floats:
    """Return the diagonal of (X - h/m)' W (X - h/m)."""
    background, weight = system.background, system.weight
    marked = np.asarray(system.marks.T @ weight, dtype=np.float64)
    return np.asarray((1 - 2 * background) * marked + background**2 * weight.sum(), dtype=np.float64)


def _standard_errors(
    mechanism: Mechanism, system: _System, solve: Floats, columns: Floats, frequency: Floats
) -> Floats:
    """Return the standard errors of ``solve @ target``, over noise and over who is in which cohort.

    A cohort's shares f_c scatter around f with covariance (diag f - f f')/n_c, which couples the bits of one string;
    given them, the bits are independent. The noise is scaled up by the residuals where these exceed it, as they do
    if the same people report on many days.
    """
    a, b = float(mechanism.a), float(mechanism.b)
    share = np.clip(columns @ frequency + system.background, 0.0, 1.0)
    noise = (share * a * (1 - a) + (1 - share) * b * (1 - b)) / (system.reports * (a - b) ** 2)
    variance = np.asarray((solve**2) @ noise, dtype=np.float64)
    for start in range(0, len(noise), mechanism.cells):
        cohort = slice(start, start + mechanism.cells)
        seen = solve[:, cohort] @ columns[cohort]
        scatter = (seen**2) @ frequency - (seen @ frequency) ** 2
        variance += np.maximum(scatter, 0) / system.reports[start]
    spare = len(noise) - len(frequency)
    residual = system.target - columns @ (solve @ system.target)
    dispersion = float(residual @ (system.weight * residual)) / spare if spare > 0 else 1.0
    return np.sqrt(variance * max(1.0, dispersion))
