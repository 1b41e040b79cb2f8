"""Estimate from the tally alone how large the bias of a sketch's fixed hash functions is."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dither_shared import CountMeanSketch, HadamardCountMeanSketch

from .decoders.transform import plane
from .tally import Tally

__all__ = ["Bias", "Sketched", "collision_bias", "concentration"]

Floats = NDArray[np.float64]
Sketched = CountMeanSketch | HadamardCountMeanSketch


class Bias(NamedTuple):
    """Standard deviation and third central moment of the bias of each value's estimate, over the hash functions."""

    error: Floats
    cube: Floats


def collision_bias(mechanism: Sketched, tally: Tally, frequency: Floats) -> Bias:
    """Return the law of each value's bias, of which hash functions are one draw.

    Of another value u the share in the cohorts in which it collides is Bin(M, 1/m)/M, less what is expected and times
    f_u m/(m-1): variances add up to Σ f_u² times ``collision_variance``, third moments to Σ f_u³ (m-2) / ((m-1) M)². Of
    values that nobody looks for Σ f² is known, and Σ f³ is at most that to the power 3/2.
    """
    squares, shares = concentration(mechanism, tally), np.clip(frequency, 0, 1)
    beyond = max(squares - float(np.square(shares).sum()), 0.0)
    cubes = float((shares**3).sum()) + beyond**1.5 - shares**3
    per_cube = (mechanism.bits - 2) / ((mechanism.bits - 1) * mechanism.cohorts) ** 2
    return Bias(np.sqrt(np.maximum(squares - shares**2, 0) * mechanism.collision_variance), cubes * per_cube)


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
