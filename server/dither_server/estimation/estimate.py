"""Estimate frequencies from a tally: unbiased, with standard errors and intervals. Only this module debiases."""

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
"""The largest number below 1: the confidence of one interval is at most this, even for millions of strings together."""


@dataclass(frozen=True)
class Unlisted:
    """The share of people whose string is none of the candidates; its interval lies in [0, 1], and is never a point."""

    frequency: float
    standard_error: float
    low: float
    high: float

    @classmethod
    def of(cls, frequency: float, error: float, confidence: float) -> Self | None:
        """Return the share with its ``normal_interval``; None if the error alone makes that ``too_wide``.

        The width is that of an interval far from 0 and 1, which hardly depends on the estimate. If the interval itself
        were judged, few reports would yield a result only if the estimate is near 0 or 1, and most of these would miss.
        """
        margin = -NormalDist().inv_cdf((1 - confidence) / 2) * error
        if too_wide(-margin, margin):  # also of an infinite error
            return None
        low, high = normal_interval(np.array([frequency]), np.array([error]), confidence)
        return cls(frequency, error, low.item(), high.item())


@dataclass(frozen=True)
class Estimate:
    """Frequencies of ``labels``, column by column (each array has one entry per label).

    - ``frequency``: raw and unbiased, so it may lie below 0 or above 1; ``count`` is the frequency times the number of
      reports;
    - ``noise_error``, ``noise_low``, ``noise_high``: standard error and interval of the share among those who reported,
      from the noise alone; the ends are NaN if there is no such interval (``where_normal``);
    - ``standard_error``, ``low``, ``high``: standard error and interval of the share in the population, of which those
      who reported are a random sample: from noise and sampling, valid even if each person reported in as many periods
      as possible (``Repeats``);
    - ``consistent``: biased estimates in [0, 1] that sum to 1 (candidate strings: to at most 1; sets: to any number);
    - ``verdicts``: the verdict on the interval from ``low`` to ``high`` (``intervals.score.verdicts``);
    - ``found``: whether each candidate string is found, at the stated false discovery rate (``Fit``); a string with the
      verdict "too-few" is not found; None if values are listed, or the mechanism does not select;
    - ``unlisted``: the share of people whose string is no candidate, if the domain is open and it can be estimated;
    - ``repeats``: the design effect of the reports, by which errors and intervals allow for several reports per person.

    Intervals lie in [0, 1] and hold with ``confidence``: each by itself or, by the rule named in ``simultaneous``, all
    together. With no reports, or too few to be ``informative``, every number is NaN and every interval is [0, 1].
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
        """The approximate size in bytes: eight columns of numbers, verdicts and ``found``."""
        return 73 * len(self.labels)

    @property
    def count(self) -> Floats:
        """The estimated number of reports of each value: the frequency times the number of reports."""
        return self.frequency * self.reports


def estimate(
    mechanism: Mechanism, labels: tuple[str, ...], tally: Tally, confidence: float = 0.95, *, simultaneous: bool = False
) -> Estimate:
    """Return the frequencies of ``labels`` (the domain's, or candidate strings of an open domain).

    If ``simultaneous``, all intervals hold together with ``confidence``, and are therefore wider. Raises ParameterError
    if no interval has that confidence, or if the labels do not fit the mechanism.
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
    columns, consistent = Columns.of_nothing(len(labels)), np.full(len(labels), np.nan)
    if tally.total and informative(_error_of_none(mechanism, tally.total, tally.repeats.effect), alpha):
        if fits:
            columns, consistent, found, unlisted = _fitted(mechanism, labels, tally, alpha)
        else:
            columns, consistent = _supported(mechanism, labels, tally, alpha)
    judged = verdicts(columns.low, columns.high)
    if found is not None:
        found &= np.array([verdict != "too-few" for verdict in judged])
    effect = tally.repeats.effect
    return Estimate(labels, tally.total, confidence, rule, *columns, consistent, judged, found, unlisted, effect)


def _error_of_none(mechanism: Mechanism, reports: Floats | int, repeats: float) -> Floats:
    """Return the standard error at a share of 0 for ``reports`` of all cohorts with design effect ``repeats``."""
    again = noise_law(mechanism, repeats).constant / noise_law(mechanism).constant
    return np.sqrt(mechanism.variance(0.0) * again / (mechanism.fitted_cells * np.maximum(reports, 1)))


class Debiased(NamedTuple):
    """Unbiased frequencies: ``supporting[v]`` of ``trials[v]`` reports support value v."""

    frequency: Floats
    supporting: Counts
    trials: Counts


def debiased(mechanism: Mechanism, labels: tuple[str, ...], tally: Tally) -> Debiased:
    """Return f = (C/n - q)/(p - q) of each label, for any pure mechanism (Wang et al. 2017, equation 1)."""
    supporting, trials = support(mechanism, tally, labels)
    p, q = float(mechanism.p), float(mechanism.q)
    return Debiased((supporting / np.maximum(trials, 1) - q) / (p - q), supporting, trials)


class Columns(NamedTuple):
    """Shares with their errors and intervals, as in ``Estimate``; one entry per value or group of values."""

    frequency: Floats
    noise_error: Floats
    noise_low: Floats
    noise_high: Floats
    standard_error: Floats
    low: Floats
    high: Floats

    @classmethod
    def of_nothing(cls, shares: int) -> Self:
        """Return the columns for no reports: every number is NaN and every interval [0, 1]."""
        unknown, zeros, ones = np.full(shares, np.nan), np.zeros(shares), np.ones(shares)
        return cls(unknown, unknown, zeros, ones, unknown, zeros, ones)

    def where(self, known: Booleans) -> "Columns":
        """Return these columns where ``known`` is true, and elsewhere the values for no reports."""
        nothing = Columns.of_nothing(len(known))
        return Columns(*(np.where(known, column, none) for column, none in zip(self, nothing, strict=True)))


def _supported(mechanism: Mechanism, labels: tuple[str, ...], tally: Tally, alpha: float) -> tuple[Columns, Floats]:
    """Return the columns of an estimate from support counts, and the consistent shares.

    The support in a sketch is not exactly binomial, because its hash functions collide; its intervals are score
    intervals.
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
        # Never narrower than the exact interval for distinct people: few people share a value that nobody has.
        low, high = share_interval(mechanism, frequency, trials, alpha, bias, cube, repeats, sampled=True)
        ends = np.minimum(ends[0], low), np.maximum(ends[1], high)
    columns = Columns(
        frequency,
        noise.error(share, trials, bias),
        *share_interval(mechanism, frequency, trials, alpha, bias, cube, repeats, sampled=False),
        noise.sampled().error(share, trials, bias),
        *ends,
    )
    error_of_none = _error_of_none(mechanism, trials / float(mechanism.coverage), repeats)
    known = informative(error_of_none, alpha) & (trials > 0)
    sets, partial = mechanism.items.sets, mechanism.items.sets or mechanism.items.open
    consistent = onto_sums(frequency, 0 if partial else 1, len(labels) if sets else 1)
    return columns.where(known), np.where(known, consistent, np.nan)


def _fitted(
    mechanism: Mechanism, labels: tuple[str, ...], tally: Tally, alpha: float
) -> tuple[Columns, Floats, Booleans, Unlisted | None]:
    """Fit candidate strings; return the columns, the consistent shares, which are found, and the unlisted share.

    The fit's error includes noise and sampling. Sampling adds f(1-f)/n to the variance of any unbiased estimate, once
    per person; the rest is the noise. A string that is not found has the error of a string that nobody holds, so this
    difference may be 0 or less; then the noise is that of a string that nobody holds.
    """
    confidence = min(1 - alpha, _SUREST)
    fit, repeats = decoder_of(mechanism).fit(mechanism, labels, tally, confidence), tally.repeats.effect
    if not mechanism.pure:  # the scatter between cohorts misses some of what people repeat
        fit = fit.of_people((repeats - 1) / tally.total)
    share = np.clip(fit.frequency, 0, 1)
    people = noise_law(mechanism, repeats).people
    left = fit.standard_error**2 - people * share * (1 - share) / tally.total
    noise = np.sqrt(np.where(left > 0, left, mechanism.variance() / (mechanism.fitted_cells * tally.total)))
    ends = normal_interval(fit.frequency, noise, confidence)
    columns = Columns(fit.frequency, noise, *ends, fit.standard_error, fit.low, fit.high)
    few = mechanism.pure and not nearly_normal(mechanism, tally.total, repeats)
    if mechanism.pure and (few or repeats > 1):
        # The error at an estimate ignores what few reports, or reports of few people, may have missed.
        trials = np.full(len(labels), float(tally.total))
        low, high = share_interval(mechanism, fit.frequency, trials, alpha, repeats=repeats, sampled=True)
        columns = columns._replace(low=np.fmin(fit.low, low), high=np.fmax(fit.high, high))
    if few:
        none = np.full(len(labels), np.nan)
        return columns._replace(noise_low=none, noise_high=none), fit.consistent, fit.found, None
    return columns, fit.consistent, fit.found, Unlisted.of(fit.unlisted, fit.unlisted_error, confidence)


def collision_bias(mechanism: Mechanism, tally: Tally, frequency: Floats) -> tuple[Floats, Floats]:
    """Return the standard deviation and third central moment of each value's bias over random hash functions.

    Another value u collides in a share Bin(M, 1/m)/M of the cohorts, and adds f_u m/(m-1) times the deviation of that
    share from its mean. So the variances add up to Σ f_u² times ``collision_variance``, the third moments to Σ f_u³
    times ``collision_cube``. For values that are not listed, Σ f² is estimated, and Σ f³ is at most its power 3/2.
    """
    squares, shares = concentration(mechanism, tally), np.clip(frequency, 0, 1)
    beyond = max(squares - float(np.square(shares).sum()), 0.0)
    cubes = float((shares**3).sum()) + beyond**1.5 - shares**3
    error = np.sqrt(np.maximum(squares - shares**2, 0) * mechanism.collision_variance)
    return error, cubes * mechanism.collision_cube


def concentration(mechanism: Mechanism, tally: Tally) -> float:
    """Return an estimate of Σ f² over all strings, listed or not; 1 if it cannot be estimated from the tally.

    A report adds r_j to the estimated number of users of column j. Over pairs of reports of one cohort the mean of Σ_j
    r_j r'_j is Σ_j x_j², which is Σ f² + (1 - Σ f²)/m over the hash functions; sums over pairs follow from the sums.
    """
    pairs = float((tally.reports.astype(np.float64) * (tally.reports - 1)).sum())
    if not pairs:
        return 1.0
    users, squares = decoder_of(mechanism).loads(mechanism, tally)
    met: float = (float(np.square(users).sum()) - squares) / pairs
    chance: float = 1 / users.shape[1]
    return min(1.0, max(0.0, (met - chance) / (1 - chance)))
