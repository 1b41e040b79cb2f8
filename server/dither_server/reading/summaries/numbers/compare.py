"""Whether a number differs between two surveys: their means, medians and 95th percentiles."""

import math
from statistics import NormalDist
from typing import Any

from dither_shared import ParameterError

from ....analysis.answers import beside
from ....analysis.columns import Table, finite
from ....analysis.compare import POWER, Side, side_of
from ....analysis.repeated_reports import periods_of
from ....estimation.numeric.differences import each_side, quantile_difference
from ....estimation.numeric.estimate import NumericEstimate
from ...query import Comparison
from ..summary import Estimator, Survey
from .scale import Scale, repeat_error

__all__ = ["QUANTILES_COMPARED", "compared"]

QUANTILES_COMPARED = (0.5, 0.95)
"""Few, for each that is looked at takes its part of the error probability."""

_STATISTICS = 1 + len(QUANTILES_COMPARED)

_NOTE = (
    "the error of the mean is as if the same people had reported in every period of a side; an interval of quantiles "
    "reaches as far as those of both sides allow, and holds whoever reported on both"
)


def compared(sides: tuple[Survey, Survey], query: Comparison, estimator: Estimator) -> Table:
    """Compare two surveys of a number in one unit and on one kind of scale.

    The difference of geometric means is told as a number of the unit, and tested in logarithms. ``changed`` is told of
    a statistic by Bonferroni's method over all of them. Raises ParameterError for scales that are not alike.
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


def _means(sides: tuple[Survey, Survey], query: Comparison, estimator: Estimator, level: float) -> dict[str, Any]:
    """Return the row of the means; ``change`` is that of a part of the first side's range."""
    normal, scale = NormalDist(), Scale.of(sides[0].metric)
    told, away, variance, parts = [], [], 0.0, 0.0
    for side in sides:
        own, mean = Scale.of(side.metric), _estimate(side, query.confidence, estimator).mean
        told.append(own.value(mean.estimate))
        away.append(own.coordinate(mean.estimate))
        error = repeat_error(mean, side.metric.mechanism.memoised, periods_of(side.metric, *side.days))
        variance += (own.width * error) ** 2
        parts += side.tally.total * (own.width / scale.width * error) ** 2
    error, gap = math.sqrt(variance), away[1] - away[0]
    margin = normal.inv_cdf((1 + query.confidence) / 2) * error
    ends = [gap - margin, gap + margin]
    if scale.log:  # a difference of logarithms is a ratio, which is told as a difference from the first mean
        ends = [told[0] * math.expm1(end) for end in ends]
    p_value = 2 * normal.cdf(-abs(gap) / error) if error > 0 else math.nan
    changed = p_value < level  # NaN compares false
    needed = parts * ((normal.inv_cdf(POWER) - normal.inv_cdf(level / 2)) / query.change) ** 2
    return {
        "value": "mean",
        "first": finite(told[0]),
        "second": finite(told[1]),
        "difference": finite(told[1] - told[0]),
        "standard_error": finite(error * (told[0] if scale.log else 1)),
        "low": finite(ends[0]),
        "high": finite(ends[1]),
        "p_value": finite(p_value),
        "adjusted": finite(min(1.0, p_value * _STATISTICS)),
        "changed": changed,
        "reports_needed": None if changed or not math.isfinite(needed) else math.ceil(needed),
    }


def _quantiles(
    sides: tuple[Survey, Survey], share: float, confidence: float, estimator: Estimator, level: float
) -> dict[str, Any]:
    """Return the row of one quantile: its interval at the confidence, ``changed`` by that at the corrected level."""
    wide, surer = (
        quantile_difference(*(_quantile(side, share, each_side(one), estimator) for side in sides))
        for one in (confidence, 1 - level)
    )
    first, second = (_quantile(side, share, each_side(confidence), estimator)[0] for side in sides)
    return {
        "value": f"p{100 * share:g}",
        "first": finite(first),
        "second": finite(second),
        "difference": finite(wide.difference),
        "standard_error": None,
        "low": finite(wide.low),
        "high": finite(wide.high),
        "p_value": None,
        "adjusted": None,
        "changed": surer.low > 0 or surer.high < 0,
        "reports_needed": None,
    }


def _quantile(side: Survey, share: float, confidence: float, estimator: Estimator) -> tuple[float, float, float]:
    found = _estimate(side, confidence, estimator)
    (one,) = found.quantiles((share,))
    told = Scale.of(side.metric).quantile(one, found.reports)
    return math.nan if told["value"] is None else told["value"], told["low"], told["high"]


def _estimate(side: Survey, confidence: float, estimator: Estimator) -> NumericEstimate:
    found: NumericEstimate = estimator(side.metric, (), side.tally, confidence, False)
    return found
