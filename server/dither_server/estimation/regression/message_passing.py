"""Fit all candidates at once, however many, by approximate message passing.

Each round compares every candidate with what the others leave over, shrinks it by the prior that all have in common,
and takes the shrunken fit off the table (Donoho, Maleki and Montanari 2009):

    r = f + D⁻¹ X' W z,     f ← E[f | r],     z ← y - X f + z (V/n) mean Var[θ | r]

D is the diagonal of X'WX. The last term (Onsager's) makes up for what a candidate fits of its own noise, so that r is
each frequency plus noise of a variance τ²/D that the residual z tells: that of the cells and what other candidates,
uncertain themselves, add to it. A round takes one pass over the marks; memory is theirs.
"""

from typing import NamedTuple

import numpy as np

from ...tally.arrays import Floats
from .linear_system import System
from .prior import Prior

__all__ = ["AmpFit", "amp"]

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
