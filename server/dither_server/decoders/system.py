"""The weighted linear system that RAPPOR reports make: a debiased table of (cohort, bit) against candidate strings."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dither_shared import Mechanism

from ..tally import Tally

__all__ = ["Floats", "Indices", "System", "design", "system_of"]

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class System:
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

    def dense(self, chosen: Indices) -> Floats:
        """Return the columns of X - h/m for the chosen candidates."""
        return np.asarray(self.marks[:, chosen].toarray() - self.background, dtype=np.float64)

    def information(self) -> Floats:
        """Return the diagonal of (X - h/m)' W (X - h/m): the inverse variance of each candidate fitted alone."""
        marked = np.asarray(self.marks.T @ self.weight, dtype=np.float64)
        return np.asarray((1 - 2 * self.background) * marked + self.background**2 * self.weight.sum(), dtype=np.float64)

    def dispersion(self, residual: Floats, parameters: int) -> float:
        """Return the mean square of the standardised residuals, at least 1: how much noisier cells are than reports.

        It exceeds 1 if the same people report again and again, or hold strings that are no candidates.
        """
        spare = len(residual) - parameters
        return max(1.0, float(residual @ (self.weight * residual)) / spare) if spare > 0 else 1.0

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


def system_of(mechanism: Mechanism, candidates: tuple[str, ...], tally: Tally) -> System:
    """Debias the table of a tally; cohorts without reports have nothing to say."""
    present = np.flatnonzero(tally.reports)
    rows = (present[:, None] * mechanism.cells + np.arange(mechanism.cells)).ravel()
    reports = np.repeat(tally.reports[present], mechanism.cells).astype(np.float64)
    a, b = float(mechanism.a), float(mechanism.b)
    share = (tally.counts[present].ravel() / reports - b) / (a - b)
    marks = design(mechanism, candidates)[rows]
    background = len(mechanism.marked(b"", 0)) / mechanism.cells
    weight = 1 / _cell_variance(mechanism, np.full(len(rows), background), reports)
    return System(marks, background, share - background, reports, weight)


def _cell_variance(mechanism: Mechanism, share: Floats, reports: Floats) -> Floats:
    """Return Var y of a cell that a ``share`` of its cohort marks, over noise and sampling."""
    a, b = float(mechanism.a), float(mechanism.b)
    reported = b + (a - b) * share
    return reported * (1 - reported) / (reports * (a - b) ** 2)
