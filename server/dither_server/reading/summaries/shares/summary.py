"""Shares of values: what is estimated where answers are listed, or candidate strings are looked for."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from dither_shared import Metric, ParameterError

from ....analysis.answers import Row, estimate_table
from ....analysis.columns import Table
from ....analysis.combine import combined
from ....analysis.compare import compared
from ....analysis.trend import TrendStep, trend_steps
from ....estimation.decoders.support import decoder_of
from ....estimation.estimate import Estimate, estimate
from ....protocol.json_schema import Schema
from ....tally.arrays import Indices
from ....tally.tally import Tally
from ...query import Comparison, EstimateQuery, Query, TrendQuery
from ..summary import Estimator, Exhibit, Span, Steps, Summary, Survey, TextTable
from ..window import Look
from .page import FEW, Courses, SharesExhibit, courses
from .schema import ESTIMATE
from .text import compared_text, estimate_text, trend_text

__all__ = ["Shares"]


class Shares(Summary[Estimate]):
    """The share of each value, with its errors and verdict."""

    row: ClassVar[type] = Row
    daily: ClassVar[str | None] = "shares"
    schema: ClassVar[Schema] = ESTIMATE
    cheaper: ClassVar[str] = "list fewer candidates in its definition"

    def estimate(
        self, metric: Metric, labels: tuple[str, ...], tally: Tally, confidence: float, simultaneous: bool
    ) -> Estimate:
        """Return the frequencies of ``labels``."""
        return estimate(metric.mechanism, labels, tally, confidence, simultaneous=simultaneous)

    def effort(self, metric: Metric) -> int:
        """Return what its decoder says."""
        return max(1, decoder_of(metric.mechanism).cost(metric.mechanism, len(metric.labels)))

    def table(
        self, survey: Survey, query: EstimateQuery, estimator: Estimator, candidates: tuple[str, ...] | None = None
    ) -> Table:
        """Return ``estimate_table``."""
        asked = query if isinstance(query, Query) else Query(confidence=query.confidence)
        if asked.quantile or asked.at:
            raise ParameterError("quantile" if asked.quantile else "at", f"{survey.metric.name} asks for no number")
        return estimate_table(
            survey.metric,
            survey.tally,
            survey.days,
            asked.confidence,
            candidates,
            simultaneous=asked.simultaneous,
            forged=asked.forged,
            refused=survey.refused,
            estimator=estimator,
        )

    def compare(self, sides: tuple[Survey, Survey], query: Comparison, estimator: Estimator) -> Table:
        """Return ``compared``."""
        first, second = (self.table(side, query, estimator) for side in sides)
        mechanisms = (sides[0].metric.mechanism, sides[1].metric.mechanism)
        return compared(first, second, mechanisms, query.confidence, query.change)

    def combine(self, name: str, surveys: Sequence[Survey], query: EstimateQuery, estimator: Estimator) -> Table:
        """Return ``combined``."""
        tables = [self.table(survey, query, estimator) for survey in surveys]
        return combined(name, tables, [survey.metric.mechanism for survey in surveys], query.confidence)

    def trend(
        self,
        metric: Metric,
        count: int,
        steps: Iterable[TrendStep[Estimate]],
        query: TrendQuery,
        places: Indices | None,
    ) -> Generator[None, None, Table]:
        """Make ``trend_steps``."""
        return (yield from trend_steps(metric, count, steps, query.confidence, places))

    def daily_rows(self, table: Table) -> list[dict[str, Any]]:
        """Return the rows of the values."""
        return table.rows()

    def exhibit(self, survey: Survey, query: Query, estimator: Estimator, look: Look) -> SharesExhibit:
        """Return the values that are looked at."""
        return SharesExhibit.of(survey.metric, self.table(survey, query, estimator), look)

    def together(self, metric: Metric) -> bool:
        """Return whether there are many values."""
        return len(metric.labels) > FEW

    def courses(
        self,
        metric: Metric,
        exhibit: Exhibit,
        over: Steps,
        estimate: Callable[[Span], Estimate],
        query: Query,
    ) -> Generator[None, None, Courses | None]:
        """Make the courses of the most frequent values that are shown."""
        shown = exhibit.found.shown if isinstance(exhibit, SharesExhibit) else []
        effort = self.effort(metric)
        return (yield from courses(metric, shown, over, effort, estimate, query.confidence))

    def text(self, told: Mapping[str, Any]) -> TextTable:
        """Return a row a value; shares are in percent."""
        return estimate_text(told)

    def compared_text(self, told: Mapping[str, Any]) -> TextTable:
        """Return a row a value; differences are in points."""
        return compared_text(told)

    def trend_text(self, told: Mapping[str, Any]) -> TextTable:
        """Return a row a value; slopes are in points a day."""
        return trend_text(told)
