"""Compute contrasts of estimates over time: their slope, and each step against the others; and combine p-values."""

import numpy as np

from ..tally.arrays import Floats


def together(p_values: Floats) -> Floats:
    """Combine p-values: the slope, in the first row, gets half of the error probability, and the steps the rest."""
    if len(p_values) == 1:
        return np.asarray(p_values[0])
    steps = (len(p_values) - 1) * p_values[1:].min(axis=0)
    return np.asarray(np.minimum(1.0, 2 * np.minimum(p_values[0], steps)))


def contrasts(when: Floats, reports: Floats) -> Floats:
    """Return the weights of the slope and, for more than two steps, of each step against the mean of the others."""
    weights = reports / reports.sum()
    away = when - weights @ when
    slope: Floats = (weights * away / (weights @ away**2))[np.newaxis]
    if len(when) == 2:
        return slope
    others = np.where(np.eye(len(when), dtype=bool), 0.0, weights)
    return np.vstack([slope, np.eye(len(when)) - others / others.sum(axis=1, keepdims=True)])


def worst_variance(weights: Floats, variance: Floats, shared: Floats) -> Floats:
    """Return the largest variance of each contrast and value; shape (contrasts, values).

    The estimates have this ``variance``, of which the part ``shared`` may be due to the same people.
    """
    reach = np.sqrt(shared)
    together = (np.maximum(weights, 0) @ reach) ** 2 + (np.minimum(weights, 0) @ reach) ** 2
    return np.asarray(weights**2 @ np.maximum(variance - shared, 0) + together)
