"""Intervals of a frequency: exact ones about the population, score ones about those who reported."""

from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.interpolate import CubicSpline

from dither_shared import Mechanism, OptimizedUnary, SymmetricUnary

__all__ = ["Simultaneous", "clopper_pearson", "level_of_each", "noise_interval", "noise_variance"]

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Simultaneous = Literal["sidak", "bonferroni"]

_NODES = 400
_SMOOTH = 100
"""Interpolation nodes for many intervals, and the least count beside which the ends are smooth."""


def clopper_pearson(successes: Counts, trials: Counts, confidence: float) -> tuple[Floats, Floats]:
    """Return the exact interval of a binomial probability (Clopper and Pearson 1934), for many counts at once.

    Its ends are smooth in the count, so where there are thousands of large counts they are computed at a few hundred
    and interpolated, in the scale on which their distance is nearly constant; to well under 1e-6 of that distance.
    """
    n = int(trials[0])
    if len(successes) <= 2 * _NODES or (trials != n).any() or min(successes.min(), n - successes.max()) < _SMOOTH:
        return _exact_ends(successes.astype(np.float64), trials, confidence)
    angles = np.arcsin(np.sqrt(successes / n))
    nodes = np.linspace(angles.min(), angles.max() + 1e-9, _NODES)
    shares = np.sin(nodes) ** 2
    low, high = (
        CubicSpline(nodes, end - shares)(angles) + successes / n for end in _exact_ends(n * shares, n, confidence)
    )
    return low, high


def _exact_ends(successes: Floats, trials: Counts | int, confidence: float) -> tuple[Floats, Floats]:
    tail = (1 - confidence) / 2
    with np.errstate(invalid="ignore"):  # a shape of 0, where the end is 0 or 1, is set below
        low = special.betaincinv(successes, trials - successes + 1, tail)
        high = special.betainccinv(successes + 1, trials - successes, tail)
    return np.where(successes == 0, 0.0, low), np.where(successes == trials, 1.0, high)


def noise_variance(mechanism: Mechanism, frequency: Floats, trials: Counts) -> Floats:
    """Return Var[estimate] of values of these frequencies among those who reported, over noise alone.

    V0 + f·Vf (Wang et al. 2017, equation 2) is of the noise and, where but a share c of the reports speaks of a value,
    (1-c) f (1-f) of whose these are; all over the number of those reports, ``trials``.
    """
    constant, slope, thinning = _terms(mechanism)
    share = np.clip(frequency, 0, 1)
    return np.asarray((constant + slope * share + thinning * share * (1 - share)) / np.maximum(trials, 1))


def noise_interval(mechanism: Mechanism, frequency: Floats, trials: Counts, confidence: float) -> tuple[Floats, Floats]:
    """Return the interval of a value's share among those who reported, given its unbiased estimate.

    It holds every f with (estimate - f)² <= z² Var(f), the variance being that of ``noise_variance`` at f itself
    (Wilson's score interval, 1927, for a sum of two binomials): unlike one with the variance at the
    estimate it covers as it says where few reports support a value. A value of which no report speaks is anywhere.
    """
    constant, slope, thinning = _terms(mechanism)
    scale = NormalDist().inv_cdf((1 + confidence) / 2) ** 2 / np.maximum(trials, 1)
    spread = constant + slope * frequency + thinning * frequency * (1 - frequency)
    lean = scale * (slope + thinning)
    # The discriminant with its large terms cancelled on paper, so that 10^12 reports lose no digits.
    half = np.sqrt(np.maximum(4 * scale * spread + lean**2 + 4 * scale**2 * thinning * constant, 0)) / 2
    middle, divisor = frequency + lean / 2, 1 + scale * thinning
    unknown = np.where(trials == 0, np.inf, 0.0)
    return (middle - half) / divisor - unknown, (middle + half) / divisor + unknown


def level_of_each(mechanism: Mechanism, values: int, confidence: float) -> tuple[Simultaneous, float]:
    """Return the confidence that each of so many intervals needs for all to hold together, and whose rule says so.

    Given the histogram, the supports of a unary encoding are independent, so for its noise (1-α)^(1/k) is exact
    (Šidák 1967); about the population they hang together a little, through who reported, and his inequality for normal
    variables holds. For all others α/k by Bonferroni's inequality, which assumes nothing.
    """
    if isinstance(mechanism, OptimizedUnary | SymmetricUnary):
        return "sidak", confidence ** (1 / values)
    return "bonferroni", 1 - (1 - confidence) / values


def _terms(mechanism: Mechanism) -> tuple[float, float, float]:
    p, q = float(mechanism.p), float(mechanism.q)
    return q * (1 - q) / (p - q) ** 2, (1 - p - q) / (p - q), float(1 - mechanism.coverage)
