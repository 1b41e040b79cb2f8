"""A number's mean, quantiles and shares below points: what is estimated where a number is asked for."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from dither_shared import Metric, ParameterError

from ....analysis.answers import beside
from ....analysis.columns import Table, finite
from ....analysis.health import health
from ....analysis.poisoning import cut_shift
from ....analysis.repeated_reports import periods_of
from ....analysis.trend import TrendStep
from ....estimation.numeric.cuts import Share
from ....estimation.numeric.dithered import Dithered
from ....estimation.numeric.estimate import NumericEstimate, estimate_number
from ....estimation.numeric.quantiles import QUANTILES
from ....estimation.numeric.registry import law_of
from ....protocol.json_schema import Schema
from ....tally.arrays import Indices
from ....tally.tally import Tally
from ...query import Comparison, EstimateQuery, Query, TrendQuery
from ..summary import Estimator, Exhibit, Span, Steps, Summary, Survey, TextTable
from ..window import Look
from .compare import compared
from .page import NumberCourses, NumberExhibit, courses
from .rows import NumberRow, daily_row, flat
from .scale import Scale
from .schema import ESTIMATE
from .text import compared_text, estimate_text, trend_text
from .trend import trend_steps

__all__ = ["Numbers"]

_CUTS = 32
"""Into so many parts of one width (of one ratio, on log scales) the range is cut, if no points are asked for."""


class Numbers(Summary[NumericEstimate]):
    """The mean of a number, its quantiles, the shares of people below points, and the shares beyond both ends."""

    row: ClassVar[type] = NumberRow
    schema: ClassVar[Schema] = ESTIMATE
    daily: ClassVar[str | None] = "numbers"
    cheaper: ClassVar[str] = "give its mechanism a smaller resolution or fewer steps"

    def estimate(
        self, metric: Metric, labels: tuple[str, ...], tally: Tally, confidence: float, simultaneous: bool
    ) -> NumericEstimate:
        """Return the estimate in parts of the range and points of the grid."""
        return estimate_number(law_of(metric.mechanism), tally, confidence)

    def effort(self, metric: Metric) -> int:
        """Return what its law says."""
        return law_of(metric.mechanism).cost

    def table(
        self, survey: Survey, query: EstimateQuery, estimator: Estimator, candidates: tuple[str, ...] | None = None
    ) -> Table:
        """Return the mean, quantiles and shares; the rows are the shares, by ``at``."""
        asked = query if isinstance(query, Query) else Query(confidence=query.confidence)
        if candidates is not None:
            raise ParameterError("candidates", f"{survey.metric.name} asks for a number; candidates are for strings")
        if asked.simultaneous:
            raise ParameterError("simultaneous", "not for numbers: each of their intervals holds by itself")
        metric, scale = survey.metric, Scale.of(survey.metric)
        found: NumericEstimate = estimator(metric, (), survey.tally, asked.confidence, False)
        periods = periods_of(metric, *survey.days)
        about = {
            **beside(metric, found.reports, survey.days, asked.confidence, survey.refused),
            "health": health(metric.mechanism, (), survey.tally, periods),
            "poisoning": _poisoning(metric, scale, found, asked.forged),
            "unit": scale.unit,
            "scale": {"low": scale.low, "high": scale.high, "log": scale.log},
            "mean": {"kind": scale.mean_kind, **scale.mean(found.mean, metric.mechanism.memoised, periods)},
            "quantiles": [scale.quantile(one, found.reports) for one in found.quantiles(asked.quantile or QUANTILES)],
            "clipped": {side: _clipped(share) for side, share in zip(("low", "high"), found.at_ends(), strict=True)},
        }
        points = list(asked.at) or scale.evenly(_CUTS)
        shares = [found.below(scale.place(at)) for at in points]
        columns = ("share", "noise_error", "standard_error", "low", "high", "consistent")
        numbers = np.array(shares).reshape(len(shares), len(columns))  # of the coarsest grid there may be none
        return Table(about, {"at": points} | dict(zip(columns, numbers.T, strict=True)), rows_as="cdf")

    def flat(self, table: Table) -> Table:
        """Return a row for the mean, each quantile and each share."""
        return flat(table)

    def compare(self, sides: tuple[Survey, Survey], query: Comparison, estimator: Estimator) -> Table:
        """Return the differences of means, medians and 95th percentiles."""
        return compared(sides, query, estimator)

    def combine(self, name: str, surveys: Sequence[Survey], query: EstimateQuery, estimator: Estimator) -> Table:
        """Refuse: former versions are of other ranges or mechanisms, and their quantiles no mean of each other."""
        raise ParameterError("metric", f"{name} asks for a number; name a version, for versions are not combined")

    def trend(
        self,
        metric: Metric,
        count: int,
        steps: Iterable[TrendStep[NumericEstimate]],
        query: TrendQuery,
        places: Indices | None,
    ) -> Generator[None, None, Table]:
        """Make the course of mean, median and 95th percentile."""
        return (yield from trend_steps(metric, steps, query.confidence))

    def daily_rows(self, table: Table) -> list[dict[str, Any]]:
        """Return the mean, the median and the 95th percentile, with their intervals."""
        return [daily_row(table)]

    def exhibit(self, survey: Survey, query: Query, estimator: Estimator, look: Look) -> NumberExhibit:
        """Return the curve, the quantiles and the shape."""
        found: NumericEstimate = estimator(survey.metric, (), survey.tally, query.confidence, False)
        return NumberExhibit(survey.metric, self.table(survey, query, estimator), found)

    def courses(
        self,
        metric: Metric,
        exhibit: Exhibit,
        over: Steps,
        estimate: Callable[[Span], NumericEstimate],
        query: Query,
    ) -> Generator[None, None, NumberCourses | None]:
        """Make the course of mean, median and 95th percentile."""
        return (yield from courses(metric, over, self.effort(metric), estimate, query.confidence))

    def text(self, told: Mapping[str, Any]) -> TextTable:
        """Return the mean, and a row a quantile."""
        return estimate_text(told)

    def compared_text(self, told: Mapping[str, Any]) -> TextTable:
        """Return a row a statistic."""
        return compared_text(told)

    def trend_text(self, told: Mapping[str, Any]) -> TextTable:
        """Return a row a statistic."""
        return trend_text(told)


def _clipped(share: Share) -> dict[str, float | None]:
    """Return the share at an end of the range by the curve, which is biased there, and its honest interval."""
    return {"share": finite(share.consistent), "low": share.low, "high": share.high}


def _poisoning(metric: Metric, scale: Scale, found: NumericEstimate, forged: float) -> dict[str, Any]:
    """Return how far a share of forged reports could have moved the mean, in its unit, and shares below points.

    If all of that share β are of the least or greatest score g, the others have the mean (mean - β g)/(1-β), or an end
    of the range where that lies beyond.
    """
    mean, law = found.mean.estimate, law_of(metric.mechanism)
    honest = ((mean - forged * end) / (1 - forged) for end in metric.mechanism.reach)
    moved = [scale.value(min(max(one, min(mean, 0.0)), max(mean, 1.0))) - scale.value(mean) for one in honest]
    return {
        "share": forged,
        "reports": round(forged * found.reports),
        "mean_down": finite(moved[0]),
        "mean_up": finite(-moved[1]),
        "cdf_shift": cut_shift(law, forged) if isinstance(law, Dithered) else None,
    }
