"""From a tally to frequencies: unbiased, with standard errors and intervals. Debiasing happens here, once."""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dither_shared import CountMeanSketch, HadamardCountMeanSketch, Mechanism, ParameterError, Rappor

from .collisions import collision_error
from .consistency import onto_simplex, onto_subsimplex
from .decoders import rappor
from .decoders.support import support
from .intervals import Simultaneous, clopper_pearson, level_of_each, noise_interval, noise_variance
from .tally import Tally

__all__ = ["Estimate", "Verdict", "estimate"]

Floats = NDArray[np.float64]
Verdict = Literal["ok", "noise", "too-few"]

_WIDEST = 0.5
"""An interval this wide says nothing: half of all people could hide in it."""


@dataclass(frozen=True)
class Estimate:
    """Frequencies of ``labels``, column by column (each array has one entry a label).

    - ``frequency``: raw and unbiased, so it may lie below 0 or above 1; ``count`` is so many of the reports;
    - ``noise_error``, ``noise_low``, ``noise_high``: standard error and interval from the noise alone: how far the
      share among those who reported may be;
    - ``standard_error``, ``low``, ``high``: from the noise and from who happened to report: how far the share in the
      population may be of which they are a random sample;
    - ``consistent``: non-negative and summing to 1 (at most 1 for candidate strings), prettier and biased;
    - ``verdicts``: "ok"; "noise" if [low, high] contains 0; "too-few" if it spans half of all that is possible.

    Intervals are at ``confidence``, each by itself or, by the rule that ``simultaneous`` names, all together, and
    are cut to [0, 1]. With no reports every number but the interval [0, 1] is NaN.
    """

    labels: tuple[str, ...]
    reports: int
    confidence: float
    simultaneous: Simultaneous | None
    frequency: Floats
    noise_error: Floats
    noise_low: Floats
    noise_high: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    consistent: Floats
    verdicts: tuple[Verdict, ...]

    @property
    def count(self) -> Floats:
        """How many of the reports are of each value: the frequency times their number."""
        return self.frequency * self.reports


def estimate(
    mechanism: Mechanism, labels: tuple[str, ...], tally: Tally, confidence: float = 0.95, *, simultaneous: bool = False
) -> Estimate:
    """Return the frequencies of ``labels`` (the domain's, or candidate strings of an open domain).

    With ``simultaneous`` the intervals all hold together with ``confidence``, and are wider for it.
    Raises ParameterError if ``confidence`` is not strictly between 0 and 1 or the labels do not fit the mechanism.
    """
    if not 0 < confidence < 1:
        raise ParameterError("confidence", f"{confidence!r} must lie strictly between 0 and 1")
    if not labels:
        raise ParameterError("candidates", "none given; an open domain is decoded against a list of strings")
    if mechanism.size not in {None, len(labels)}:
        raise ParameterError("labels", f"{len(labels)} given for a domain of {mechanism.size}")
    rule, level = level_of_each(mechanism, len(labels), confidence) if simultaneous else (None, confidence)
    if not tally.total:
        columns = _of_nothing(len(labels))
    elif isinstance(mechanism, Rappor):
        columns = _regression(mechanism, labels, tally, level)
    else:
        columns = _pure(mechanism, labels, tally, level)
    verdicts = _verdicts(columns.low, columns.high)
    ends = {name: np.clip(getattr(columns, name), 0, 1) for name in ("noise_low", "noise_high", "low", "high")}
    return Estimate(labels, tally.total, confidence, rule, *columns._replace(**ends), verdicts)


class _Columns(NamedTuple):
    """Columns of an ``Estimate``, the intervals not yet cut to [0, 1]."""

    frequency: Floats
    noise_error: Floats
    noise_low: Floats
    noise_high: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    consistent: Floats


def _pure(mechanism: Mechanism, labels: tuple[str, ...], tally: Tally, confidence: float) -> _Columns:
    """Debias support counts: f = (C/n - q)/(p - q) (Wang et al. 2017, equation 1).

    Over a population C is exactly Bin(n, q + f(p-q)), so the Clopper-Pearson interval of its success probability,
    mapped by the same line, covers f at least as often as it says.
    """
    supporting, trials = support(mechanism, tally, labels)
    p, q = float(mechanism.p), float(mechanism.q)
    frequency = (supporting / np.maximum(trials, 1) - q) / (p - q)
    supported = q + np.clip(frequency, 0, 1) * (p - q)
    error = np.sqrt(supported * (1 - supported) / np.maximum(trials, 1)) / abs(p - q)
    ends = [(end - q) / (p - q) for end in clopper_pearson(supporting, trials, confidence)]
    columns = _Columns(
        frequency,
        np.sqrt(noise_variance(mechanism, frequency, trials)),
        *noise_interval(mechanism, frequency, trials, confidence),
        error,
        np.minimum(*ends),
        np.maximum(*ends),
        onto_subsimplex(frequency) if mechanism.open_domain else onto_simplex(frequency),
    )
    if isinstance(mechanism, CountMeanSketch | HadamardCountMeanSketch):
        return _widened(columns, collision_error(mechanism, tally, frequency), confidence)
    return columns


def _widened(columns: _Columns, bias: Floats, confidence: float) -> _Columns:
    """Widen errors and intervals by a bias that has no sign, of which only the standard deviation is known."""
    quantile = NormalDist().inv_cdf((1 + confidence) / 2)
    noise_error, error = (np.hypot(each, bias) for each in (columns.noise_error, columns.standard_error))
    noise_more, more = quantile * (noise_error - columns.noise_error), quantile * (error - columns.standard_error)
    return columns._replace(
        noise_error=noise_error,
        noise_low=columns.noise_low - noise_more,
        noise_high=columns.noise_high + noise_more,
        standard_error=error,
        low=columns.low - more,
        high=columns.high + more,
    )


def _regression(mechanism: Mechanism, labels: tuple[str, ...], tally: Tally, confidence: float) -> _Columns:
    """Fit candidate strings; the intervals are normal.

    The fit's error is over noise and sampling; sampling adds f(1-f)/n to the variance of any unbiased estimate, and
    what is left is the noise.
    """
    fit = rappor.regress(mechanism, labels, tally)
    share = np.clip(fit.frequency, 0, 1)
    noise = np.sqrt(np.maximum(fit.standard_error**2 - share * (1 - share) / tally.total, 0))
    quantile = NormalDist().inv_cdf((1 + confidence) / 2)
    noise_ends = (fit.frequency - quantile * noise, fit.frequency + quantile * noise)
    ends = (fit.frequency - quantile * fit.standard_error, fit.frequency + quantile * fit.standard_error)
    return _Columns(fit.frequency, noise, *noise_ends, fit.standard_error, *ends, fit.non_negative)


def _verdicts(low: Floats, high: Floats) -> tuple[Verdict, ...]:
    told: list[Verdict] = np.where(high - low >= _WIDEST, "too-few", np.where(low <= 0, "noise", "ok")).tolist()
    return tuple(told)


def _of_nothing(values: int) -> _Columns:
    unknown, zeros, ones = np.full(values, np.nan), np.zeros(values), np.ones(values)
    return _Columns(unknown, unknown, zeros, ones, unknown, zeros, ones, unknown)
