"""Whether a mean or a quantile differs between two periods or versions."""

import math
from statistics import NormalDist
from typing import NamedTuple

from ..confidence import require_confidence
from .mean import Mean

__all__ = ["Difference", "each_side", "mean_difference", "quantile_difference"]


class Difference(NamedTuple):
    """The second less the first, with its interval; the error is None where the interval is not made of one."""

    difference: float
    standard_error: float | None
    low: float
    high: float


def mean_difference(first: Mean, second: Mean, confidence: float = 0.95) -> Difference:
    """Return the difference of two independent means, in parts of the range; its interval is normal, in [-1, 1].

    People on both sides, and their permanent draws, make it surer than is said, unless they change their answers more
    often than not. Of a side without reports it is NaN, and the interval is all of [-1, 1]. Raises ParameterError if no
    interval can be made at that confidence.
    """
    require_confidence(confidence)
    if not (first.reports and second.reports):
        return Difference(math.nan, math.nan, -1.0, 1.0)
    difference = second.estimate - first.estimate
    error = math.hypot(first.standard_error, second.standard_error)
    margin = NormalDist().inv_cdf((1 + confidence) / 2) * error
    low, high = (min(max(difference + side * margin, -1.0), 1.0) for side in (-1, 1))
    return Difference(difference, error, low, high)


def each_side(confidence: float) -> float:
    """Return the confidence that two intervals need, for what both hold to be held together (Bonferroni)."""
    return 1 - (1 - require_confidence(confidence)) / 2


def quantile_difference(first: tuple[float, float, float], second: tuple[float, float, float]) -> Difference:
    """Return the difference of two quantiles, each given as its value and the ends of its interval, in one unit.

    The interval reaches from the least to the most that both intervals allow. It holds with confidence c if each of
    those does with ``each_side(c)``, also where the same people are on both sides.
    """
    return Difference(second[0] - first[0], None, second[1] - first[2], second[2] - first[1])
