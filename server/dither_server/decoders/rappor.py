"""RAPPOR: candidate strings are fitted to the debiased (cohort, bit) table by weighted least squares.

With y[c, j] = (counts[c, j]/n_c - b)/(a - b), which estimates the share of cohort c that marks bit j, and
X[(c, j), v] = 1 if candidate v marks bit j in cohort c,

    E y[c, j] = Σ_v f_v X[(c, j), v] + (1 - Σ_v f_v) h/m.

The last term is the background: the people whose string is no candidate. Every string marks exactly h of m bits, and
the bits of an unknown one are uniform, so it has no parameter of its own; subtracting it, (y - h/m) is fitted by
(X - h/m) f. Two fits are made: an unconstrained one, which is unbiased and has a covariance, and a non-negative one,
which is what a reader would rather see and stands beside the first as the consistent estimate.

Where the candidates are too many for the table to tell apart, only those whose presence shows (selection.py) are fitted
together; every other is fitted alone to what they leave over.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg, optimize

from dither_shared import Mechanism

from ..consistency import onto_subsimplex
from ..tally import Tally
from .selection import fitted, select
from .system import Floats, Indices, System, design, system_of

__all__ = ["Fit", "design", "regress"]

_MOST_AT_ONCE = 2000
"""The widest unconstrained fit: its normal matrix takes 32 MB."""

_APART = 1e-6
"""By how much the fit of a candidate may miss a tally of itself alone before it counts as not told from others."""

_FALSE_DISCOVERIES = 0.04
"""The level of selection: measured on memoised reports, a level of 5% lets 5 to 8% through, for tests repeat."""

_MANY_COHORTS = 24
"""From so many cohorts on, their scatter is known well enough to be a standard error of its own."""


@dataclass(frozen=True)
class Fit:
    """Frequencies of the candidates: unbiased ones with standard errors, and the non-negative fit; each shape (V,).

    The standard error of a candidate that cannot be told from others is infinite.
    """

    frequency: Floats
    standard_error: Floats
    non_negative: Floats


def regress(mechanism: Mechanism, candidates: tuple[str, ...], tally: Tally) -> Fit:
    """Fit the candidates to a tally with at least one report."""
    system = system_of(mechanism, candidates, tally)
    cells, width = system.marks.shape
    together = np.arange(width)
    if width > min(_MOST_AT_ONCE, cells // 2):
        together = select(system, _FALSE_DISCOVERIES)
    system = system.reweighted(mechanism, _non_negative(system, together))
    frequency, error = _unconstrained(mechanism, system, together)
    return Fit(frequency, error, onto_subsimplex(_non_negative(system, together)))


def _non_negative(system: System, chosen: Indices) -> Floats:
    """Return the weighted non-negative least-squares fit of the chosen, 0 for the others; shape (V,)."""
    frequency = np.zeros(system.marks.shape[1])
    if len(chosen):
        columns = system.dense(chosen)
        weighted = columns.T * system.weight
        # The same problem through the square root of the normal matrix: as many rows as candidates, not as cells.
        values, vectors = linalg.eigh(weighted @ columns)
        told = values > _APART * values[-1]
        root = np.sqrt(values[told])[:, None] * vectors[:, told].T
        right = (vectors[:, told].T @ (weighted @ system.target)) / np.sqrt(values[told])
        frequency[chosen], _ = optimize.nnls(root, right, maxiter=30 * len(chosen))
    return frequency


def _unconstrained(mechanism: Mechanism, system: System, together: Indices) -> tuple[Floats, Floats]:
    """Return the least-squares fit of the candidates ``together``, of the others alone, and the standard errors."""
    width = system.marks.shape[1]
    frequency, error = np.zeros(width), np.zeros(width)
    residual = system.target
    if len(together):
        frequency[together], residual, solve = fitted(system, together)
        error[together] = _standard_errors(mechanism, system, together, solve, residual)
    alone = np.setdiff1d(np.arange(width), together)
    if len(alone):
        information = system.information()[alone]
        frequency[alone] = system.gradient(residual)[alone] / information
        error[alone] = np.sqrt(system.dispersion(residual, len(together)) / information)
    return frequency, error


def _standard_errors(
    mechanism: Mechanism, system: System, together: Indices, solve: Floats, residual: Floats
) -> Floats:
    """Return the standard errors of ``solve @ target``: those of the model or of the cohorts, whichever are larger.

    In the model the noise is scaled up by the residuals where these exceed it. Cohorts are independent surveys of one
    population; with many of them the scatter of what each contributes is an error that assumes nothing of how
    the reports of one person hang together.
    """
    columns = system.dense(together)
    variance = _model_variance(mechanism, system, columns, solve)
    error = np.sqrt(variance * system.dispersion(residual, len(together)))
    cohorts = len(residual) // mechanism.cells
    if cohorts >= _MANY_COHORTS and len(together) < len(residual) // 2:
        parts = (solve * residual).reshape(len(together), cohorts, -1).sum(axis=2)
        spread = (parts**2).sum(axis=1) * cohorts / (cohorts - 1) * len(residual) / (len(residual) - len(together))
        error = np.maximum(error, np.sqrt(spread))
    apart = np.einsum("ij,ji->i", solve, columns) > 1 - _APART
    return np.where(apart, error, np.inf)  # others mark the same bits: the table cannot say whose they are


def _model_variance(mechanism: Mechanism, system: System, columns: Floats, solve: Floats) -> Floats:
    """Return Var(solve @ target) over noise and over who is in which cohort.

    A cohort's shares f_c scatter around f with covariance (diag f - f f')/n_c, which couples the bits of one string;
    given them, the bits are independent.
    """
    a, b = float(mechanism.a), float(mechanism.b)
    frequency = np.maximum(solve @ system.target, 0)
    share = np.clip(columns @ frequency + system.background, 0.0, 1.0)
    noise = (share * a * (1 - a) + (1 - share) * b * (1 - b)) / (system.reports * (a - b) ** 2)
    variance = np.asarray((solve**2) @ noise, dtype=np.float64)
    for start in range(0, len(noise), mechanism.cells):
        cohort = slice(start, start + mechanism.cells)
        seen = solve[:, cohort] @ columns[cohort]
        variance += np.maximum((seen**2) @ frequency - (seen @ frequency) ** 2, 0) / system.reports[start]
    return variance
