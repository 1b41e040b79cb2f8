"""The mean of a numeric question, its errors and intervals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...tally.tally import Tally
from ..confidence import require_confidence
from ..intervals.shares import normal_interval
from .laws.law import NumericLaw

__all__ = ["Mean", "combined", "mean_of"]


@dataclass(frozen=True)
class Mean:
    """A mean in parts of the range: 0 where all answers are at its low end, 1 at its high end.

    - ``estimate``: unbiased, so it may lie beyond 0 or 1; ``reports``: how many it is of;
    - ``noise_error``, ``noise_low``, ``noise_high``: standard error and interval from the noise alone: how far the mean
      of those who reported may be;
    - ``standard_error``, ``low``, ``high``: from the noise and from who happened to report: how far the mean of the
      population may be of which they are a random sample;
    - ``shared``: the part of ``standard_error``² that stays if the same people report again, or more: of who they are.

    Intervals are at ``confidence``, normal and in [0, 1]. Of no reports every other number is NaN.
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


def mean_of(law: NumericLaw, tally: Tally, confidence: float = 0.95) -> Mean:
    """Return the mean: the average score.

    Its error is that of the sample variance of the scores, and never less than that of the noise, which few reports
    may hide: to them one report is added that is as far from the mean as the worst on average are. So a single report
    has the worst error that there can be. Raises ParameterError if no interval can be made at that confidence.
    """
    require_confidence(confidence)
    if not tally.total:
        return _unknown(confidence)
    scores = law.scores(tally)
    noise = law.noise_variance(tally)
    variance = max((scores.squares + law.worst_variance + 1 / 4) / tally.total, noise)
    shared = max(variance - law.least_noise_variance(tally), 0.0)
    return _with_intervals(scores.mean, noise, variance, shared, tally.total, confidence)


def combined(means: Sequence[Mean], confidence: float = 0.95) -> Mean:
    """Return the mean that weighs independent estimates of one mean by the inverse of their variances.

    Variances are hardly correlated with means, so this is unbiased to a small part of its error. Those of no reports
    have no part in it. Raises ParameterError if no interval can be made at that confidence.
    """
    require_confidence(confidence)
    known = [one for one in means if one.reports]
    if not known:
        return _unknown(confidence)
    weights = np.array([one.standard_error**-2 for one in known])
    weights /= weights.sum()
    reports = sum(one.reports for one in known)
    parts = np.array([(one.noise_error**2, one.standard_error**2, one.shared) for one in known])
    noise, variance, shared = (weights**2 @ parts * reports).tolist()
    estimate = float(weights @ [one.estimate for one in known])
    return _with_intervals(estimate, noise, variance, shared, reports, confidence)


def _with_intervals(
    estimate: float, noise: float, variance: float, shared: float, reports: int, confidence: float
) -> Mean:
    """Return a mean, given the variances of one report."""
    ends = []
    errors = [math.sqrt(noise / reports), math.sqrt(variance / reports)]
    for error in errors:
        low, high = normal_interval(np.array([estimate]), np.array([error]), confidence)
        ends.append((float(low[0]), float(high[0])))
    return Mean(reports, confidence, estimate, errors[0], *ends[0], errors[1], *ends[1], shared / reports)


def _unknown(confidence: float) -> Mean:
    nan = math.nan
    return Mean(0, confidence, nan, nan, 0.0, 1.0, nan, 0.0, 1.0, nan)
