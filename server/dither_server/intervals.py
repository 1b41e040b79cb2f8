"""Intervals of a share: exact ones about the population, score ones about those who reported, one or many at once.

Each is first that of equal tails, and near 0 and 1 that of the tails that ``boundary`` says.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.interpolate import CubicSpline

from dither_shared import Mechanism, OptimizedUnary, SymmetricUnary

from .boundary import ends_within, near_zero, normal_scores

__all__ = [
    "Law",
    "Simultaneous",
    "clopper_pearson",
    "exact_interval",
    "level_of_each",
    "noise_law",
    "normal_interval",
    "score_interval",
]

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Ends = tuple[Floats, Floats]
Simultaneous = Literal["sidak", "bonferroni"]

_NODES, _NEAR_NODES = 400, 128
_SMOOTH = 100
"""Interpolation nodes for many intervals, for those near 0 or 1, and the least count beside which ends are smooth."""

_NOUGHT = 1e-300
"""In place of a beta function's shape of 0, where the answer is set apart."""


class Law(NamedTuple):
    """N times the variance of an estimate of a share f: constant + slope f + thinning f (1-f), all over N."""

    constant: float
    slope: float
    thinning: float

    def error(self, share: Floats, trials: Floats | Counts, bias: Floats | float = 0.0) -> Floats:
        """Return the standard error from so many trials, and from a bias of that standard deviation."""
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


def score_interval(law: Law, frequency: Floats, trials: Counts, confidence: float, bias: Floats | float = 0.0) -> Ends:
    """Return the interval of a share, given its unbiased estimate from so many trials; a share of no trial is anywhere.

    It holds every f with |estimate - f| <= z error(f), the error being that at f itself (Wilson's score interval, 1927,
    for a sum of two binomials): unlike one with the error at the estimate it covers as it says where few reports
    support a value.
    """
    errors = (law.error(np.zeros(1), trials, bias), law.error(np.ones(1), trials, bias))
    below, above = normal_scores(frequency, errors, confidence)
    low, high = (_wilson(law, frequency, trials, score, bias) for score in (-below, above))
    return np.where(trials == 0, 0.0, np.clip(low, 0, 1)), np.where(trials == 0, 1.0, np.clip(high, 0, 1))


def normal_interval(frequency: Floats, error: Floats, confidence: float) -> Ends:
    """Return the interval of a share whose unbiased estimate is normal with that standard error; it may be infinite."""
    once = np.ones(len(frequency), dtype=np.int64)
    return score_interval(Law(0.0, 0.0, 0.0), frequency, once, confidence, error)


def _wilson(law: Law, frequency: Floats, trials: Counts, score: Floats, bias: Floats | float) -> Floats:
    """Return the share f whose distance to the estimate is ``score`` times the error at f."""
    scale = score**2 / np.maximum(trials, 1)
    constant = law.constant + np.maximum(trials, 1) * bias**2
    spread = constant + law.slope * frequency + law.thinning * frequency * (1 - frequency)
    lean = scale * (law.slope + law.thinning)
    # The discriminant with its large terms cancelled on paper, so that 10^12 reports lose no digits.
    rest = 4 * scale**2 * law.thinning * constant if law.thinning else 0.0  # else an error without bound would be NaN
    half = np.sqrt(np.maximum(4 * scale * spread + lean**2 + rest, 0)) / 2
    return np.asarray((frequency + lean / 2 + np.sign(score) * half) / (1 + scale * law.thinning))


def exact_interval(mechanism: Mechanism, supporting: Counts, trials: Counts, confidence: float) -> Ends:
    """Return the interval of a value's share in the population, given how many of the trials support it.

    Over a population the support is exactly Bin(N, q + f(p-q)), so the exact interval of its success probability
    (Clopper and Pearson 1934), mapped by the same line, covers f at least as often as it says.
    """
    p, q = float(mechanism.p), float(mechanism.q)
    if p < q:  # the opposite is reported more often: count how many do not support the value
        supporting, p, q = trials - supporting, 1 - p, 1 - q

    def less(share: Floats, seen: Floats, out_of: Floats) -> Floats:
        chance = special.betaincc(seen + 1, np.maximum(out_of - seen, _NOUGHT), q + share * (p - q))
        return np.where(seen < out_of, chance, 1.0)

    def more(share: Floats, seen: Floats, out_of: Floats) -> Floats:
        chance = special.betainc(np.maximum(seen, _NOUGHT), out_of - seen + 1, q + share * (p - q))
        return np.where(seen > 0, chance, 1.0)

    def at(seen: Floats, out_of: Floats) -> Ends:
        estimate = (seen / np.maximum(out_of, 1) - q) / (p - q)
        errors = _errors_at_ends(p, q, out_of)
        return ends_within(less, more, (seen, out_of), estimate, errors, confidence)

    def bounded(places: NDArray[np.bool_]) -> Ends:
        return _by_count(at, supporting[places].astype(np.float64), trials[places].astype(np.float64))

    low, high = clopper_pearson(supporting, trials, confidence)
    low, high = (low - q) / (p - q), (high - q) / (p - q)
    errors = _errors_at_ends(p, q, trials)
    for places in (near_zero(low, errors[0], confidence), near_zero(1 - high, errors[1], confidence)):
        if places.any():
            low[places], high[places] = bounded(places)
    return low, high


def _errors_at_ends(p: float, q: float, trials: Floats | Counts) -> Ends:
    each = 1 / (np.sqrt(np.maximum(trials, 1)) * (p - q))
    return np.sqrt(q * (1 - q)) * each, np.sqrt(p * (1 - p)) * each


def clopper_pearson(successes: Counts, trials: Counts, confidence: float) -> Ends:
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


def _exact_ends(successes: Floats, trials: Counts | int, confidence: float) -> Ends:
    tail = (1 - confidence) / 2
    with np.errstate(invalid="ignore"):  # a shape of 0, where the end is 0 or 1, is set below
        low = special.betaincinv(successes, trials - successes + 1, tail)
        high = special.betainccinv(successes + 1, trials - successes, tail)
    return np.where(successes == 0, 0.0, low), np.where(successes == trials, 1.0, high)


def _by_count(at: Callable[[Floats, Floats], Ends], counts: Floats, trials: Floats) -> Ends:
    """Return the ends ``at`` these counts: each count's once and, if there are many, interpolated.

    The counts are those near one end of the range, a few standard errors, over which the ends bend but little: the
    interpolation is right to 1e-3 of a standard error.
    """
    n = trials[0]
    if (trials != n).any():
        return at(counts, trials)
    distinct, place = np.unique(counts, return_inverse=True)
    if len(distinct) <= 2 * _NEAR_NODES:
        low, high = at(distinct, np.full(len(distinct), n))
        return low[place], high[place]
    nodes = np.linspace(distinct[0], distinct[-1], _NEAR_NODES)
    low, high = (CubicSpline(nodes, end)(counts) for end in at(nodes, np.full(_NEAR_NODES, n)))
    return np.clip(low, 0, 1), np.clip(high, 0, 1)


def level_of_each(mechanism: Mechanism, values: int, confidence: float) -> tuple[Simultaneous, float]:
    """Return the confidence that each of so many intervals needs for all to hold together, and whose rule says so.

    Given the histogram, the supports of a unary encoding are independent, so for its noise (1-α)^(1/k) is exact
    (Šidák 1967); about the population they hang together a little, through who reported, and his inequality for normal
    variables holds. For all others α/k by Bonferroni's inequality, which assumes nothing.
    """
    if isinstance(mechanism, OptimizedUnary | SymmetricUnary):
        return "sidak", confidence ** (1 / values)
    return "bonferroni", 1 - (1 - confidence) / values
