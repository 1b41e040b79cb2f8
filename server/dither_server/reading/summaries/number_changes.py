"""Changes of a number: its mean, median and 95th percentile between two surveys, and over days or weeks."""

import math
from collections.abc import Iterable, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from dither_shared import Metric, ParameterError

from ...analysis.columns import Table, finite, from_rows, names_of
from ...analysis.combine import COMBINED
from ...analysis.compare import COMPARED, POWER, side_of
from ...analysis.spread import two_sided
from ...analysis.trend import LEAST_REPORTS, POINT, TrendStep, contrasts, step_fields, together, worst_variance
from ...estimation.numeric.estimate import NumericEstimate
from ...estimation.numeric.mean import combined, each_side, quantile_difference
from ..query import Comparison
from .number_scale import Scale
from .summary import CollectedReports

_QUANTILES = {"p50": 0.5, "p95": 0.95}
"""The quantiles that are compared: few, because each takes its part of the error probability."""

_STATISTICS = 1 + len(_QUANTILES)
_TESTS = ("slope", "slope_error", "p_value")

_COMPARE_NOTE = (
    "the error of the mean allows for people who reported in every period of a side; an interval of quantiles "
    "reaches as far as those of both sides allow, and holds even if the same people reported on both; means are not "
    "tested if the "
    "sides have different ranges, which cut off different answers, or if one has too few reports"
)
_TREND_NOTE = (
    "the mean is tested, in logarithms on a log scale, with the largest variance that the same people reporting again "
    "can give it; quantiles are shown with their intervals and not tested"
)


def compared(sides: tuple[CollectedReports, CollectedReports], query: Comparison) -> Table:
    """Compare two surveys of a number in one unit and on one kind of scale.

    The difference of geometric means is given in the unit, and tested in logarithms. ``changed`` follows from
    Bonferroni's method over all statistics. Raises ParameterError for other units or kinds of scale.
    """
    first, second = (Scale.of(side.metric) for side in sides)
    if (first.unit, first.log) != (second.unit, second.log):
        raise ParameterError("other", "the two have different units, or only one is on a log scale")
    level = (1 - query.confidence) / _STATISTICS
    rows = [
        _means(sides, query, level),
        *(_quantiles(sides, name, query.confidence, level) for name in _QUANTILES),
    ]
    about = {
        "sides": [side_of(side.metadata(query.confidence)) for side in sides],
        "confidence": query.confidence,
        "correction": "bonferroni",
        "change": query.change,
        "power": POWER,
        "note": _COMPARE_NOTE,
    }
    return from_rows(about, rows, COMPARED)


def combined_means(name: str, surveys: Sequence[CollectedReports], confidence: float) -> Table:
    """Return the mean over several versions of one range, weighed by the inverse of their variances.

    People who reported under two versions have their answers in common, at most as often as the reports of each period
    allow. Two permanent draws differ, but their covariance is taken to be as large.
    """
    found = [(one, _estimate(one, confidence).mean) for one in surveys]
    known, means = [one for one, mean in found if mean.reports], [mean for _, mean in found if mean.reports]
    people = [mean.shared * mean.reports / one.tally.repeats.effect for mean, one in zip(means, known, strict=True)]
    overlaps = np.array([[one.tally.repeats.overlap(other.tally.repeats) for other in known] for one in known])
    covariance = overlaps.reshape(len(known), len(known)) * np.sqrt(np.outer(people, people))
    np.fill_diagonal(covariance, 0.0)
    mean = combined(means, confidence, covariance)
    scales = [Scale.of(one.metric) for one in known[:1]]
    rows = [
        {**scale.mean(mean), "frequency": finite(scale.value(mean.estimate)), "value": scale.mean_name}
        for scale in scales
    ]
    about = {
        "metric": name,
        "versions": [one.metric.version for one in known],
        "reports": sum(one.tally.total for one in known),
        "confidence": confidence,
    }
    return from_rows(about, rows, COMBINED)


class _SideMean(NamedTuple):
    """A side's mean in the ``coordinate`` in which means are taken, and as a number, each with its error."""

    coordinate: float
    error: float
    value: float
    value_error: float
    low: float
    high: float
    spread: float
    """Reports times the square of the error, in parts of the range."""


def _side_mean(side: CollectedReports, confidence: float) -> _SideMean:
    scale, mean = Scale.of(side.metric), _estimate(side, confidence).mean
    error = mean.standard_error
    margin = NormalDist().inv_cdf((1 + confidence) / 2) * error
    return _SideMean(
        scale.coordinate(mean.estimate),
        scale.width * error,
        scale.value(mean.estimate),
        scale.error(error),
        scale.value(mean.estimate - margin),
        scale.value(mean.estimate + margin),
        mean.reports * error**2,
    )


def _means(sides: tuple[CollectedReports, CollectedReports], query: Comparison, level: float) -> dict[str, Any]:
    """Return the row of the means; the change to be seen is a part of the range.

    The interval combines those of both sides (Zou and Donner 2008, "MOVER"), so it holds for geometric means too; for
    arithmetic ones it is the usual one. Two ranges cut off different answers, so their means are not tested; nor are
    those of few reports, because their mean is not normal.
    """
    normal = NormalDist()
    first, second = (_side_mean(side, query.confidence) for side in sides)
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
    needed = (first.spread + second.spread) * (reach * reach) if alike else math.nan
    return {
        "value": one.mean_name,
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
    sides: tuple[CollectedReports, CollectedReports], name: str, confidence: float, level: float
) -> dict[str, Any]:
    """Return the row of one quantile: its interval at the confidence, and ``changed`` at the corrected level."""
    scales = [Scale.of(side.metric) for side in sides]
    ends = min(scale.low for scale in scales), max(scale.high for scale in scales)
    found, surer = (
        [_quantile(side, _QUANTILES[name], each_side(one), ends) for side in sides] for one in (confidence, 1 - level)
    )
    wide, sure = quantile_difference(*found), quantile_difference(*surer)
    return {
        "value": name,
        "first": finite(found[0][0]),
        "second": finite(found[1][0]),
        "difference": finite(wide.difference),
        "low": finite(wide.low),
        "high": finite(wide.high),
        "changed": sure.low > 0 or sure.high < 0,
    }


def _quantile(
    side: CollectedReports, share: float, confidence: float, ends: tuple[float, float]
) -> tuple[float, float, float]:
    """Return a quantile and its interval. One that reaches an end of its range may lie at the end of either range."""
    found, scale = _estimate(side, confidence), Scale.of(side.metric)
    (one,) = found.quantiles((share,))
    quantile = scale.quantile(one, found.mean.reports)
    low = ends[0] if quantile["low"] <= scale.low else quantile["low"]
    high = ends[1] if quantile["high"] >= scale.high else quantile["high"]
    return math.nan if quantile["value"] is None else quantile["value"], low, high


def _estimate(side: CollectedReports, confidence: float) -> NumericEstimate:
    found: NumericEstimate = side.estimate(confidence)
    return found


def trend(metric: Metric, steps: Iterable[TrendStep[NumericEstimate]], confidence: float) -> Table:
    """Return the trend: rows of the (geometric) mean, p50 and p95, each with one point per step."""
    scale, taken = Scale.of(metric), list(steps)
    about = {
        "metric": metric.name,
        "version": metric.version,
        "confidence": confidence,
        "correction": "none",
        "slope_unit": f"{'logarithm' if scale.log else scale.unit or 'unit'} per day",
        "note": _TREND_NOTE,
        "steps": [step_fields(step.since, step.until, step.estimate.reports, _enough(step)) for step in taken],
    }
    points = [_points(scale, step) for step in taken]
    tests = [_tested(scale, [step for step in taken if _enough(step)]), *([np.nan] * 3 for _ in _QUANTILES)]
    columns: dict[str, Any] = {"value": [scale.mean_name, *_QUANTILES]}
    columns |= {name: [finite(row[place]) for row in tests] for place, name in enumerate(_TESTS)}
    columns |= {"adjusted": columns["p_value"], "drift": [bool(row[2] < 1 - confidence) for row in tests]}
    return Table(about, columns | {"points": [list(row) for row in zip(*points, strict=True)] or [[], [], []]})


def _enough(step: TrendStep[NumericEstimate]) -> bool:
    return step.estimate.mean.reports >= LEAST_REPORTS


def _points(scale: Scale, step: TrendStep[NumericEstimate]) -> list[dict[str, float | None]]:
    """Return the points of the mean and of the quantiles, which have no standard error."""
    found = step.estimate
    mean = scale.mean(found.mean)
    quantiles = [scale.quantile(one, found.mean.reports) for one in found.quantiles(tuple(_QUANTILES.values()))]
    return [
        {name: one.get("value" if name == "frequency" else name) for name in names_of(POINT)}
        for one in (mean, *quantiles)
    ]


def _tested(scale: Scale, steps: Sequence[TrendStep[NumericEstimate]]) -> tuple[float, float, float] | list[float]:
    """Return the slope, its error, and the p-value of no change, over the slope and every step against the others.

    If nothing changes, what people do not share has the same variance per report in all steps. The mean one is used,
    because it is known better.
    """
    if len(steps) < 2:
        return [np.nan] * 3
    means = [step.estimate.mean for step in steps]
    reports = np.array([float(mean.reports) for mean in means])
    variance, shared = scale.width**2 * np.array([(mean.standard_error**2, mean.shared) for mean in means]).T
    variance = reports**2 @ np.maximum(variance - shared, 0) / reports.sum() / reports + shared
    days = np.array([(step.since.toordinal() + step.until.toordinal()) / 2 for step in steps])
    weights = contrasts(days, reports)
    found = weights @ [scale.coordinate(mean.estimate) for mean in means]
    errors = np.sqrt(worst_variance(weights, variance[:, np.newaxis], shared[:, np.newaxis])[:, 0])
    p_values = together(two_sided(found / errors)[:, np.newaxis])
    return float(found[0]), float(errors[0]), float(p_values[0])
