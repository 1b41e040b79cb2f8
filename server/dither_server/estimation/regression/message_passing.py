"""Fit all candidates at once, however many, by approximate message passing.

Each round compares every candidate with what the others leave over, shrinks it by the prior that all have in common,
and takes the shrunken fit off the table (Donoho, Maleki and Montanari 2009):

    r = f + D⁻¹ X' W z,     f ← E[f | r],     z ← y - X f + z (V/n) mean Var[θ | r]

D is the diagonal of X'WX. The last term (Onsager's) makes up for what a candidate fits of its own noise, so that r is
each frequency plus noise of a variance τ²/D that the residual z shows: that of the cells and what other candidates,
uncertain themselves, add to it. A round takes one pass over the marks; memory is theirs.
"""

from typing import NamedTuple

import numpy as np

from ...tally.arrays import Floats
from .linear_system import System

_SURE = 8.0
"""Standard errors from which a frequency is not shrunk."""

_GRID = np.concatenate([[0.0], np.geomspace(0.15, _SURE + 3, 44)])
_BINS = 512


class Shrunk(NamedTuple):
    """Posterior means and variances of θ."""

    mean: Floats
    variance: Floats


class Prior:
    """The law of the candidates' frequencies, learnt from all of them together (empirical Bayes).

    Given z = θ + N(0, 1), where θ >= 0 is a candidate's frequency in standard errors, the law of θ over the candidates
    is fitted by nonparametric maximum likelihood on a grid (Kiefer and Wolfowitz 1956; Koenker and Mizera 2014), by
    some steps of EM. A z far beyond the noise needs no prior: it is taken as it is. The law begins as mostly 0 and
    learns in every round.
    """

    def __init__(self) -> None:
        self._share = np.full(len(_GRID), 0.3 / (len(_GRID) - 1))
        self._share[0] = 0.7

    def shrink(self, z: Floats, steps: int) -> Shrunk:
        """Learn from ``z`` in ``steps`` steps of EM, and return the posterior of each."""
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


_ROUNDS = 40
_FIRST, _LATER = 40, 8
"""Steps of EM for the prior in the first round and in later ones, which begin with the prior learnt so far."""

_DAMPING = 0.3
"""The share of the last residual that a round keeps."""

_STILL, _ASTRAY = 1e-3, 0.05
"""The relative change of the noise at which nothing changes any more, and its rise at which the rounds lead away."""


class AmpFit(NamedTuple):
    """``frequency`` is unbiased for large tables, with ``standard_error``; ``mean`` is a shrunken one.

    ``variance`` is that of each posterior, in squares of the standard error. Shapes (V,). ``noise`` is τ², in which the
    variance of a report's cell is 1.
    """

    frequency: Floats
    standard_error: Floats
    mean: Floats
    variance: Floats
    noise: float

    @property
    def scores(self) -> Floats:
        """Frequencies in standard errors."""
        return self.frequency / self.standard_error


def amp(system: System) -> AmpFit:
    """Return the fit of all candidates after damped rounds of approximate message passing; shapes (V,)."""
    prior = Prior()
    best = _amp_step(system, prior, np.zeros(system.candidates), system.target, _FIRST)
    residual = _onsager_residual(system, best, system.target)
    for _ in range(_ROUNDS):
        fit = _amp_step(system, prior, best.mean, residual, _LATER)
        change = fit.noise / best.noise - 1
        if change > _ASTRAY:
            break  # as it may where cells are few, or candidates mark the same bits
        best = fit
        if abs(change) < _STILL:
            break
        residual = (1 - _DAMPING) * _onsager_residual(system, fit, residual) + _DAMPING * residual
    return best


def _amp_step(system: System, prior: Prior, fitted: Floats, residual: Floats, steps: int) -> AmpFit:
    """Return each candidate's fit to the residual, denoised by the posterior mean under the prior."""
    noise = max(1.0, float((system.weight * residual**2).sum()) / system.freedom)
    error = np.sqrt(noise / system.information)
    frequency = fitted + system.gathered(residual) / system.information
    shrunk = prior.shrink(frequency / error, steps)
    return AmpFit(frequency, error, shrunk.mean * error, shrunk.variance, noise)


def _onsager_residual(system: System, fit: AmpFit, residual: Floats) -> Floats:
    """Return the residual of a fit, corrected by the Onsager term."""
    return np.asarray(system.target - system.spread(fit.mean) + residual * (fit.variance.sum() / system.freedom))
