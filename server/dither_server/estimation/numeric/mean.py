"""The mean of a numeric question with its errors and intervals, and differences of two means or two quantiles."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy

from ...tally.arrays import Counts, Floats
from ...tally.tally import Tally
from ..confidence import require_confidence
from ..intervals.score import LEAST_NOISE, Law, normal_interval, score_interval
from .law import NumericLaw


@dataclass(frozen=True)
class Mean:
    """A mean in parts of the range: 0 where all answers are at its low end, 1 at its high end.

    - ``estimate``: unbiased, so it may lie outside [0, 1]; ``reports``: the number of reports that it averages;
    - ``noise_error``, ``noise_low``, ``noise_high``: standard error and interval of the mean of those who reported,
      from the noise alone;
    - ``standard_error``, ``low``, ``high``: standard error and interval of the mean of the population, of which those
      who reported are a random sample: from noise and sampling, valid even if each person reported in as many periods
      as possible (``Repeats``);
    - ``shared``: the part of ``standard_error``² that stays if the same people report again, or an upper bound of it:
      the part from sampling and from permanent draws;
    - ``widest``: ``reports`` times the variance of the estimate for the answers with the largest noise; ``thinning`` is
      the design effect of repeated reports.

    Intervals are at ``confidence`` and in [0, 1]. The noise interval is normal, and NaN for ``few`` reports. The
    population interval is Student's. For few reports it is at least as wide as for answers at the ends of the range,
    which few reports may miss. Without reports every other number is NaN.
    """

    reports: int
    confidence: float
    estimate: float
    noise_error: float
    noise_low: float
    noise_high: float
    standard_error: float
    low: float
    high: float
    shared: float
    widest: Law

    @property
    def few(self) -> bool:
        """Whether there are too few reports for the noise to be nearly normal."""
        return math.isnan(self.noise_low)


def mean_of(law: NumericLaw, tally: Tally, confidence: float = 0.95) -> Mean:
    """Return the mean: the average score.

    Its error follows from the sample variance of the scores, and is never below that of the noise. Few reports may hide
    the noise, so a pseudo-report is added with the largest mean squared distance that any answer allows; a single
    report therefore has the largest possible error. The noise includes random rounding, at most a quarter of a squared
    step. Reports of one person share everything but the noise of a single report. Raises ParameterError if no interval
    has that confidence.
    """
    require_confidence(confidence)
    if not tally.total:
        return _unknown(confidence)
    scores = law.scores(tally)
    noise = law.noise_variance(tally) + 1 / (4 * (law.points - 1) ** 2)
    permanent = law.permanent_variance(tally)
    variance = max((scores.squares + law.worst_variance + 1 / 4) / tally.total, noise)
    shared = max(variance - law.least_noise_variance(tally), 0.0) + permanent
    total, repeats = tally.total, tally.repeats.effect
    noise, variance = noise + (repeats - 1) * permanent, variance + (repeats - 1) * shared
    parts = (noise / total, variance / total, repeats * shared / total)
    widest = Law(law.worst_variance + (repeats - 1) * permanent, 0.0, repeats)
    made = with_intervals(scores.mean, parts, total, confidence, widest, total)
    return made if law.worst_variance * total >= LEAST_NOISE * repeats else of_few(made, total)


def of_few(mean: Mean, trials: float) -> Mean:
    """Return a mean of few reports: no noise interval, and a population interval as for answers at the ends.

    No answers with mean μ have a larger variance than these, μ (1-μ). ``mean.widest`` is their law, of ``trials``
    reports.
    """
    low, high = score_interval(mean.widest, np.array([mean.estimate]), np.array([trials]), 1 - mean.confidence)
    return replace(
        mean,
        noise_low=math.nan,
        noise_high=math.nan,
        low=min(mean.low, low.item()),
        high=max(mean.high, high.item()),
    )


def combined(means: Sequence[Mean], confidence: float = 0.95, covariance: Floats | None = None) -> Mean:
    """Return the mean that weighs estimates of one mean by the inverse of their variances.

    They are independent or, with people in common, have that ``covariance``, of which the diagonal is 0.

    The variances for the weights are of the largest noise, and of the variance of answers that all have in common:
    estimated separately they would be least, and the weights largest, for few reports that happen to agree. Estimates
    without reports are left out. Raises ParameterError if no interval has that confidence.
    """
    require_confidence(confidence)
    known = [mean for mean in means if mean.reports]
    if not known:
        return _unknown(confidence)
    each = np.array([mean.reports for mean in known])
    constant, effect = np.array([(mean.widest.constant, mean.widest.thinning) for mean in known]).T
    answers = min(1 / 4, float(each**2 @ ([mean.shared for mean in known] / effect)) / each.sum())
    weights = each / (constant + effect * answers)
    weights /= weights.sum()
    parts = np.array([(mean.noise_error**2, mean.standard_error**2, mean.shared) for mean in known])
    noise, variance, shared = (weights**2 @ parts).tolist()
    if covariance is not None:
        variance += float(weights @ covariance @ weights)
    estimate, reports = float(weights @ [mean.estimate for mean in known]), int(each.sum())
    scaled = weights**2 / each * reports
    widest = Law(float(scaled @ constant), 0.0, float(scaled @ effect))
    made = with_intervals(estimate, (noise, variance, shared), reports, confidence, widest, reports)
    return of_few(made, reports) if all(mean.few for mean in known) else made


def with_intervals(
    estimate: float,
    variances: tuple[float, float, float],
    reports: int,
    confidence: float,
    widest: Law,
    trials: float,
) -> Mean:
    """Return a mean, given its variances from the noise and in all, and the shared part.

    ``widest`` is the law of the answers with the largest noise, of ``trials`` reports.
    """
    noise, variance, shared = variances
    errors = [math.sqrt(noise), math.sqrt(variance)]
    wider = np.array([errors[0], errors[1] * float(student(confidence, trials / float(widest.thinning)))])
    low, high = (ends.tolist() for ends in normal_interval(np.array([estimate]), wider, confidence))
    return Mean(reports, confidence, estimate, errors[0], low[0], high[0], errors[1], low[1], high[1], shared, widest)


def _unknown(confidence: float) -> Mean:
    nan = math.nan
    return Mean(0, confidence, nan, nan, 0.0, 1.0, nan, 0.0, 1.0, nan, Law(nan, 0.0, nan))


def student(confidence: float, people: Counts | float) -> Floats:
    """Return the factor by which an interval widens if its error is estimated from ``people`` people (Student 1908)."""
    tail = (1 + confidence) / 2
    return np.asarray(scipy.special.stdtrit(np.maximum(people - 1, 1.0), tail) / scipy.special.ndtri(tail))


class _Difference(NamedTuple):
    """The second minus the first, with its interval; the error is None if the interval does not follow from one."""

    difference: float
    standard_error: float | None
    low: float
    high: float


def each_side(confidence: float) -> float:
    """Return the confidence of each of two intervals such that both hold together with ``confidence`` (Bonferroni)."""
    return 1 - (1 - require_confidence(confidence)) / 2


def quantile_difference(first: tuple[float, float, float], second: tuple[float, float, float]) -> _Difference:
    """Return the difference of two quantiles, each given as its value and the ends of its interval, in the same unit.

    The interval reaches from the least to the greatest difference that both intervals allow. It holds with confidence c
    if each interval holds with ``each_side(c)``, even if the same people are on both sides.
    """
    return _Difference(second[0] - first[0], None, second[1] - first[2], second[2] - first[1])
