"""Fit candidate strings of an open domain: select those found, and estimate frequencies and the unlisted share.

Candidates are found at a stated false discovery rate. Consistent frequencies, non-negative and with the right sum,
never replace the unbiased estimates; they are a second column.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
import scipy

from ..tally.arrays import Booleans, Floats, Indices
from .intervals.score import normal_interval


def onto_simplex(frequency: Floats) -> Floats:
    """Return the closest point (Euclidean) with no negative entry and sum 1; shape (k,).

    "Norm-Sub" of Wang et al. (NDSS 2020), which is this projection: it subtracts one number from all entries such that
    the positive parts sum to 1 (Duchi et al. 2008, figure 1). It never raises the total squared error, because it
    projects onto a convex set that contains the truth, but it biases sums over many rare values.
    """
    descending = np.sort(frequency)[::-1]
    excess = (np.cumsum(descending) - 1) / np.arange(1, len(frequency) + 1)
    last = np.flatnonzero(descending > excess)[-1]
    return np.asarray(np.maximum(frequency - excess[last], 0.0))


def onto_subsimplex(frequency: Floats) -> Floats:
    """Return the closest point with no negative entry and sum at most 1, for lists that may be incomplete."""
    positive = np.asarray(np.maximum(frequency, 0.0))
    return positive if positive.sum() <= 1 else onto_simplex(frequency)


def onto_sums(frequency: Floats, least: float, most: float) -> Floats:
    """Return the closest point with entries from 0 to 1 whose sum is from ``least`` to ``most``.

    As for the simplex, one number is subtracted from all entries before clipping. The sum falls with that number, and
    is linear between the numbers at which an entry reaches 0 or leaves 1. Unknown entries (NaN) stay NaN.
    """
    kept = np.asarray(np.clip(frequency, 0, 1))
    total = kept.sum()
    if not (total < least or total > most):
        return kept
    if most == 1:
        return onto_simplex(frequency)
    bends = np.sort(np.concatenate([frequency - 1, frequency]))
    sums = np.array([np.clip(frequency - bend, 0, 1).sum() for bend in bends])
    return np.asarray(np.clip(frequency - np.interp(-most, -sums, bends), 0, 1))


_BOUNDARIES = np.arange(0.5, 0.96, 0.05)

_CALM = 0.7
"""Negative scores have a root mean square of 1 if they are noise; below this threshold they vary less than noise."""


def passing(score: Floats, level: float, absent: float = 1.0) -> Indices:
    """Return the indices, ascending, of the z-scores that pass the procedure of Benjamini and Hochberg (1995).

    An expected share of at most ``level`` of those that pass are absent candidates, if ``absent`` is at least the share
    of absent candidates among all. A score of at most 0 never passes, however few candidates are absent.
    """
    order = np.argsort(-score, kind="stable")
    passes = absent * scipy.special.ndtr(-score[order]) <= level * np.arange(1, len(score) + 1) / len(score)
    passed = order[: np.flatnonzero(passes).max(initial=-1) + 1]
    return np.sort(passed[score[passed] > 0])


def absent_share(score: Floats) -> float:
    """Return a conservative (rather too high) estimate of the share of candidates that nobody holds.

    Their scores are symmetric around 0 and their p-values uniform, so the density of p-values near 1 bounds their share
    (Storey 2002). The boundary is chosen by the right-boundary rule of Liang and Nettleton (2012): it rises from 1/2
    until the estimate stops falling. It stays 1/2 if the scores vary less than noise, because then p-values near 1 are
    rare.
    """
    p = scipy.special.ndtr(-score)
    below = score[np.isfinite(score) & (score < 0)]
    calm = not len(below) or np.sqrt(np.mean(below**2)) < _CALM
    least = 1.0
    for boundary in _BOUNDARIES[: 1 if calm else None]:
        share = (float((p > boundary).sum()) + 1) / (len(p) * (1 - boundary))
        if share >= least:
            break
        least = share
    return least


def truncated_means(score: Floats, threshold: float, tail: float) -> Floats:
    """Return the means under which normal scores that pass ``threshold`` are as high or higher with ``tail``.

    Scores that were selected follow a truncated normal: a ``tail`` of (1 - confidence)/2 gives the lower end of an
    interval that allows for the selection (Zhong and Prentice 2008). Far above the threshold it equals the usual lower
    end.
    """
    low, high = score - 40.0, score + 6.0
    for _ in range(60):
        middle = (low + high) / 2
        seldom = scipy.special.log_ndtr(middle - score) - scipy.special.log_ndtr(middle - threshold) < np.log(tail)
        low, high = np.where(seldom, middle, low), np.where(seldom, high, middle)
    return np.asarray(low)


_SURE = 8.0
"""A frequency of at least this many standard errors is not shrunk."""

_STEP = 0.08
_LOGS = np.arange(np.log(0.03), np.log(1e4), _STEP)
_LEAST_SPREAD = _STEP**2 / 2
"""The grid of the slab, as logarithms of θ, and the minimum variance of its law of log θ."""

_NEAR = int(np.searchsorted(_LOGS, np.log(_SURE + 4)))
_GRID = np.concatenate([[0.0], np.exp(_LOGS[:_NEAR])])
_ENDS = np.concatenate([[0.0], np.exp(_LOGS[:_NEAR] - _STEP / 2), [np.exp(_LOGS[_NEAR] - _STEP / 2)]])
"""The grid of θ for an uncertain candidate, 0 first, and the boundaries of its cells."""

_BINS, _STEPS = 512, 100
_AT_FIRST = 0.4
"""Initial share of the spike."""


class Slab(NamedTuple):
    """A spike and slab prior: the weight of each grid point, shape (1 + points,), that of 0 first.

    The posterior medians under this prior minimize the expected sum of absolute errors. Posterior means would not: over
    many candidates that are almost surely 0 they add up to people who do not exist. Given z = θ + N(0, 1), where θ >= 0
    is a frequency in standard errors, θ is 0 for a share of the candidates (the spike) and log-normal for the others
    (the slab), which suits a few common and many rare strings. The three parameters are learnt from all candidates
    together (empirical Bayes, by EM). The nonparametric ``Prior`` of message passing would fit noise, too: if most
    candidates are absent, its medians mistake the highest noise for strings.
    """

    weight: Floats

    @classmethod
    def learnt(cls, z: Floats) -> Self:
        """Return the prior of θ learnt from scores of shape (V,)."""
        unsure, sure = z[z < _SURE], np.log(z[z >= _SURE])
        counts, edges = np.histogram(unsure, _edges(z))
        seen = counts > 0
        counts, likelihood = counts[seen], _likelihood(_middles(edges)[seen])
        weight = np.full(len(_GRID), (1 - _AT_FIRST) / _NEAR)
        weight[0] = _AT_FIRST
        for _ in range(_STEPS):
            held = weight * (counts / np.maximum(likelihood @ weight, np.finfo(float).tiny) @ likelihood)
            weight = np.concatenate([held[:1], _log_normal(held[1:], sure)]) / len(z)
        return cls(weight)

    def medians(self, z: Floats) -> Floats:
        """Return the posterior medians of θ for many scores, shape (V,)."""
        middles = _middles(_edges(z))
        return np.where(z < _SURE, np.interp(z, middles, self.medians_of(middles)), z)

    def medians_of(self, z: Floats, scale: Floats | float = 1.0) -> Floats:
        """Return the medians of a few scores; ``scale`` is the ratio of their standard errors to the prior's."""
        scale = np.broadcast_to(scale, z.shape)
        posterior = np.cumsum(_likelihood(np.minimum(z, _SURE), scale[:, np.newaxis]) * self.weight, axis=1)
        posterior /= np.maximum(posterior[:, -1:], np.finfo(float).tiny)
        place = (posterior >= 0.5).argmax(axis=1)
        before, after = (np.pad(posterior, ((0, 0), (1, 0)))[np.arange(len(z)), place + more] for more in (0, 1))
        within = (0.5 - before) / np.maximum(after - before, np.finfo(float).tiny)
        median = np.where(place, _ENDS[place] + within * (_ENDS[place + 1] - _ENDS[place]), 0.0) / scale
        return np.where(z < _SURE, median, z)


def _edges(z: Floats) -> Floats:
    return np.linspace(min(-1.0, float(z.min(initial=0.0))), _SURE, _BINS + 1)


def _middles(edges: Floats) -> Floats:
    return np.asarray((edges[1:] + edges[:-1]) / 2)


def _likelihood(z: Floats, scale: Floats | float = 1.0) -> Floats:
    """Return the likelihood of each grid point, shape (V, points), relative to the best θ so that not all underflow."""
    return np.asarray(np.exp(-((z[:, np.newaxis] - _GRID / scale) ** 2 - np.minimum(z, 0)[:, np.newaxis] ** 2) / 2))


def _log_normal(held: Floats, sure: Floats) -> Floats:
    """Fit a log-normal law to the mass ``held`` at each grid point and the logarithms of the ``sure`` candidates."""
    total = held.sum() + len(sure)
    if total <= 0:
        return np.zeros(_NEAR)
    mean = (held @ _LOGS[:_NEAR] + sure.sum()) / total
    spread = (held @ (_LOGS[:_NEAR] - mean) ** 2 + ((sure - mean) ** 2).sum()) / total
    law = np.exp(-((_LOGS - mean) ** 2) / (2 * max(spread, _LEAST_SPREAD)))
    return np.asarray(law[:_NEAR] * (total / max(law.sum(), np.finfo(float).tiny)))


FALSE_DISCOVERIES = 0.05
"""The false discovery rate: the expected share of found strings that nobody holds."""

_READ_WHOLE = 50
"""A list of at most this length is shown whole, so its intervals need not allow for selection."""


@dataclass(frozen=True)
class Fit:
    """Frequencies of the candidates, each shape (V,), and the share of all other strings.

    - ``frequency``, ``standard_error``: unpenalised; infinite errors mark candidates with the same bits;
    - ``low``, ``high``: the interval, in [0, 1]; in a long list the lower end of a found one allows for its selection;
    - ``found``: whether the candidate is found, at the false discovery rate ``FALSE_DISCOVERIES``;
    - ``consistent``: non-negative, of sum at most 1, and with the least expected total error;
    - ``unlisted``, ``unlisted_error``: the share of people whose string is none of the candidates; an infinite error
      if that cannot be known.
    """

    frequency: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    found: Booleans
    consistent: Floats
    unlisted: float
    unlisted_error: float

    @classmethod
    def of_nothing(cls, candidates: int) -> Self:
        """Return the fit for a tally without reports about the candidates."""
        unknown, zeros, ones = np.full(candidates, np.nan), np.zeros(candidates), np.ones(candidates)
        nobody = np.zeros(candidates, dtype=np.bool_)
        return cls(unknown, ones * np.inf, zeros, ones, nobody, zeros, unlisted=1.0, unlisted_error=np.inf)

    @classmethod
    def of(
        cls,
        frequency: Floats,
        error: Floats,
        found: Indices,
        threshold: float,
        confidence: float,
        *,
        prior: tuple[Floats, Floats],
        listed: tuple[float, float],
    ) -> Self:
        """Return the fit of all candidates, given that those at ``found`` have passed the score ``threshold``.

        The frequencies and errors of these come from their joint fit. ``prior`` has the scores of all candidates, in
        their own standard errors, and these errors: the law of frequencies is learnt from them. ``listed`` is the share
        of people who hold any candidate, and its error.
        """
        present = np.zeros(len(frequency), dtype=np.bool_)
        present[found] = True
        low, high = normal_interval(frequency, error, confidence)
        shares, errors = frequency[found], error[found]
        scores = shares / errors
        if len(frequency) > _READ_WHOLE:
            allowing = truncated_means(scores, threshold, (1 - confidence) / 2) * errors
            low[found] = np.clip(np.minimum(low[found], allowing), 0, 1)
        return cls(
            frequency=frequency,
            standard_error=error,
            low=low,
            high=high,
            found=present,
            consistent=onto_subsimplex(_likely(prior, found, shares, errors)),
            unlisted=1 - listed[0],
            unlisted_error=listed[1],
        )

    def of_people(self, times: float) -> Self:
        """Return this fit with ``times`` the sampling variance of people added (``with_people``)."""
        if not times:
            return self
        error = with_people(self.standard_error, self.frequency, times)
        with np.errstate(invalid="ignore"):  # for candidates that cannot be distinguished
            wider = np.where(np.isfinite(error), error / self.standard_error, 1.0)
        return replace(
            self,
            standard_error=error,
            low=np.maximum(self.frequency - wider * (self.frequency - self.low), 0),
            high=np.minimum(self.frequency + wider * (self.high - self.frequency), 1),
            unlisted_error=float(with_people(self.unlisted_error, self.unlisted, times)),
        )


def with_people(error: Floats | float, share: Floats | float, times: float) -> Floats:
    """Return the standard error of a share with ``times`` the sampling variance of people, f(1-f), added."""
    held = np.clip(share, 0, 1)
    return np.asarray(np.sqrt(np.square(error) + times * held * (1 - held)))


def _likely(prior: tuple[Floats, Floats], found: Indices, frequency: Floats, error: Floats) -> Floats:
    """Return the posterior median of each frequency; for found candidates it follows from their joint fit.

    A frequency with an error above 1 is ignored, and so is a score of -∞, of strings that no report can distinguish.
    """
    scores, errors = np.nan_to_num(prior[0], neginf=0.0), prior[1]
    slab = Slab.learnt(scores)
    likely = slab.medians(scores) * np.where(errors < 1, errors, 0.0)
    likely[found] = slab.medians_of(frequency / error, error / errors[found]) * error
    return np.asarray(likely)
