"""Shares of values: what is estimated where answers are listed, or candidate strings are looked for."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from datetime import date
from typing import Any, ClassVar

from dither_shared import Metric

from ...analysis.answers import Row, estimate_table
from ...analysis.columns import Table
from ...analysis.combine import combined
from ...analysis.compare import compared
from ...analysis.trend import TrendStep, trend_steps
from ...estimation.decoders.support import decoder_of
from ...estimation.estimate import Estimate, estimate
from ...protocol.json_schema import Schema
from ...tally.tally import Tally
from ..query import Comparison, EstimateQuery, Query, TrendQuery
from ..selection import Places
from . import shares_schema, shares_text
from .shares_page import FEW, Courses, SharesExhibit, courses
from .summary import Estimator, Exhibit, Span, Summary, Survey, TextTable
from .window import Look

__all__ = ["Shares"]


class Shares(Summary[Estimate]):
    """The share of each value, with its errors and verdict."""

    row: ClassVar[type] = Row
    schema: ClassVar[Schema] = shares_schema.ESTIMATE

    def estimate(
        self, metric: Metric, labels: tuple[str, ...], tally: Tally, confidence: float, simultaneous: bool
    ) -> Estimate:
        """Return the frequencies of ``labels``."""
        return estimate(metric.mechanism, labels, tally, confidence, simultaneous=simultaneous)

    def effort(self, metric: Metric) -> int:
        """Return what its decoder says."""
        return max(1, decoder_of(metric.mechanism).cost(metric.mechanism, len(metric.labels)))

    def table(
        self, survey: Survey, query: EstimateQuery, estimator: Estimator, candidates: tuple[str, ...] | None
    ) -> Table:
        """Return ``estimate_table``."""
        asked = query if isinstance(query, Query) else Query(confidence=query.confidence)
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

    def compare(self, first: Table, second: Table, metrics: tuple[Metric, Metric], query: Comparison) -> Table:
        """Return ``compared``."""
        one, other = metrics
        return compared(first, second, (one.mechanism, other.mechanism), query.confidence, query.change)

    def combine(self, name: str, metrics: Sequence[Metric], tables: Sequence[Table], query: EstimateQuery) -> Table:
        """Return ``combined``."""
        return combined(name, tables, [metric.mechanism for metric in metrics], query.confidence)

    def trend(
        self, metric: Metric, count: int, steps: Iterable[TrendStep[Estimate]], query: TrendQuery, places: Places | None
    ) -> Generator[None, None, Table]:
        """Make ``trend_steps``."""
        return (yield from trend_steps(metric, count, steps, query.confidence, places))

    def exhibit(self, metric: Metric, table: Table, look: Look) -> Exhibit:
        """Return the values that are looked at."""
        return SharesExhibit.of(metric, table, look)

    def together(self, metric: Metric) -> bool:
        """Return whether there are many values."""
        return len(metric.labels) > FEW

    def courses(
        self,
        metric: Metric,
        exhibit: Exhibit,
        days: Sequence[date],
        estimate: Callable[[Span], Estimate],
        query: Query,
    ) -> Generator[None, None, Courses | None]:
        """Make the courses of the most frequent values that are shown."""
        shown = exhibit.found.shown if isinstance(exhibit, SharesExhibit) else []
        effort = self.effort(metric)
        return (yield from courses(metric, shown, days, effort, estimate, query.confidence))

    def text(self, told: Mapping[str, Any]) -> TextTable:
        """Return a row a value; shares are in percent."""
        return shares_text.estimated(told)

    def compared_text(self, told: Mapping[str, Any]) -> TextTable:
        """Return a row a value; differences are in points."""
        return shares_text.compared(told)

    def trend_text(self, told: Mapping[str, Any]) -> TextTable:
        """Return a row a value; slopes are in points a day."""
        return shares_text.trend(told)
