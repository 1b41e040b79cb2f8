"""Decode RAPPOR: find which candidate strings are there, and how frequent, from counts of (cohort, bit).

Where the candidates are few beside the cells of the table, all are fitted together by weighted least squares, which is
unbiased and has a covariance (linear_system.py has the model and the fit). Where they are many, up to millions,
message passing fits all of them with what they have in common (message_passing.py); those whose presence shows are
selected, a stated share of which may be false (false_discovery.py), and fitted together by least squares beside the
shrunken rest.

Beside the unbiased fit stands a consistent one, which is what a reader would rather see: the medians of what each
frequency may be, found or not (``fit.Slab``), because their total error is the least.
"""

import numpy as np
import scipy

from dither_shared import Rappor

from ...tally.arrays import Floats, Indices
from ...tally.tally import Tally
from ..fit import FALSE_DISCOVERIES, Fit, Scores
from ..hashing import Marks, marks_of
from .false_discovery import absent_share, passing
from .linear_system import BitCounts, Refit, System, refit
from .message_passing import AmpFit, amp

_MOST_AT_ONCE = 300
"""The widest fit of all candidates together: its time grows with the cube of their number, and selection finds more."""

_LEAST = 0.1
"""The least share of a candidate's signal that the others are assumed to leave."""

_SPARE = 4
"""Cells for each candidate that a joint fit needs, so that no candidate loses much to the others."""


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
    # The score that was enough, given how many passed.
    threshold = -scipy.special.ndtri(min(1.0, FALSE_DISCOVERIES * len(found) / (absent * system.candidates)))
    return _fit_of(fit, shared, found, float(threshold), confidence, together=together)


def _selected(system: System, shared: AmpFit, absent: float) -> tuple[Indices, Refit]:
    """Return those that pass, and still pass when they are fitted together, and that fit.

    What the others explain of the table is taken off as message passing does, for it knows by how much they fit noise.
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


def _residual_of(system: System, chosen: Indices, shared: AmpFit) -> Floats:
    """Return the table less the fit of the candidates that are not chosen."""
    own, others = np.zeros(system.candidates), shared.variance.copy()
    own[chosen], others[chosen] = shared.mean[chosen], 0.0
    residual = system.target - system.spread(shared.mean)
    return np.asarray(residual / max(_LEAST, 1 - others.sum() / system.freedom) + system.spread(own))


def _fit_of(fit: Refit, shared: AmpFit, found: Indices, threshold: float, confidence: float, *, together: bool) -> Fit:
    frequency, error = shared.frequency.copy(), shared.standard_error.copy()
    frequency[fit.chosen], error[fit.chosen] = fit.frequency, fit.standard_error
    return Fit.of(
        frequency,
        error,
        found,
        threshold,
        confidence,
        prior=Scores(shared.scores, shared.standard_error),
        listed=(float(fit.frequency.sum()), fit.total_error) if together else (np.nan, np.inf),
    )
