"""Consistency steps, and how far estimates are from the truth: errors, divergence, recall, and intervals."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dither_server.estimation.consistency import onto_simplex

from ..choices import Step
from ..users.populations import Floats

Measures = Mapping[str, Any]
"""What a trial measured, by name: numbers, or None where a measure is not defined."""


def apply(step: Step, frequency: Floats, consistent: Callable[[Floats], Floats] = onto_simplex) -> Floats:
    """Return frequencies after a step; shape (k,). ``consistent`` computes the step of that name.

    - ``raw``: unbiased, as they come;
    - ``consistent``: the closest point of the simplex ("Norm-Sub"), as the collector shows it;
    - ``shift``: the same added to all, so that they sum to 1 ("Norm"); still unbiased where the truth sums to 1;
    - ``clip``: negative ones set to 0 ("Base-Pos"); sums over rare values are far too large;
    - ``rescale``: clipped, then divided by their sum ("Norm-Mul").
    """
    if step == "raw":
        return frequency
    if step == "consistent":
        return consistent(frequency)
    if step == "shift":
        return np.asarray(frequency + (1 - frequency.sum()) / len(frequency))
    positive = np.maximum(frequency, 0.0)
    return positive if step == "clip" or not positive.any() else np.asarray(positive / positive.sum())


def scores(frequency: Floats, shares: Floats, top: int) -> dict[str, float | None]:
    """Return the distances between the estimated frequencies of k values and their true shares; both of shape (k,).

    - ``mse``: the squared error averaged over values;
    - ``l1``: Σ|error|, twice the total variation distance;
    - ``max_error``: the largest |error|, L∞;
    - ``kl``: ``divergence``, or None where that is not defined;
    - ``recall``: that of the ``top`` most frequent values.

    All are None if there is no estimate (NaN), because there are too few reports.
    """
    if np.isnan(frequency).any():
        return dict.fromkeys(("mse", "l1", "max_error", "kl", "recall"))
    error = np.abs(frequency - shares)
    return {
        "mse": float(np.mean(error**2)),
        "l1": float(error.sum()),
        "max_error": float(error.max()),
        "kl": divergence(frequency, shares),
        "recall": recall(frequency, shares, top),
    }


def intervals(low: Floats, high: Floats, shares: Floats) -> dict[str, float | None]:
    """Return the ``coverage`` of intervals, the share that holds the truth, and their mean ``width``.

    All are of shape (k,). The truth is the share among the simulated users, not in their population.
    Both are None if there are no intervals (NaN), because too few reports are noisy.
    """
    if not (np.isfinite(low) & np.isfinite(high)).all():
        return {"coverage": None, "width": None}
    held = float(((low <= shares) & (shares <= high)).mean())
    return {"coverage": held, "width": float((high - low).mean())}


def divergence(frequency: Floats, shares: Floats) -> float | None:
    """Return Σ f ln(f / share), in nats: the Kullback-Leibler divergence of the truth from what was estimated.

    Defined where f is a distribution and puts nothing on a value that nobody has, and None elsewhere. (The other
    direction is infinite as soon as one value is estimated at 0.)
    """
    some = frequency > 0
    if frequency.min() < 0 or abs(frequency.sum() - 1) > 1e-9 or not shares[some].all():
        return None
    return float(np.sum(frequency[some] * np.log(frequency[some] / shares[some])))


def recall(frequency: Floats, shares: Floats, top: int) -> float:
    """Return the share of the ``top`` highest estimates whose values are among the ``top`` most frequent.

    A value as frequent as the last of these counts as one of them. Estimates that tie for the last places are equally
    likely to be taken; the mean over these choices is returned.
    """
    top = min(top, len(shares))
    frequent = shares >= np.partition(shares, -top)[-top]
    last = np.partition(frequency, -top)[-top]
    above, tied = frequency > last, frequency == last
    places = top - int(above.sum())
    return float((frequent[above].sum() + places * frequent[tied].mean()) / top)
