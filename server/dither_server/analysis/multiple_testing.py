"""Correct p-values for the number of tests, and compute tails that allow for skewness."""

import numpy as np
import scipy

from ..tally.arrays import Floats

_SKEWED = 1e-4
"""A skewness below this changes no p-value by more than a thousandth of itself."""


def holm(p_values: Floats) -> Floats:
    """Return p-values adjusted after Holm (1979): rejecting those below α rejects any true one with at most α.

    The smallest of k is multiplied by k, the next by k - 1, and so on, and none is below one before it. It holds under
    any dependence of the tests. NaN means no test: it stays NaN and is not counted.
    """
    adjusted = np.full_like(p_values, np.nan)
    tested = np.flatnonzero(~np.isnan(p_values))
    order = tested[np.argsort(p_values[tested], kind="stable")]
    steps = p_values[order] * (len(order) - np.arange(len(order)))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def two_sided(score: Floats, skewness: Floats | float = 0.0) -> Floats:
    """Return twice the smaller tail beyond ``score`` of a variable of mean 0, variance 1 and that skewness, at most 1.

    The variable is modelled as a shifted gamma (Pearson's type III), which is normal without skewness and has slightly
    heavier tails than binomial or Poisson counts; the normal tail of rare counts would be much too light.
    """
    skewness = np.broadcast_to(np.asarray(skewness, dtype=np.float64), np.shape(score))
    skewed = np.abs(skewness) > _SKEWED
    shape = 4 / np.where(skewed, skewness, 1.0) ** 2
    at = np.maximum(shape + np.sign(skewness) * np.where(skewed, score, 0.0) * np.sqrt(shape), 0)
    tail = np.minimum(scipy.special.gammainc(shape, at), scipy.special.gammaincc(shape, at))
    return np.asarray(2 * np.where(skewed, tail, scipy.special.ndtr(-np.abs(score))))
