"""Fit chosen candidates together by least squares, with errors that also hold if one person reports many times."""

from typing import NamedTuple

import numpy as np
from scipy import linalg

from ...tally.arrays import Floats, Indices
from .linear_system import System

__all__ = ["Refit", "refit"]

_APART = 1e-6
"""The largest miss in fitting a candidate to a table of itself alone; beyond it the candidate is not identifiable."""

_MANY_COHORTS = 24
"""From so many cohorts on, their scatter is known well enough to be a standard error of its own."""


class Refit(NamedTuple):
    """Frequencies of the ``chosen``, their standard errors (infinite if not told from others), and that of the sum."""

    chosen: Indices
    frequency: Floats
    standard_error: Floats
    total_error: float

    @property
    def scores(self) -> Floats:
        """Frequencies in standard errors; that of one not told from others is below all."""
        return np.where(np.isfinite(self.standard_error), self.frequency / self.standard_error, -np.inf)


def refit(system: System, chosen: Indices, target: Floats, beside: Floats) -> Refit:
    """Fit the chosen to ``target``, cells of shape (cohorts, bits), by weighted least squares.

    ``beside`` are frequencies of all candidates, shape (V,); those of the others count for the weights.
    """
    if not len(chosen):
        return Refit(chosen, np.zeros(0), np.zeros(0), 0.0)
    everyone = beside.copy()
    everyone[chosen] = np.maximum(_fitted(system, chosen, target)[0], 0)
    system = system.reweighted(everyone)
    target = system.centred(target)
    frequency, columns, solve = _fitted(system, chosen, target)
    total = np.vstack([solve, solve.sum(axis=0)])
    variance = _model_variance(system, columns, total, everyone[chosen], system.share(everyone))
    error = _errors(system, total, target.ravel() - columns @ frequency, variance, len(chosen))
    apart = np.einsum("ij,ji->i", solve, columns) > 1 - _APART  # else the table cannot say whose the bits are
    return Refit(chosen, frequency, np.where(apart, error[:-1], np.inf), float(error[-1]))


def _fitted(system: System, chosen: Indices, target: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the frequencies of the chosen, their columns, and the matrix that solves for them.

    Shapes (S,), (cells, S) and (S, cells).
    """
    columns = system.dense(chosen)
    weighted = columns.T * system.weight.ravel()
    solve = np.asarray(linalg.pinvh(weighted @ columns) @ weighted)
    return np.asarray(solve @ target.ravel()), columns, solve


def _errors(system: System, solve: Floats, residual: Floats, variance: Floats, width: int) -> Floats:
    """Return the standard errors of ``solve @ target``: those of the model or of the cohorts, whichever are larger.

    In the model the noise is scaled up by the residuals where these exceed it: the same people may report again and
    again, or hold strings that are no candidates. Cohorts are independent surveys of one population; with many of
    them the scatter of what each contributes is an error that assumes nothing of how reports hang together.
    """
    spare = system.freedom - width
    seen = float(residual @ (system.weight.ravel() * residual)) / spare if spare > 0 else 1.0
    error = np.sqrt(variance * max(1.0, seen))
    cohorts = len(system.weight)
    if cohorts >= _MANY_COHORTS and width < system.freedom // 2:
        parts = (solve * residual).reshape(len(solve), cohorts, -1).sum(axis=2)
        scatter = (parts**2).sum(axis=1) * cohorts / (cohorts - 1) * system.freedom / spare
        error = np.maximum(error, np.sqrt(scatter))
    return np.asarray(error)


def _model_variance(system: System, columns: Floats, solve: Floats, own: Floats, share: Floats) -> Floats:
    """Return Var(solve @ target) over noise and over who is in which cohort.

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
        variance += np.maximum((seen**2) @ own - (seen @ own) ** 2, 0) / reports
    return variance
