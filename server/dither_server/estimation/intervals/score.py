"""Compute score intervals of a share: of estimates whose law is nearly normal, and no binomial one.

Each has equal tails, and near 0 and 1 the tails that ``feldman_cousins`` says; it misses with probability ``alpha``,
which is 1 - confidence.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dither_shared import Mechanism

from ...tally.arrays import Counts, Floats
from .exact import Ends
from .feldman_cousins import normal_scores, tails

_PASSES = 2
"""How often an end is computed: first with the skewness at the estimate, then with that at the end before."""

_MOST_SKEWED = 0.5
"""A skewness up to which the first correction for it is one."""


class Law(NamedTuple):
    """The variance of an estimate of a share f from N reports, times N: constant + slope f + thinning f (1-f)."""

    constant: float | Floats
    slope: float | Floats
    thinning: float

    def error(self, share: Floats, trials: Floats | Counts, bias: Floats | float = 0.0) -> Floats:
        """Return the standard error of an estimate from ``trials`` reports, with a bias of that standard deviation."""
        spread = self.constant + self.slope * share + self.thinning * share * (1 - share)
        return np.asarray(np.sqrt(np.maximum(spread, 0) / np.maximum(trials, 1) + bias**2))

    def sampled(self) -> "Law":
        """Return the law over a population: who reports adds f(1-f)."""
        return self._replace(thinning=1.0)


def noise_law(mechanism: Mechanism) -> Law:
    """Return the law over noise alone.

    V0 + f·Vf (Wang et al. 2017, equation 2) is of the noise and, where but a share c of the reports speaks of a value,
    (1-c) f (1-f) of whose these are.
    """
    p, q = float(mechanism.p), float(mechanism.q)
    return Law(q * (1 - q) / (p - q) ** 2, (1 - p - q) / (p - q), float(1 - mechanism.coverage))


def noise_interval(
    mechanism: Mechanism,
    frequency: Floats,
    trials: Floats | Counts,
    alpha: float,
    bias: Floats | float = 0.0,
    cube: Floats | float = 0.0,
) -> Ends:
    """Return the interval of a share among those who reported, by noise alone.

    ``bias`` and ``cube`` are the standard deviation and third central moment of what a sketch's collisions add.
    """
    law = noise_law(mechanism)

    def skewness(at: Floats) -> Floats:
        return np.asarray((cube + noise_cube(mechanism, at, trials, law.thinning)) / law.error(at, trials, bias) ** 3)

    return score_interval(law, frequency, trials, alpha, bias, skewness)


def noise_cube(mechanism: Mechanism, share: Floats, trials: Floats | Counts, thinning: float) -> Floats:
    """Return the third central moment of a share's estimate under a ``Law`` with thinning t.

    Of one trial, with b(x) = x (1-x) (1-2x), the third central moment of a coin of chance x, and d = p - q, it is

        f b(p) + (1-f) b(q) + 3 d² (1-p-q) t f (1-f) + d³ t (2t-1) f (1-f) (1-2f),   over d³ N²

    of N trials: the moments of the noise given whose the reports are, their mean's covariance with their variance, and
    the moment of the mean, which is that of a hypergeometric number of holders. Without thinning the first two are all;
    with all of it, t = 1, the sum is b(q + f d), for then every report is anyone's.
    """
    p, q = float(mechanism.p), float(mechanism.q)
    gap, mixed = p - q, share * (1 - share) * thinning
    noise = share * p * (1 - p) * (1 - 2 * p) + (1 - share) * q * (1 - q) * (1 - 2 * q)
    people = 3 * gap**2 * (1 - p - q) * mixed + gap**3 * mixed * (2 * thinning - 1) * (1 - 2 * share)
    return np.asarray((noise + people) / (np.maximum(trials, 1.0) ** 2 * gap**3))


def _unskewed(share: Floats) -> Floats:
    return np.zeros(1)


def score_interval(
    law: Law,
    frequency: Floats,
    trials: Floats | Counts,
    alpha: float,
    bias: Floats | float = 0.0,
    skewness: Callable[[Floats], Floats] = _unskewed,
) -> Ends:
    """Return the interval of a share, given its unbiased estimate from so many trials; a share of no trial is anywhere.

    It holds every f with |estimate - f| <= z error(f), the error being that at f itself (Wilson's score interval, 1927,
    for a sum of two binomials): unlike one with the error at the estimate it covers as it says where few reports
    support a value. Where the estimate is skewed, z is corrected by (z² - 1)/6 of the ``skewness`` that it has at f
    (Cornish and Fisher 1938): first at the estimate, and then at the end that this gives.
    """
    errors = (law.error(np.zeros(1), trials, bias), law.error(np.ones(1), trials, bias))
    below, above = normal_scores(frequency, errors, alpha)
    alike = tails(alpha).alike
    low = high = np.clip(frequency, 0, 1)
    for _ in range(_PASSES):
        low, high = (
            np.clip(_wilson(law, frequency, trials, _corrected(score, skewness(end), alike), bias), 0, 1)
            for score, end in ((-below, low), (above, high))
        )
    return np.where(trials == 0, 0.0, low), np.where(trials == 0, 1.0, high)


def _corrected(score: Floats, skewness: Floats, alike: float) -> Floats:
    """Return the score with the first correction for skewness; beyond ``alike`` it grows no more."""
    return np.asarray(score - (np.minimum(score**2, alike**2) - 1) / 6 * np.clip(skewness, -_MOST_SKEWED, _MOST_SKEWED))


def normal_interval(frequency: Floats, error: Floats, confidence: float) -> Ends:
    """Return the interval of a share whose unbiased estimate is normal with that standard error; it may be infinite."""
    below, above = normal_scores(frequency, (error, error), 1 - confidence)
    return np.clip(frequency - below * error, 0, 1), np.clip(frequency + above * error, 0, 1)


def _wilson(law: Law, frequency: Floats, trials: Floats | Counts, score: Floats, bias: Floats | float) -> Floats:
    """Return the share f whose distance to the estimate is ``score`` times the error at f."""
    scale = score**2 / np.maximum(trials, 1)
    constant = law.constant + np.maximum(trials, 1) * bias**2
    spread = constant + law.slope * frequency + law.thinning * frequency * (1 - frequency)
    lean = scale * (law.slope + law.thinning)
    # The discriminant with its large terms cancelled on paper, so that 10^12 reports lose no digits.
    rest = 4 * scale**2 * law.thinning * constant if law.thinning else 0.0  # else an error without bound would be NaN
    half = np.sqrt(np.maximum(4 * scale * spread + lean**2 + rest, 0)) / 2
    return np.asarray((frequency + lean / 2 + np.sign(score) * half) / (1 + scale * law.thinning))
