"""A fit of candidate strings of an open domain: which are found, how frequent they are, and who is beyond them."""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from ..tally.arrays import Booleans, Floats, Indices
from .consistency import onto_subsimplex
from .intervals.shares import normal_interval
from .regression.false_discovery import truncated_means
from .regression.posterior_median import Slab

__all__ = ["FALSE_DISCOVERIES", "Fit", "Scores", "lucky_total"]

FALSE_DISCOVERIES = 0.05
"""The false discovery rate: the expected share of found strings that are not there."""

_READ_WHOLE = 50
"""A list no longer than this is read whole, so that no interval has to allow for selection."""


class Scores(NamedTuple):
    """How far each candidate stands out, in standard errors of its own, and these errors; shapes (V,)."""

    score: Floats
    error: Floats


@dataclass(frozen=True)
class Fit:
    """Frequencies of the candidates, each shape (V,), and of what is beyond them.

    - ``frequency``, ``standard_error``: unpenalised; the error of one that cannot be told from others is infinite;
    - ``low``, ``high``: the interval, in [0, 1]; in a long list the lower end of a found one allows for its selection;
    - ``found``: whether it is there, at the level ``FALSE_DISCOVERIES``;
    - ``consistent``: non-negative, of sum at most 1, and of the least total error that is expected;
    - ``unlisted``, ``unlisted_error``: the share of people whose string is none of the candidates; or, if not
      ``together``, none of those found.
    """

    frequency: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    found: Booleans
    consistent: Floats
    unlisted: float
    unlisted_error: float
    together: bool

    @classmethod
    def of_nothing(cls, candidates: int) -> Self:
        """Return the fit where no report speaks of the candidates."""
        unknown, zeros, ones = np.full(candidates, np.nan), np.zeros(candidates), np.ones(candidates)
        nobody = np.zeros(candidates, dtype=np.bool_)
        return cls(unknown, ones * np.inf, zeros, ones, nobody, zeros, unlisted=1.0, unlisted_error=1.0, together=False)

    @classmethod
    def of(
        cls,
        frequency: Floats,
        error: Floats,
        found: Indices,
        threshold: float,
        confidence: float,
        *,
        prior: Scores,
        total: float | None,
        total_error: float,
    ) -> Self:
        """Return the fit of candidates of which those at ``found`` have passed the score ``threshold``.

        Their frequencies and errors are of a fit of them together; the ``prior`` is learnt from the scores of all.
        ``total`` is the sum of all frequencies, None if only those found were fitted, and ``total_error`` its error.
        """
        present = np.zeros(len(frequency), dtype=np.bool_)
        present[found] = True
        low, high = normal_interval(frequency, error, confidence)
        own, errors = frequency[found], error[found]
        scores = own / errors
        if len(frequency) > _READ_WHOLE:
            allowing = truncated_means(scores, threshold, (1 - confidence) / 2) * errors
            low[found] = np.clip(np.minimum(low[found], allowing), 0, 1)
        if lucky := total is None:
            total = lucky_total(own, errors, threshold)
        return cls(
            frequency=frequency,
            standard_error=error,
            low=low,
            high=high,
            found=present,
            consistent=onto_subsimplex(_likely(prior, found, own, errors)),
            unlisted=1 - total,
            unlisted_error=total_error,
            together=not lucky,
        )


def lucky_total(frequency: Floats, error: Floats, threshold: float) -> float:
    """Return the sum of the frequencies of those found among many, which were lucky: medians that allow for it."""
    return float((np.maximum(truncated_means(frequency / error, threshold, 0.5), 0) * error).sum())


def _likely(prior: Scores, found: Indices, frequency: Floats, error: Floats) -> Floats:
    """Return the medians of what each frequency may be: of those found, by the fit of them together.

    An error beyond 1 tells nothing of a share.
    """
    slab = Slab.learnt(prior.score)
    likely = np.where(prior.error < 1, slab.medians(prior.score) * prior.error, 0.0)
    likely[found] = slab.medians_of(frequency / error, error / prior.error[found]) * error
    return np.asarray(likely)
