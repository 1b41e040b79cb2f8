"""The course of a number over days or weeks: its mean, which is tested for a drift, its median and 95th percentile."""

from collections.abc import Generator, Iterable, Sequence
from typing import Any

import numpy as np

from dither_shared import Metric

from ....analysis.columns import Table, finite
from ....analysis.contrasts import contrasts, together, worst_variance
from ....analysis.multiple_testing import two_sided
from ....analysis.repeated_reports import periods_of
from ....analysis.trend import LEAST_REPORTS, Step, TrendStep
from ....estimation.numeric.estimate import NumericEstimate
from .scale import Scale

__all__ = ["trend_steps"]


_TESTS = ("slope", "slope_error", "p_value")

_SHARES = {"p50": 0.5, "p95": 0.95}

_NOTE = (
    "the mean is tested, in logarithms on a log scale, with the largest variance that the same people reporting again "
    "can give it; quantiles are shown with their intervals and not tested"
)


def trend_steps(
    metric: Metric, steps: Iterable[TrendStep[NumericEstimate]], confidence: float
) -> Generator[None, None, Table]:
    """Make the course in short steps: rows of mean, p50 and p95, each with a point a step."""
    scale, taken = Scale.of(metric), []
    for step in steps:
        taken.append(step)
        yield
    about = {
        "metric": metric.name,
        "version": metric.version,
        "confidence": confidence,
        "correction": "none",
        "slope_unit": f"{'logarithm' if scale.log else scale.unit or 'unit'} per day",
        "note": _NOTE,
        "steps": [_shown(step) for step in taken],
    }
    points = [_points(scale, step) for step in taken]
    tests = [_tested(metric, scale, [step for step in taken if _enough(step)]), *([np.nan] * 3 for _ in _SHARES)]
    columns: dict[str, Any] = {"value": ["mean", *_SHARES]}
    columns |= {name: [finite(row[place]) for row in tests] for place, name in enumerate(_TESTS)}
    columns |= {"adjusted": columns["p_value"], "drift": [bool(row[2] < 1 - confidence) for row in tests]}
    return Table(about, columns | {"points": [list(course) for course in zip(*points, strict=True)] or [[], [], []]})


def _enough(step: TrendStep[NumericEstimate]) -> bool:
    return step.estimate.reports >= LEAST_REPORTS


def _shown(step: TrendStep[NumericEstimate]) -> Step:
    return Step(
        since=step.since.isoformat(),
        until=step.until.isoformat(),
        reports=step.estimate.reports,
        tested=_enough(step),
    )


def _points(scale: Scale, step: TrendStep[NumericEstimate]) -> list[dict[str, float | None]]:
    """Return the points of the mean and of the quantiles; that of a quantile has no error."""
    found = step.estimate
    mean = scale.mean(found.mean, memoised=False, periods=1)
    quantiles = [scale.quantile(one, found.reports) for one in found.quantiles(tuple(_SHARES.values()))]
    return [
        {
            "frequency": one["value"],
            "standard_error": one.get("standard_error"),
            "low": one["low"],
            "high": one["high"],
        }
        for one in (mean, *quantiles)
    ]


def _tested(
    metric: Metric, scale: Scale, steps: Sequence[TrendStep[NumericEstimate]]
) -> tuple[float, float, float] | list[float]:
    """Return the slope, its error, and the p-value of no change, over the slope and every step against the others."""
    if len(steps) < 2:
        return [np.nan] * 3
    means = [step.estimate.mean for step in steps]
    variance = np.array([(scale.width * mean.standard_error) ** 2 for mean in means])
    noise = np.array([(scale.width * mean.noise_error) ** 2 for mean in means])
    shared = variance if metric.mechanism.memoised else np.maximum(variance - noise, 0)
    days = np.array([(step.since.toordinal() + step.until.toordinal()) / 2 for step in steps])
    periods = np.array([float(periods_of(metric, step.since, step.until)) for step in steps])
    weights = contrasts(days, np.array([float(mean.reports) for mean in means]))
    found = weights @ [scale.coordinate(mean.estimate) for mean in means]
    columns = (variance[:, np.newaxis], shared[:, np.newaxis], periods[:, np.newaxis])
    errors = np.sqrt(worst_variance(weights, *columns)[:, 0])
    p_values = together(two_sided(found / errors)[:, np.newaxis])
    return float(found[0]), float(errors[0]), float(p_values[0])
