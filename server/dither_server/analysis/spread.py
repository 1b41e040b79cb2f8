"""Compute the law of an estimate at an assumed share, for tests of no change and for weights.

The error stated beside an estimate is the error at that estimate. It is smaller at low estimates, so weights and tests
by it favour them: a survey that by chance saw few holders would count as more precise.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from dither_shared import Mechanism

from ..estimation.intervals.score import noise_law, third_moment
from ..tally.arrays import Floats

_PASSES = 3
"""Rounds in which the common share is estimated; more would move it by far less than its error."""

_NOTHING = 1e-300
"""A number of precision that stands for none."""


class Spread(NamedTuple):
    """Variance and third central moment of one survey's estimates, one entry a value, of which the share is f.

    The variance is ``constant`` + ``slope`` f + ``thinning`` f (1-f).
    """

    constant: Floats
    slope: float | Floats = 0.0
    thinning: float | Floats = 0.0
    third: Callable[[Floats], Floats] = np.zeros_like

    def variance(self, share: Floats) -> Floats:
        """Return the variance at these shares."""
        return np.asarray(self.constant + self.slope * share + self.thinning * share * (1 - share))

    def cube(self, share: Floats) -> Floats:
        """Return the third central moment at these shares."""
        return self.third(share)


def spread_of(mechanism: Mechanism, frequency: Floats, error: Floats, reports: float, repeats: float = 1.0) -> Spread:
    """Return the law of estimates with that ``error`` at their own ``frequency``, from reports of that design effect.

    What the error has beyond the mechanism's law, a sketch's collisions, is of any share. The error of a regression
    stays as it is: it hardly depends on one value's share.
    """
    reports = max(reports, 1)
    if not mechanism.pure:
        return Spread(error**2)
    trials = np.asarray(reports * float(mechanism.coverage))
    share, law = np.clip(frequency, 0, 1), noise_law(mechanism, repeats).sampled()
    once = Spread(np.zeros(()), law.slope / trials, law.thinning / trials)
    least = law.constant / trials / 2  # whatever rounding does
    return once._replace(
        constant=np.maximum(error**2 - once.variance(share), least),
        third=lambda at: third_moment(mechanism, at, trials, repeats, sampled=True),
    )


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
