"""Learn the law of the candidates' frequencies from all of them together (empirical Bayes).

Given z = θ + N(0, 1), where θ >= 0 is a candidate's frequency in standard errors, the law of θ over the candidates is
fitted by nonparametric maximum likelihood on a grid (Kiefer and Wolfowitz 1956; Koenker and Mizera 2014), by some
steps of EM. A z far beyond the noise needs no prior: it is taken as it is.
"""

from typing import NamedTuple

import numpy as np

from ...tally.arrays import Floats

__all__ = ["Prior", "Shrunk"]


_SURE = 8.0
"""Above so many standard errors a frequency is taken as it is, without shrinkage."""

_GRID = np.concatenate([[0.0], np.geomspace(0.15, _SURE + 3, 44)])
_BINS = 512


class Shrunk(NamedTuple):
    """Posterior means and variances of θ."""

    mean: Floats
    variance: Floats


class Prior:
    """The law of θ on a grid; it begins as mostly 0 and learns with every look at the data."""

    def __init__(self) -> None:
        self._share = np.full(len(_GRID), 0.3 / (len(_GRID) - 1))
        self._share[0] = 0.7

    def shrink(self, z: Floats, steps: int) -> Shrunk:
        """Learn from ``z`` in so many steps of EM, and return the posterior of each."""
        sure = z >= _SURE
        edges = np.linspace(min(-1.0, float(z.min(initial=0.0))), _SURE, _BINS + 1)
        centres = (edges[1:] + edges[:-1]) / 2
        counts, _ = np.histogram(z[~sure], edges)
        # The likelihood relative to that of the best θ: far below 0 it would be 0 for all.
        likelihood = np.exp(-((centres[:, np.newaxis] - _GRID) ** 2 - np.minimum(centres, 0)[:, np.newaxis] ** 2) / 2)
        for _ in range(steps):
            posterior = self._posterior(likelihood)
            self._share = counts @ posterior
            self._share[-1] += sure.sum()
            self._share /= max(1, len(z))
        posterior = self._posterior(likelihood)
        mean = posterior @ _GRID
        variance = posterior @ _GRID**2 - mean**2
        known = (np.interp(z, centres, at) for at in (mean, variance))
        return Shrunk(*(np.where(sure, own, at) for own, at in zip((z, np.ones_like(z)), known, strict=True)))

    def _posterior(self, likelihood: Floats) -> Floats:
        weighted = likelihood * self._share
        return np.asarray(weighted / np.maximum(weighted.sum(axis=1, keepdims=True), np.finfo(float).tiny))
