"""Make frequencies consistent: non-negative and of the right sum. Never inside an estimate, always beside it."""

import numpy as np

from ..tally.arrays import Floats


def onto_simplex(frequency: Floats) -> Floats:
    """Return the closest point (Euclidean) with no negative entry and sum 1; shape (k,).

    "Norm-Sub" of Wang et al. (NDSS 2020), which is this projection: it subtracts one number from all, such that the
    positive parts sum to 1 (Duchi et al. 2008, figure 1). It never raises the total squared error, for it projects on a
    convex set that holds the truth, but it biases sums over many rare values.
    """
    descending = np.sort(frequency)[::-1]
    excess = (np.cumsum(descending) - 1) / np.arange(1, len(frequency) + 1)
    last = np.flatnonzero(descending > excess)[-1]
    return np.asarray(np.maximum(frequency - excess[last], 0.0))


def onto_subsimplex(frequency: Floats) -> Floats:
    """Return the closest point with no negative entry and sum at most 1: for lists that need not be complete."""
    positive = np.asarray(np.maximum(frequency, 0.0))
    return positive if positive.sum() <= 1 else onto_simplex(frequency)


def onto_sums(frequency: Floats, least: float, most: float) -> Floats:
    """Return the closest point with entries from 0 to 1 whose sum is from ``least`` to ``most`` (``Items.sums``).

    As on a simplex one number is subtracted from all before they are cut. The sum falls with that number, and is
    straight between those at which an entry reaches 0 or leaves 1. What is not known (NaN) stays so.
    """
    kept = np.asarray(np.clip(frequency, 0, 1))
    total = kept.sum()
    if not (total < least or total > most):
        return kept
    if most == 1:
        return onto_simplex(frequency)
    bends = np.concatenate([frequency - 1, frequency])
    bends = np.sort(np.append(bends[bends > 0], 0.0))
    sums = np.array([np.clip(frequency - bend, 0, 1).sum() for bend in bends])
    return np.asarray(np.clip(frequency - np.interp(-most, -sums, bends), 0, 1))
