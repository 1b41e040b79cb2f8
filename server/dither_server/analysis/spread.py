"""Compute what tests of no change and weights need: moments of an estimate at an assumed share, tails, corrections.

The standard error of an estimate is computed at the estimate itself. It is smaller at low estimates, so weights and
tests based on it favour them: a survey with few holders by chance would count as more precise.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import scipy

from dither_shared import Mechanism

from ..estimation.intervals.score import Law, noise_law, third_moment
from ..tally.arrays import Floats

_PASSES = 3
"""Number of iterations that estimate the common share; more would change it by far less than its error."""

_NOTHING = 1e-300
"""Replaces a precision of 0 in divisions."""


class Spread(NamedTuple):
    """Variance and third central moment of one survey's estimates as functions of the share f, one entry per value.

    The variance is ``constant`` + ``slope`` f + ``thinning`` f (1-f).
    """

    constant: Floats
    slope: float | Floats = 0.0
    thinning: float | Floats = 0.0
    third: Callable[[Floats], Floats] = np.zeros_like

    def variance(self, share: Floats) -> Floats:
        """Return the variance at these shares."""
        return Law(self.constant, self.slope, self.thinning).variance(share)

    def cube(self, share: Floats) -> Floats:
        """Return the third central moment at these shares."""
        return self.third(share)


def spread_of(mechanism: Mechanism, frequency: Floats, error: Floats, reports: float, repeats: float) -> Spread:
    """Return the moments of estimates with the given ``error`` at their own ``frequency``.

    The part of the error beyond the mechanism's law, from a sketch's collisions, is taken to be independent of the
    share. So is the whole error of a regression, which hardly depends on one value's share. ``repeats`` is the reports'
    design effect.
    """
    reports = max(reports, 1)
    if not mechanism.pure:
        return Spread(error**2)
    trials = np.asarray(reports * float(mechanism.coverage))
    share, law = np.clip(frequency, 0, 1), noise_law(mechanism, repeats).sampled()
    once = Spread(np.zeros(()), law.slope / trials, law.thinning / trials)
    least = law.constant / trials / 2  # a positive lower bound in spite of rounding
    return once._replace(
        constant=np.maximum(error**2 - once.variance(share), least),
        third=lambda at: third_moment(mechanism, at, trials, repeats, sampled=True),
    )


def weights_of(spreads: Sequence[Spread], frequency: Floats) -> Floats:
    """Return the weights of several surveys' estimates of one share, shape (surveys, values).

    They sum to 1, or to 0 if no survey has an estimate. They are inverse variances at one share for all surveys: first
    at 1/2, then, iteratively, at the weighted mean. So they are hardly correlated with the estimates, and the weighted
    mean is nearly unbiased.
    """
    share, weights = np.full(frequency.shape[1], 0.5), np.zeros_like(frequency)
    for _ in range(_PASSES):
        inverse = np.array([1 / spread.variance(share) for spread in spreads])
        weights = np.asarray(inverse / np.maximum(inverse.sum(axis=0), _NOTHING))
        share = np.clip((weights * frequency).sum(axis=0), 0, 1)
    return weights


_SKEWED = 1e-4
"""A skewness below this changes no p-value by more than a thousandth of itself."""


def holm(p_values: Floats) -> Floats:
    """Return p-values adjusted after Holm (1979): rejecting those below α rejects any true one with at most α.

    The smallest of k is multiplied by k, the next by k - 1, and so on, and none is below one before it. It holds under
    any dependence of the tests. NaN means no test: it stays NaN and is not counted.
    """
    adjusted = np.full_like(p_values, np.nan)
    tested = np.flatnonzero(~np.isnan(p_values))
    order = tested[np.argsort(p_values[tested], kind="stable")]
    steps = p_values[order] * (len(order) - np.arange(len(order)))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def two_sided(score: Floats, skewness: Floats | float = 0.0) -> Floats:
    """Return twice the smaller tail beyond ``score`` of a variable of mean 0, variance 1 and that skewness, at most 1.

    The variable is modelled as a shifted gamma (Pearson's type III), which is normal without skewness and has slightly
    heavier tails than binomial or Poisson counts; the normal tail of rare counts would be much too light.
    """
    skewness = np.broadcast_to(np.asarray(skewness, dtype=np.float64), np.shape(score))
    skewed = np.abs(skewness) > _SKEWED
    shape = 4 / np.maximum(np.abs(skewness), _SKEWED) ** 2
    at = np.maximum(shape + np.sign(skewness) * score * np.sqrt(shape), 0)
    tail = np.minimum(scipy.special.gammainc(shape, at), scipy.special.gammaincc(shape, at))
    return np.asarray(2 * np.where(skewed, tail, scipy.special.ndtr(-np.abs(score))))
