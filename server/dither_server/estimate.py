"""From a tally to frequencies: unbiased, with standard errors and intervals. Debiasing happens here, once."""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.interpolate import CubicSpline

from dither_shared import CountMeanSketch, HadamardCountMeanSketch, Mechanism, ParameterError, Rappor

from .consistency import onto_simplex, onto_subsimplex
from .decoders import rappor
from .decoders.support import support
from .tally import Tally

__all__ = ["Estimate", "Verdict", "estimate"]

Floats = NDArray[np.float64]
Verdict = Literal["ok", "noise", "too-few"]

_WIDEST = 0.5
"""An interval this wide says nothing: half of all people could hide in it."""

_NODES = 400
_SMOOTH = 100
"""Interpolation nodes for many intervals, and the least count beside which the ends are smooth."""


@dataclass(frozen=True)
class Estimate:
    """Frequencies of ``labels``, column by column (each array has one entry a label).

    - ``frequency``: raw and unbiased, so it may lie below 0 or above 1;
    - ``standard_error``: of the frequency in the population, over noise and over who happened to report;
    - ``low``, ``high``: the interval at ``confidence``, cut to [0, 1];
    - ``consistent``: non-negative and summing to 1 (at most 1 for candidate strings), prettier and biased;
    - ``verdicts``: "ok"; "noise" if the interval contains 0; "too-few" if it spans half of all that is possible.

    With no reports every number but the interval [0, 1] is NaN.
    """

    labels: tuple[str, ...]
    reports: int
    confidence: float
    frequency: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    consistent: Floats
    verdicts: tuple[Verdict, ...]


def estimate(mechanism: Mechanism, labels: tuple[str, ...], tally: Tally, confidence: float = 0.95) -> Estimate:
    """Return the frequencies of ``labels`` (the domain's, or candidate strings of an open domain).

    Raises ParameterError if ``confidence`` is not strictly between 0 and 1 or the labels do not fit the mechanism.
    """
    if not 0 < confidence < 1:
        raise ParameterError("confidence", f"{confidence!r} must lie strictly between 0 and 1")
    if not labels:
        raise ParameterError("candidates", "none given; an open domain is decoded against a list of strings")
    if mechanism.size not in {None, len(labels)}:
        raise ParameterError("labels", f"{len(labels)} given for a domain of {mechanism.size}")
    if not tally.total:
        return _of_nothing(labels, confidence)
    if isinstance(mechanism, Rappor):
        frequency, error, low, high, consistent = _regression(mechanism, labels, tally, confidence)
    else:
        frequency, error, low, high, consistent = _pure(mechanism, labels, tally, confidence)
    width = high - low
    low, high = np.clip(low, 0, 1), np.clip(high, 0, 1)
    return Estimate(labels, tally.total, confidence, frequency, error, low, high, consistent, _verdicts(low, width))


class _Columns(NamedTuple):
    """Columns of an ``Estimate``, the interval not yet cut to [0, 1]."""

    frequency: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    consistent: Floats


def _pure(mechanism: Mechanism, labels: tuple[str, ...], tally: Tally, confidence: float) -> _Columns:
    """Debias support counts: f = (C/n - q)/(p - q) (Wang et al. 2017, equation 1).

    Over a population C is exactly Bin(n, q + f(p-q)), so the Clopper-Pearson interval of its success probability,
    mapped by the same line, covers f at least as often as it says. For the histogram of those who reported it
    is conservative (Hoeffding 1956).
    """
    supporting, trials = support(mechanism, tally, labels)
    p, q = float(mechanism.p), float(mechanism.q)
    frequency = (supporting / np.maximum(trials, 1) - q) / (p - q)
    supported = q + np.clip(frequency, 0, 1) * (p - q)
    error = np.sqrt(supported * (1 - supported) / np.maximum(trials, 1)) / abs(p - q)
    ends = [(end - q) / (p - q) for end in _clopper_pearson(supporting, trials, confidence)]
    if isinstance(mechanism, CountMeanSketch | HadamardCountMeanSketch):
        error, ends = _with_collisions(mechanism, frequency, error, ends, confidence)
        return _Columns(frequency, error, np.minimum(*ends), np.maximum(*ends), onto_subsimplex(frequency))
    return _Columns(frequency, error, np.minimum(*ends), np.maximum(*ends), onto_simplex(frequency))


def _with_collisions(
    mechanism: CountMeanSketch | HadamardCountMeanSketch,
    frequency: Floats,
    error: Floats,
    ends: list[Floats],
    confidence: float,
) -> tuple[Floats, list[Floats]]:
    """Widen errors and intervals by the bias of a sketch's fixed hash functions.

    Its variance is Σ_(u≠v) f_u² times ``collision_variance``, and Σ f_u² is at most the largest frequency.
    """
    bias = np.sqrt(min(1.0, max(0.0, float((frequency + 2 * error).max()))) * mechanism.collision_variance)
    quantile = NormalDist().inv_cdf((1 + confidence) / 2)
    widened = np.sqrt(error**2 + bias**2)
    more = quantile * (widened - error)
    return widened, [np.minimum(*ends) - more, np.maximum(*ends) + more]


def _clopper_pearson(
    successes: NDArray[np.int64], trials: NDArray[np.int64], confidence: float
) -> tuple[Floats, Floats]:
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


def _exact_ends(successes: Floats, trials: NDArray[np.int64] | int, confidence: float) -> tuple[Floats, Floats]:
    tail = (1 - confidence) / 2
    with np.errstate(invalid="ignore"):  # a shape of 0, where the end is 0 or 1, is set below
        low = special.betaincinv(successes, trials - successes + 1, tail)
        high = special.betainccinv(successes + 1, trials - successes, tail)
    return np.where(successes == 0, 0.0, low), np.where(successes == trials, 1.0, high)


def _regression(mechanism: Mechanism, labels: tuple[str, ...], tally: Tally, confidence: float) -> _Columns:
    """Fit candidate strings; the intervals are normal."""
    fit = rappor.regress(mechanism, labels, tally)
    margin = NormalDist().inv_cdf((1 + confidence) / 2) * fit.standard_error
    low, high = fit.frequency - margin, fit.frequency + margin
    return _Columns(fit.frequency, fit.standard_error, low, high, fit.non_negative)


def _verdicts(low: Floats, width: Floats) -> tuple[Verdict, ...]:
    told: list[Verdict] = np.where(width >= _WIDEST, "too-few", np.where(low <= 0, "noise", "ok")).tolist()
    return tuple(told)


def _of_nothing(labels: tuple[str, ...], confidence: float) -> Estimate:
    unknown = np.full(len(labels), np.nan)
    zeros, ones = np.zeros(len(labels)), np.ones(len(labels))
    return Estimate(labels, 0, confidence, unknown, unknown, zeros, ones, unknown, _verdicts(zeros, ones - zeros))
