"""The bias of a sketch's fixed hash functions: how large it is, told from the tally alone."""

import numpy as np
from numpy.typing import NDArray

from dither_shared import CountMeanSketch, HadamardCountMeanSketch

from .decoders.transform import plane
from .tally import Tally

__all__ = ["Sketched", "collision_error", "concentration"]

Floats = NDArray[np.float64]
Sketched = CountMeanSketch | HadamardCountMeanSketch


def collision_error(mechanism: Sketched, tally: Tally, frequency: Floats) -> Floats:
    """Return the standard deviation, over the choice of hash functions, of the bias of each value's estimate.

    Its variance is Σ_(u≠v) f_u² times ``collision_variance``.
    """
    others = np.maximum(concentration(mechanism, tally) - np.clip(frequency, 0, 1) ** 2, 0)
    return np.asarray(np.sqrt(others * mechanism.collision_variance))


def concentration(mechanism: Sketched, tally: Tally) -> float:
    """Return an estimate of Σ f², over all strings whether anyone looks for them or not; 1 if the tally cannot tell.

    A report adds r_j to the estimate of column j's users. Over pairs of reports of one cohort the mean of Σ_j r_j r'_j
    is Σ_j x_j², which is Σ f² + (1 - Σ f²)/m over the hash functions; sums over pairs follow from the sums.
    """
    pairs = float((tally.reports.astype(np.float64) * (tally.reports - 1)).sum())
    if not pairs:
        return 1.0
    columns, of_itself = _columns(mechanism, tally)
    met = (float(np.square(columns).sum()) - of_itself) / pairs
    chance = 1 / mechanism.bits
    return min(1.0, max(0.0, (met - chance) / (1 - chance)))


def _columns(mechanism: Sketched, tally: Tally) -> tuple[Floats, float]:
    """Return the debiased users of each column, shape (cohorts, m), and the sum of every report's own Σ_j r_j²."""
    counts = tally.counts.astype(np.float64)
    if isinstance(mechanism, HadamardCountMeanSketch):
        signed = (counts[:, 0::2] - counts[:, 1::2]) / float(2 * mechanism.inside - 1)
        rows = np.stack([np.real(plane(2).transform(row, mechanism.bits.bit_length() - 1)) for row in signed])
        return rows, tally.total * mechanism.bits / float(2 * mechanism.inside - 1) ** 2
    a, b = float(mechanism.a), float(mechanism.b)
    ones, all_bits = counts.sum(), float(tally.total * mechanism.bits)
    return (counts - b * tally.reports[:, np.newaxis]) / (a - b), (ones * (1 - b) ** 2 + (all_bits - ones) * b**2) / (
        a - b
    ) ** 2
