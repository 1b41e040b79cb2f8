"""Compute the law of an estimate at an assumed share, for tests of no change and for weights.

The error stated beside an estimate is the error at that estimate. It is smaller at low estimates, so weights and tests
by it favour them: a survey that by chance saw few holders would count as more precise.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dither_shared import Mechanism

from ..estimation.intervals.score import noise_law
from ..tally.arrays import Floats

_PASSES = 3
"""Rounds in which the common share is estimated; more would move it by far less than its error."""

_NOTHING = 1e-300
"""A number of precision that stands for none."""


class Spread(NamedTuple):
    """Variance and third central moment of one survey's estimates, one entry a value, of which the share is f.

    - the variance is ``constant`` + ``slope`` f + ``thinning`` f (1-f);
    - the third moment is ``own`` s (1-s) (1-2s) of s = q + f ``gap``, the chance of support, plus ``people`` times
      f (1-f) (1-2f), of people who report again.
    """

    constant: Floats
    slope: float = 0.0
    thinning: float = 0.0
    q: float = 0.0
    gap: float = 0.0
    own: float = 0.0
    people: float = 0.0

    def variance(self, share: Floats) -> Floats:
        """Return the variance at these shares."""
        return np.asarray(self.constant + self.slope * share + self.thinning * share * (1 - share))

    def cube(self, share: Floats) -> Floats:
        """Return the third central moment at these shares."""
        support = self.q + share * self.gap
        own = self.own * support * (1 - support) * (1 - 2 * support)
        return np.asarray(own + self.people * share * (1 - share) * (1 - 2 * share))


def spread_of(mechanism: Mechanism, frequency: Floats, error: Floats, reports: float, periods: int = 1) -> Spread:
    """Return the law of estimates with that ``error`` at their own ``frequency``.

    It is as if the same people reported in each of the periods (``repeated_reports``). What the error has beyond the
    mechanism's law, a sketch's collisions, is of any share. The error of a regression stays as it is: it hardly depends
    on one value's share.
    """
    reports = max(reports, 1)
    if not mechanism.pure:
        return Spread(error**2)
    trials = reports * float(mechanism.coverage)
    share, law, gap = np.clip(frequency, 0, 1), noise_law(mechanism).sampled(), float(mechanism.p - mechanism.q)
    once = Spread(
        np.zeros(()), float(law.slope) / trials, 1 / trials, float(mechanism.q), gap, 1 / (trials**2 * gap**3)
    )
    least = law.constant / trials / 2  # whatever rounding does
    once = once._replace(constant=np.maximum(error**2 - once.variance(share), least))
    if mechanism.memoised:
        return once._replace(
            constant=once.constant * periods,
            slope=once.slope * periods,
            thinning=once.thinning * periods,
            own=once.own * periods**2,
        )
    return once._replace(thinning=once.thinning + (periods - 1) / reports, people=(periods**2 - 1) / reports**2)


def weights_of(spreads: Sequence[Spread], frequency: Floats) -> Floats:
    """Return the weights of several surveys' estimates of one share, shape (surveys, values).

    They sum to 1, or to 0 where none knows a thing. They are the inverse variances at one share for all: that of the
    mean with such weights at 1/2, and then again. So they hardly hang together with the estimates that they weigh, and
    the mean is all but unbiased.
    """
    share, weights = np.full(frequency.shape[1], 0.5), np.zeros_like(frequency)
    for _ in range(_PASSES):
        inverse = np.array([1 / one.variance(share) for one in spreads])
        weights = np.asarray(inverse / np.maximum(inverse.sum(axis=0), _NOTHING))
        share = np.clip((weights * frequency).sum(axis=0), 0, 1)
    return weights
