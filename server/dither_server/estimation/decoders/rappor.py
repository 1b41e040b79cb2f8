"""Decode RAPPOR: find the candidate strings that people hold, and their frequencies, from counts of (cohort, bit).

If there are few candidates relative to the cells of the table, all are fitted together by weighted least squares, which
is unbiased and has a covariance (linear_system.py has the model and the fit). If there are many, up to millions,
approximate message passing fits all of them under a common prior; those that stand out are selected at a stated false
discovery rate, and fitted together by least squares after subtraction of the shrunken fit of the rest.

In addition to the unbiased fit there is a consistent one for readers: the posterior medians of all frequencies, found
or not (``fit.Slab``), because they minimize the total error.

Each round of message passing fits every candidate to the residual of the others, shrinks it by the common prior, and
subtracts the shrunken fit from the table (Donoho, Maleki and Montanari 2009):

    r = f + D⁻¹ X' W z,     f ← E[f | r],     z ← y - X f + z (V/n) mean Var[θ | r]

D is the diagonal of X'WX. The last term (Onsager's) corrects for the part of its own noise that a candidate fits, so
that r is each frequency plus noise of variance τ²/D. The residual z estimates τ²: the noise of the cells and the
uncertainty about the other candidates. A round takes one pass over the marks, which also dominate the memory.
"""

from typing import NamedTuple

import numpy as np
import scipy

from dither_shared import Rappor

from ...tally.arrays import Floats, Indices
from ...tally.tally import Tally
from ..fit import FALSE_DISCOVERIES, Fit, absent_share, passing
from ..hashing import Marks, marks_of
from .linear_system import BitCounts, Refit, System, refit

_SURE = 8.0
"""A frequency of at least this many standard errors is not shrunk."""

_GRID = np.concatenate([[0.0], np.geomspace(0.15, _SURE + 3, 44)])
_BINS = 512


class _Shrunk(NamedTuple):
    """Posterior means and variances of θ."""

    mean: Floats
    variance: Floats


class Prior:
    """The law of the candidates' frequencies, learnt from all of them together (empirical Bayes).

    Given z = θ + N(0, 1), where θ >= 0 is a candidate's frequency in standard errors, the law of θ over the candidates
    is fitted by nonparametric maximum likelihood on a grid (Kiefer and Wolfowitz 1956; Koenker and Mizera 2014), by
    some steps of EM. A z far above the noise is not shrunk. Initially most of the mass is at 0; every round updates the
    law.
    """

    def __init__(self) -> None:
        self._share = np.full(len(_GRID), 0.3 / (len(_GRID) - 1))
        self._share[0] = 0.7

    def shrink(self, z: Floats, steps: int) -> _Shrunk:
        """Update the law from ``z`` in ``steps`` steps of EM, and return the posterior of each θ."""
        sure = z >= _SURE
        edges = np.linspace(z.min(initial=0.0), _SURE, _BINS)
        centres = (edges[1:] + edges[:-1]) / 2
        counts, _ = np.histogram(z[~sure], edges)
        likelihood = np.exp(-((centres[:, np.newaxis] - _GRID) ** 2) / 2)  # a z so far below 0 that it vanishes is 0
        for _ in range(steps):
            posterior = self._posterior(likelihood)
            self._share = counts @ posterior  # in number; the posterior is scaled
        posterior = self._posterior(likelihood)
        mean = posterior @ _GRID
        variance = posterior @ _GRID**2 - mean**2
        known = (np.interp(z, centres, at) for at in (mean, variance))
        return _Shrunk(*(np.where(sure, seen, at) for seen, at in zip((z, np.ones_like(z)), known, strict=True)))

    def _posterior(self, likelihood: Floats) -> Floats:
        weighted = likelihood * self._share
        return np.asarray(weighted / np.maximum(weighted.sum(axis=1, keepdims=True), np.finfo(float).tiny))


_ROUNDS = 40
_FIRST, _LATER = 40, 8
"""Steps of EM for the prior in the first round and in later ones, which start from the prior of the round before."""

_DAMPING = 0.3
"""Damping: the weight of the previous residual in a round."""

_STILL, _ASTRAY = 1e-3, 0.05
"""Relative change of the noise below which the rounds have converged, and relative rise above which they diverge."""


class _AmpFit(NamedTuple):
    """``frequency`` is unbiased for large tables, with ``standard_error``; ``mean`` is shrunken.

    ``variance`` is the posterior variance, in squares of the standard error. Shapes (V,). ``noise`` is τ², relative to
    the noise variance of the cells.
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


def amp(system: System) -> _AmpFit:
    """Return the fit of all candidates after damped rounds of approximate message passing; shapes (V,)."""
    prior = Prior()
    best = _amp_step(system, prior, np.zeros(system.candidates), system.target, _FIRST)
    residual = _onsager_residual(system, best, system.target)
    for _ in range(_ROUNDS):
        fit = _amp_step(system, prior, best.mean, residual, _LATER)
        change = fit.noise / best.noise - 1
        if change > _ASTRAY:
            return best  # possible if there are few cells, or candidates mark the same bits
        best = fit
        if abs(change) < _STILL:
            return fit
        residual = (1 - _DAMPING) * _onsager_residual(system, fit, residual) + _DAMPING * residual
    return best


def _amp_step(system: System, prior: Prior, fitted: Floats, residual: Floats, steps: int) -> _AmpFit:
    """Return each candidate's fit to the residual, denoised by the posterior mean under the prior."""
    noise = max(1.0, float((system.weight * residual**2).sum()) / system.freedom)
    error = np.sqrt(noise / system.information)
    frequency = fitted + system.gathered(residual) / system.information
    shrunk = prior.shrink(frequency / error, steps)
    return _AmpFit(frequency, error, shrunk.mean * error, shrunk.variance, noise)


def _onsager_residual(system: System, fit: _AmpFit, residual: Floats) -> Floats:
    """Return the residual of a fit, corrected by the Onsager term."""
    return np.asarray(system.target - system.spread(fit.mean) + residual * (fit.variance.sum() / system.freedom))


_MOST_AT_ONCE = 300
"""Maximum number of candidates in one joint fit: its time grows with their cube, and selection finds more."""

_LEAST = 0.1
"""Minimum share of a candidate's signal that is assumed to remain after fitting the others."""

_SPARE = 4
"""Cells per candidate that a joint fit needs, so that no candidate loses much precision to the others."""


def regress(mechanism: Rappor, candidates: tuple[str, ...], tally: Tally, confidence: float = 0.95) -> Fit:
    """Fit the candidates to a tally with at least one report."""
    marks = marks_of(candidates, mechanism.cohorts, mechanism.bits, mechanism.hashes)
    return decode(BitCounts(tally.reports, tally.counts, float(mechanism.a), float(mechanism.b)), marks, confidence)


def decode(table: BitCounts, marks: Marks, confidence: float = 0.95) -> Fit:
    """Fit the candidates of ``marks`` to a table with at least one report."""
    system = System.of(table, marks)
    shared = amp(system)
    together = system.candidates <= min(_MOST_AT_ONCE, system.freedom // _SPARE)
    if together:
        fit = refit(system, np.arange(system.candidates), system.target, shared.mean)
        absent = absent_share(fit.scores)
        found = passing(fit.scores, FALSE_DISCOVERIES, absent)
    else:
        absent = absent_share(shared.scores)
        found, fit = _selected(system, shared, absent)
    # the threshold that follows from the number that passed
    threshold = -scipy.special.ndtri(min(1.0, FALSE_DISCOVERIES * len(found) / (absent * system.candidates)))
    return _fit_of(fit, shared, found, float(threshold), confidence, together=together)


def _selected(system: System, shared: _AmpFit, absent: float) -> tuple[Indices, Refit]:
    """Return the candidates that pass, and still pass when fitted together, with that joint fit.

    The part of the table that the others explain is subtracted as in message passing, which corrects for fitted noise.
    """
    found = passing(shared.scores, FALSE_DISCOVERIES, absent)
    found = np.sort(found[np.argsort(-shared.scores[found])[: system.freedom // 2]])  # no more can be distinguished
    while True:
        fit = refit(system, found, _residual_of(system, found, shared), shared.mean)
        scores = np.full(system.candidates, -np.inf)
        scores[found] = fit.scores
        still = passing(scores, FALSE_DISCOVERIES, absent)
        if len(still) == len(found):
            return found, fit
        found = still


def _residual_of(system: System, chosen: Indices, shared: _AmpFit) -> Floats:
    """Return the table minus the fit of the candidates that are not chosen."""
    chosen_mean, others = np.zeros(system.candidates), shared.variance.copy()
    chosen_mean[chosen], others[chosen] = shared.mean[chosen], 0.0
    residual = system.target - system.spread(shared.mean)
    return np.asarray(residual / max(_LEAST, 1 - others.sum() / system.freedom) + system.spread(chosen_mean))


def _fit_of(fit: Refit, shared: _AmpFit, found: Indices, threshold: float, confidence: float, *, together: bool) -> Fit:
    frequency, error = shared.frequency.copy(), shared.standard_error.copy()
    frequency[fit.chosen], error[fit.chosen] = fit.frequency, fit.standard_error
    return Fit.of(
        frequency,
        error,
        found,
        threshold,
        confidence,
        prior=(shared.scores, shared.standard_error),
        listed=(float(fit.frequency.sum()), fit.total_error) if together else (np.nan, np.inf),
    )
