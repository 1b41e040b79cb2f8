"""Estimate the candidates' frequencies with the least total error: posterior medians under a spike and slab prior.

The sum of absolute errors is least at the medians of what each frequency may be, where the mean of many that are
almost surely 0 adds up to people who are not there. Given z = θ + N(0, 1), where θ >= 0 is a frequency in standard
errors, θ is 0 for a share of the candidates (the spike) and log-normal for the others (the slab), as shares are
wherever few are common and many rare. The three numbers are learnt from all candidates together (empirical Bayes, by
EM). The free prior of ``prior`` fits chance as well: where most candidates are absent, its medians take the highest
noise for strings.
"""

from typing import NamedTuple, Self

import numpy as np

from ...tally.arrays import Floats

__all__ = ["Slab"]


_SURE = 8.0
"""Above so many standard errors a frequency is taken as it is, without shrinkage."""

_STEP = 0.08
_LOGS = np.arange(np.log(0.1), np.log(1e4), _STEP)
_LEAST_SPREAD = _STEP**2 / 2
"""The slab's grid, as logarithms of θ, and their least variance."""

_NEAR = int(np.searchsorted(_LOGS, np.log(_SURE + 4)))
_GRID = np.concatenate([[0.0], np.exp(_LOGS[:_NEAR])])
_ENDS = np.concatenate([[0.0], np.exp(_LOGS[:_NEAR] - _STEP / 2), [np.exp(_LOGS[_NEAR] - _STEP / 2)]])
"""The grid of θ for an uncertain candidate, 0 first, and the ends of its places: each reaches from one to the next."""

_BINS, _STEPS = 512, 100
_AT_FIRST = 0.7
"""The spike's share before anything is known."""


class Slab(NamedTuple):
    """The prior: the weight of each place of the grid, shape (1 + places,), that of 0 first."""

    weight: Floats

    @classmethod
    def learnt(cls, z: Floats) -> Self:
        """Return the law of θ, learnt from scores of shape (V,)."""
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
        """Return those of a few, whose standard errors are ``scale`` times those that θ was learnt in; in their own."""
        scale = np.broadcast_to(scale, z.shape)[:, np.newaxis]
        posterior = np.cumsum(_likelihood(np.minimum(z, _SURE), scale) * self.weight, axis=1)
        posterior /= np.maximum(posterior[:, -1:], np.finfo(float).tiny)
        place = (posterior >= 0.5).argmax(axis=1)
        before, after = (np.pad(posterior, ((0, 0), (1, 0)))[np.arange(len(z)), place + more] for more in (0, 1))
        within = (0.5 - before) / np.maximum(after - before, np.finfo(float).tiny)
        median = np.where(place, _ENDS[place] + within * (_ENDS[place + 1] - _ENDS[place]), 0.0) / scale[:, 0]
        return np.where(z < _SURE, median, z)


def _edges(z: Floats) -> Floats:
    return np.linspace(min(-1.0, float(z.min(initial=0.0))), _SURE, _BINS + 1)


def _middles(edges: Floats) -> Floats:
    return np.asarray((edges[1:] + edges[:-1]) / 2)


def _likelihood(z: Floats, scale: Floats | float = 1.0) -> Floats:
    """Return that of each place of the grid, shape (V, places), relative to that of the best θ, lest all be 0."""
    return np.asarray(np.exp(-((z[:, np.newaxis] - _GRID / scale) ** 2 - np.minimum(z, 0)[:, np.newaxis] ** 2) / 2))


def _log_normal(held: Floats, sure: Floats) -> Floats:
    """Return the log-normal law of so many candidates at each place of the grid, and of others by their logarithms."""
    total = held.sum() + len(sure)
    if total <= 0:
        return np.zeros(_NEAR)
    mean = (held @ _LOGS[:_NEAR] + sure.sum()) / total
    spread = (held @ (_LOGS[:_NEAR] - mean) ** 2 + ((sure - mean) ** 2).sum()) / total
    law = np.exp(-((_LOGS - mean) ** 2) / (2 * max(spread, _LEAST_SPREAD)))
    return np.asarray(law[:_NEAR] * (total / max(law.sum(), np.finfo(float).tiny)))
