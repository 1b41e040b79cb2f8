"""Many questions at once: p-values corrected for how many there are."""

import numpy as np
from numpy.typing import NDArray
from scipy import special

__all__ = ["holm", "two_sided"]

Floats = NDArray[np.float64]


def holm(p_values: Floats) -> Floats:
    """Return p-values adjusted after Holm (1979): rejecting those below α rejects any true one with at most α.

    The smallest of k is multiplied by k, the next by k - 1, and so on, and none is below one before it. It assumes
    nothing of how the values hang together. NaN, which is no test, stays NaN and does not count.
    """
    adjusted = np.full_like(p_values, np.nan)
    tested = np.flatnonzero(~np.isnan(p_values))
    order = tested[np.argsort(p_values[tested], kind="stable")]
    steps = p_values[order] * (len(order) - np.arange(len(order)))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def two_sided(score: Floats) -> Floats:
    """Return P[|Z| >= |score|] of a standard normal Z."""
    return np.asarray(2 * special.ndtr(-np.abs(score)))
