"""Estimate frequencies from a tally: unbiased, with standard errors and intervals. Debiasing happens here, once."""

from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple, Self

import numpy as np

from dither_shared import Mechanism, ParameterError

from ..tally.arrays import Booleans, Counts, Floats
from ..tally.tally import Tally
from .confidence import Simultaneous, level_of_each, require_confidence
from .decoders.support import decoder_of, support
from .fit import onto_sums
from .intervals.exact import exact_interval
from .intervals.score import (
    Verdict,
    informative,
    nearly_normal,
    noise_law,
    normal_interval,
    share_interval,
    too_wide,
    verdicts,
)

_SUREST = float(np.nextafter(1, 0))
"""The largest number below 1, for millions of strings together."""


@dataclass(frozen=True)
class Unlisted:
    """The share of people whose string is none of the candidates; the interval is cut to [0, 1]."""

    frequency: float
    standard_error: float
    low: float
    high: float

    @classmethod
    def of(cls, frequency: float, error: float, alpha: float) -> Self | None:
        """Return the share with an interval that misses it with probability ``alpha``; None if that is ``too_wide``.

        Its width is judged before it is cut, and hardly depends on the estimate. If it were judged afterwards, only
        estimates near 0 or 1 would be stated of few reports, and most of those would miss.
        """
        margin = -NormalDist().inv_cdf(alpha / 2) * error
        if too_wide(frequency - margin, frequency + margin):
            return None
        return cls(frequency, error, min(1.0, max(0.0, frequency - margin)), min(1.0, max(0.0, frequency + margin)))


@dataclass(frozen=True)
class Estimate:
    """Frequencies of ``labels``, column by column (each array has one entry a label).

    - ``frequency``: raw and unbiased, so it may lie below 0 or above 1; ``count`` is so many of the reports;
    - ``noise_error``, ``noise_low``, ``noise_high``: standard error and interval from the noise alone: how far the
      share among those who reported may be; the ends are NaN where there is none (``where_normal``);
    - ``standard_error``, ``low``, ``high``: from the noise and from who happened to report: how far the share in the
      population may be of which they are a random sample, also if each person reported in as many periods as there can
      be (``Repeats``);
    - ``consistent``: from 0 to 1, and summing to 1 (candidate strings: at most 1; sets: to anything), prettier and
      biased;
    - ``verdicts``, of the interval from ``low`` to ``high`` alone (``verdicts.verdicts``);
    - ``found``, of candidate strings: whether each is found at the stated share of false discoveries among all that are
      (``Fit``), none of those with the verdict "too-few"; None where values are listed, or the mechanism does not
      select;
    - ``unlisted``: the people whose string is no candidate, where the domain is open and the reports tell;
    - ``repeats``: the design effect of the reports, by which errors and intervals allow for reports of one person.

    Intervals are at ``confidence``, each by itself or, by the rule that ``simultaneous`` names, all together, and lie
    in [0, 1]. With no reports, or so few that none is ``informative``, every number but the interval [0, 1] is NaN.
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
    found: Booleans | None
    unlisted: Unlisted | None
    repeats: float

    @property
    def size(self) -> int:
        """The bytes that it takes, nearly: eight columns of numbers, verdicts and ``found``."""
        return 73 * len(self.labels)

    @property
    def count(self) -> Floats:
        """How many of the reports are of each value: the frequency times their number."""
        return self.frequency * self.reports


def estimate(
    mechanism: Mechanism, labels: tuple[str, ...], tally: Tally, confidence: float = 0.95, *, simultaneous: bool = False
) -> Estimate:
    """Return the frequencies of ``labels`` (the domain's, or candidate strings of an open domain).

    With ``simultaneous`` the intervals all hold together with ``confidence``, and are wider for it.
    Raises ParameterError if no interval can be made at that confidence, or if the labels do not fit the mechanism.
    """
    alpha = 1 - require_confidence(confidence)
    if not labels:
        raise ParameterError("candidates", "none given; a metric that takes any string needs a list of candidates")
    if mechanism.size not in {None, len(labels)}:
        raise ParameterError("labels", f"{len(labels)} given for a domain of {mechanism.size}")
    rule, alpha = level_of_each(mechanism, len(labels), alpha) if simultaneous else (None, alpha)
    fits = decoder_of(mechanism).fits
    found = np.zeros(len(labels), dtype=np.bool_) if fits else None
    unlisted: Unlisted | None = None
    if not tally.total or not informative(_error_of_none(mechanism, tally.total, tally.repeats.effect), alpha):
        columns = _of_nothing(len(labels))
    elif fits:
        columns, found, unlisted = _fitted(mechanism, labels, tally, alpha)
    else:
        columns = _supported(mechanism, labels, tally, alpha)
    said = verdicts(columns.low, columns.high)
    if found is not None:
        found &= np.array([one != "too-few" for one in said])
    return Estimate(labels, tally.total, confidence, rule, *columns, said, found, unlisted, tally.repeats.effect)


def _error_of_none(mechanism: Mechanism, reports: Floats | int, repeats: float) -> Floats:
    """Return the standard error of a share of 0 from this many reports of all cohorts, with that design effect."""
    again = noise_law(mechanism, repeats).constant / noise_law(mechanism).constant
    return np.sqrt(mechanism.variance(0.0) * again / (mechanism.fitted_cells * np.maximum(reports, 1)))


class Debiased(NamedTuple):
    """Unbiased frequencies: ``supporting[v]`` of ``trials[v]`` reports support value v."""

    frequency: Floats
    supporting: Counts
    trials: Counts


def debiased(mechanism: Mechanism, labels: tuple[str, ...], tally: Tally) -> Debiased:
    """Return f = (C/n - q)/(p - q) of each label (Wang et al. 2017, equation 1): of any pure mechanism."""
    supporting, trials = support(mechanism, tally, labels)
    p, q = float(mechanism.p), float(mechanism.q)
    return Debiased((supporting / np.maximum(trials, 1) - q) / (p - q), supporting, trials)


class _Columns(NamedTuple):
    """Columns of an ``Estimate``."""

    frequency: Floats
    noise_error: Floats
    noise_low: Floats
    noise_high: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    consistent: Floats

    def where(self, known: Booleans) -> "_Columns":
        """Return these columns where something is known, and elsewhere those without reports."""
        nothing = _of_nothing(len(known))
        return _Columns(*(np.where(known, one, other) for one, other in zip(self, nothing, strict=True)))


def _supported(mechanism: Mechanism, labels: tuple[str, ...], tally: Tally, alpha: float) -> _Columns:
    """Return the columns of an estimate from support counts.

    Under a sketch the support is not quite binomial: its hash functions collide, and the intervals are nearly normal.
    """
    frequency, supporting, trials = debiased(mechanism, labels, tally)
    repeats, share = tally.repeats.effect, np.clip(frequency, 0, 1)
    noise = noise_law(mechanism, repeats)
    bias = cube = np.zeros(len(labels))
    if mechanism.collision_variance:
        bias, cube = collision_bias(mechanism, tally, frequency)
    ends = np.ones(len(labels)), np.zeros(len(labels))
    if not mechanism.collision_variance:
        ends = exact_interval(mechanism, supporting, trials, alpha)
    if mechanism.collision_variance or repeats > 1:
        # Never narrower than that of different people, which is exact: few share what nobody has.
        low, high = share_interval(mechanism, frequency, trials, alpha, bias, cube, repeats, sampled=True)
        ends = np.minimum(ends[0], low), np.maximum(ends[1], high)
    columns = _Columns(
        frequency,
        noise.error(share, trials, bias),
        *share_interval(mechanism, frequency, trials, alpha, bias, cube, repeats, sampled=False),
        noise.sampled().error(share, trials, bias),
        *ends,
        onto_sums(frequency, *mechanism.items.sums(len(labels))),
    )
    none = _error_of_none(mechanism, trials / float(mechanism.coverage), repeats)
    return columns.where(informative(none, alpha))


def _fitted(
    mechanism: Mechanism, labels: tuple[str, ...], tally: Tally, alpha: float
) -> tuple[_Columns, Booleans, Unlisted | None]:
    """Fit candidate strings.

    The fit's error is over noise and sampling; sampling adds f(1-f)/n to the variance of any unbiased estimate, once
    per person, and what is left is the noise. Nothing may be left of a string that is not found, whose error is that of
    one that nobody holds: then so is the noise.
    """
    confidence = min(1 - alpha, _SUREST)
    fit, repeats = decoder_of(mechanism).fit(mechanism, labels, tally, confidence), tally.repeats.effect
    if not mechanism.pure:  # a regression's errors are of the scatter between cohorts: not of all that people repeat
        fit = fit.of_people((repeats - 1) / tally.total)
    share = np.clip(fit.frequency, 0, 1)
    people = noise_law(mechanism, repeats).people
    left = fit.standard_error**2 - people * share * (1 - share) / tally.total
    noise = np.sqrt(np.where(left > 0, left, mechanism.variance() / (mechanism.fitted_cells * tally.total)))
    columns = _Columns(
        fit.frequency,
        noise,
        *normal_interval(fit.frequency, noise, confidence),
        fit.standard_error,
        fit.low,
        fit.high,
        fit.consistent,
    )
    few = mechanism.pure and not nearly_normal(mechanism, tally.total)
    if mechanism.pure and (few or repeats > 1):
        # The error at an estimate knows nothing of what few reports, or those of few people, may have missed.
        trials = np.full(len(labels), float(tally.total))
        low, high = share_interval(mechanism, fit.frequency, trials, alpha, repeats=repeats, sampled=True)
        columns = columns._replace(low=np.fmin(fit.low, low), high=np.fmax(fit.high, high))
    if few:
        none = np.full(len(labels), np.nan)
        return columns._replace(noise_low=none, noise_high=none), fit.found, None
    return columns, fit.found, Unlisted.of(fit.unlisted, fit.unlisted_error, alpha)


def _of_nothing(values: int) -> _Columns:
    unknown, zeros, ones = np.full(values, np.nan), np.zeros(values), np.ones(values)
    return _Columns(unknown, unknown, zeros, ones, unknown, zeros, ones, unknown)


class _Bias(NamedTuple):
    """Standard deviation and third central moment of the bias of each value's estimate, over the hash functions."""

    error: Floats
    cube: Floats


def collision_bias(mechanism: Mechanism, tally: Tally, frequency: Floats) -> _Bias:
    """Return the law of each value's bias, of which hash functions are one draw.

    Of another value u the share in the cohorts in which it collides is Bin(M, 1/m)/M, less what is expected and times
    f_u m/(m-1): variances add up to Σ f_u² times ``collision_variance``, third moments to Σ f_u³ times
    ``collision_cube``. Of values that nobody looks for Σ f² is known, and Σ f³ is at most that to the power 3/2.
    """
    squares, shares = concentration(mechanism, tally), np.clip(frequency, 0, 1)
    beyond = max(squares - float(np.square(shares).sum()), 0.0)
    cubes = float((shares**3).sum()) + beyond**1.5 - shares**3
    return _Bias(
        np.sqrt(np.maximum(squares - shares**2, 0) * mechanism.collision_variance), cubes * mechanism.collision_cube
    )


def concentration(mechanism: Mechanism, tally: Tally) -> float:
    """Return an estimate of Σ f², over all strings whether anyone looks for them or not; 1 if the tally cannot tell.

    A report adds r_j to the estimate of column j's users. Over pairs of reports of one cohort the mean of Σ_j r_j r'_j
    is Σ_j x_j², which is Σ f² + (1 - Σ f²)/m over the hash functions; sums over pairs follow from the sums.
    """
    pairs = float((tally.reports.astype(np.float64) * (tally.reports - 1)).sum())
    if not pairs:
        return 1.0
    loads = decoder_of(mechanism).loads(mechanism, tally)
    met: float = (float(np.square(loads.users).sum()) - loads.own) / pairs
    chance: float = 1 / loads.users.shape[1]
    return min(1.0, max(0.0, (met - chance) / (1 - chance)))
