"""Consistency steps: turn unbiased frequencies into numbers that look like shares.

Names and findings are those of Wang et al. (NDSS 2020). What a collector shows beside its estimates is ``consistent``,
the projection on the simplex; the other steps are here for comparison.
"""

from collections.abc import Callable

import numpy as np

from dither_server.estimation.consistency import onto_simplex

from ..choices import Step
from ..users.populations import Floats

__all__ = ["apply"]


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
