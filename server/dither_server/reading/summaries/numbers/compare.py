"""Whether a number differs between two surveys: their means, medians and 95th percentiles."""

import math
from statistics import NormalDist
from typing import Any, NamedTuple

from dither_shared import ParameterError

from ....analysis.answers import beside
from ....analysis.columns import Table, finite
from ....analysis.compare import POWER, Side, side_of
from ....analysis.repeated_reports import periods_of
from ....analysis.trend import LEAST_REPORTS
from ....estimation.numeric.estimate import NumericEstimate
from ....estimation.numeric.mean import each_side, quantile_difference
from ...query import Comparison
from ..summary import Estimator, Survey
from .scale import Scale, repeat_error

__all__ = ["QUANTILES_COMPARED", "compared"]

QUANTILES_COMPARED = (0.5, 0.95)
"""Few, for each that is looked at takes its part of the error probability."""

_STATISTICS = 1 + len(QUANTILES_COMPARED)

_NOTE = (
    "the error of the mean is as if the same people had reported in every period of a side; an interval of quantiles "
    "reaches as far as those of both sides allow, and holds whoever reported on both; means are not tested if the "
    "sides have different ranges, which cut off different answers, or if one has too few reports"
)


def compared(sides: tuple[Survey, Survey], query: Comparison, estimator: Estimator) -> Table:
    """Compare two surveys of a number in one unit and on one kind of scale.

    The difference of geometric means is told as a number of the unit, and tested in logarithms. ``changed`` is told of
    a statistic by Bonferroni's method over all of them. Raises ParameterError for other units or kinds of scale.
    """
    first, second = (Scale.of(side.metric) for side in sides)
    if (first.unit, first.log) != (second.unit, second.log):
        raise ParameterError("other", "the two are in other units, or only one is on a log scale")
    level = (1 - query.confidence) / _STATISTICS
    rows = [
        _means(sides, query, estimator, level),
        *(_quantiles(sides, share, query.confidence, estimator, level) for share in QUANTILES_COMPARED),
    ]
    about = {
        "sides": [_side(side, query.confidence) for side in sides],
        "confidence": query.confidence,
        "correction": "bonferroni",
        "change": query.change,
        "power": POWER,
        "note": _NOTE,
    }
    return Table(about, {name: [row[name] for row in rows] for name in rows[0]})


def _side(side: Survey, confidence: float) -> Side:
    return side_of(beside(side.metric, side.tally.total, side.days, confidence, side.refused))


class _SideMean(NamedTuple):
    """A side's mean: its place in the ``coordinate`` in which means are taken, with its error, and the number there."""

    coordinate: float
    error: float
    value: float
    value_error: float
    low: float
    high: float
    spread: float
    """Reports times the square of the error, in parts of the range."""


def _side_mean(side: Survey, confidence: float, estimator: Estimator) -> _SideMean:
    scale, mean = Scale.of(side.metric), _estimate(side, confidence, estimator).mean
    error = repeat_error(mean, side.metric.mechanism.memoised, periods_of(side.metric, *side.days))
    margin = NormalDist().inv_cdf((1 + confidence) / 2) * error
    return _SideMean(
        scale.coordinate(mean.estimate),
        scale.width * error,
        scale.value(mean.estimate),
        scale.error(error, mean.estimate),
        scale.value(mean.estimate - margin),
        scale.value(mean.estimate + margin),
        mean.reports * error**2,
    )


def _means(sides: tuple[Survey, Survey], query: Comparison, estimator: Estimator, level: float) -> dict[str, Any]:
    """Return the row of the means; ``change`` is that of a part of the range.

    The interval is made of both sides' own (Zou and Donner 2008, "MOVER"), so it holds for geometric means, too; for
    arithmetic ones it is the usual one. What two ranges cut off differs, so their means are not tested; nor are those
    of few reports, of which a mean is not normal.
    """
    normal = NormalDist()
    first, second = (_side_mean(side, query.confidence, estimator) for side in sides)
    difference = second.value - first.value
    one, other = (Scale.of(side.metric) for side in sides)
    least, most = other.low - one.high, other.high - one.low
    below = math.hypot(second.value - second.low, first.high - first.value)
    above = math.hypot(second.high - second.value, first.value - first.low)
    low, high = (min(max(end, least), most) for end in (difference - below, difference + above))
    alike = (one.low, one.high) == (other.low, other.high)
    tested = alike and min(side.tally.total for side in sides) >= LEAST_REPORTS
    error = math.hypot(first.error, second.error) if tested else math.nan
    p_value = 2 * normal.cdf(-abs(second.coordinate - first.coordinate) / error) if error > 0 else math.nan
    changed = p_value < level  # NaN compares false
    reach = (normal.inv_cdf(POWER) - normal.inv_cdf(level / 2)) / query.change
    needed = (first.spread + second.spread) * reach**2 if alike else math.nan
    return {
        "value": "mean",
        "first": finite(first.value),
        "second": finite(second.value),
        "difference": finite(difference),
        "standard_error": finite(math.hypot(first.value_error, second.value_error)),
        "low": finite(low),
        "high": finite(high),
        "p_value": finite(p_value),
        "adjusted": finite(min(p_value * _STATISTICS, 1.0)),  # NaN stays
        "changed": changed,
        "reports_needed": None if changed or not math.isfinite(needed) else math.ceil(needed),
    }


def _quantiles(
    sides: tuple[Survey, Survey], share: float, confidence: float, estimator: Estimator, level: float
) -> dict[str, Any]:
    """Return the row of one quantile: its interval at the confidence, ``changed`` by that at the corrected level."""
    scales = [Scale.of(side.metric) for side in sides]
    ends = min(scale.low for scale in scales), max(scale.high for scale in scales)
    found, surer = (
        [_quantile(side, share, each_side(one), estimator, ends) for side in sides] for one in (confidence, 1 - level)
    )
    wide, sure = quantile_difference(*found), quantile_difference(*surer)
    return {
        "value": f"p{100 * share:g}",
        "first": finite(found[0][0]),
        "second": finite(found[1][0]),
        "difference": finite(wide.difference),
        "standard_error": None,
        "low": finite(wide.low),
        "high": finite(wide.high),
        "p_value": None,
        "adjusted": None,
        "changed": sure.low > 0 or sure.high < 0,
        "reports_needed": None,
    }


def _quantile(
    side: Survey, share: float, confidence: float, estimator: Estimator, ends: tuple[float, float]
) -> tuple[float, float, float]:
    """Return a quantile and its interval; one that reaches an end of its range may lie at that of both ranges."""
    found, scale = _estimate(side, confidence, estimator), Scale.of(side.metric)
    (one,) = found.quantiles((share,))
    told = scale.quantile(one, found.reports)
    low = ends[0] if told["low"] <= scale.low else told["low"]
    high = ends[1] if told["high"] >= scale.high else told["high"]
    return math.nan if told["value"] is None else told["value"], low, high


def _estimate(side: Survey, confidence: float, estimator: Estimator) -> NumericEstimate:
    found: NumericEstimate = estimator(side.metric, (), side.tally, confidence, False)
    return found
