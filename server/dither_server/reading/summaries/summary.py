"""What all kinds of questions have in common: how their tallies become answers, tables, texts and pages."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, ClassVar

from dither_shared import Metric, ParameterError

from ...analysis.columns import Column, Table
from ...analysis.estimate_table import metadata
from ...analysis.sequential import Look
from ...analysis.trend import TrendStep
from ...analysis.weighted import Weighting
from ...tally.arrays import Indices
from ...tally.tally import Tally
from ..query import Combination, Comparison, Query, Span, TrendQuery, WatchQuery
from ..schemas import Schema
from .terminal_text import TextTable
from .view import EstimateView, PageRequest

Estimator = Callable[[Metric, tuple[str, ...], Tally, float, bool], Any]
"""A function that estimates a tally: ``Summary.estimate``, or a cache of its results."""


@dataclass(frozen=True)
class CollectedReports:
    """The reports of a metric version on some days, and the function that estimates them.

    ``refused`` counts the metric's refused batches by the problem's kind. ``weighting`` is None unless weights are
    asked for. ``candidates`` replace the candidate strings of the definition.
    """

    metric: Metric
    tally: Tally
    days: Span
    refused: Mapping[str, int]
    estimator: Estimator
    weighting: Weighting | None = None
    candidates: tuple[str, ...] | None = None

    def estimate(self, confidence: float) -> Any:
        """Return the bare estimates of a kind of question that lists no answers."""
        return self.estimator(self.metric, (), self.tally, confidence, False)

    def metadata(self, confidence: float) -> dict[str, Any]:
        """Return the fields that accompany an estimate."""
        return metadata(self.metric, self.tally, self.days, confidence, self.refused)


class Summary(ABC):
    """The base of summaries: how the answers to a kind of question are estimated, compared, exported and shown."""

    columns: ClassVar[Sequence[Column]]
    """The columns of an export."""
    schema: ClassVar[Schema]
    """The JSON schema of the API's answer."""
    shown_by: ClassVar[type[EstimateView]]
    """The class through which a page reads a table."""
    weighable: ClassVar[bool] = False
    """Whether estimates can be weighted to a population."""
    searched: ClassVar[bool] = False
    """Whether values are found among reports, rather than listed in the definition."""
    cheaper: ClassVar[str] = "ask for fewer days"
    """How to make one estimate cost less, in words."""
    daily: ClassVar[str | None] = None
    """The table of the store that keeps each day's answer for programs that read SQL, or None."""

    @abstractmethod
    def estimate(
        self, metric: Metric, labels: tuple[str, ...], tally: Tally, confidence: float, simultaneous: bool
    ) -> Any:
        """Return the estimates of a tally, without metadata: an object with ``reports``, and its ``size`` in bytes.

        ``labels`` are the answers whose shares are estimated, for the kinds of question that have shares.
        """

    @abstractmethod
    def effort(self, metric: Metric) -> int:
        """Return the cost of one estimate (``analysis_limiter``)."""

    def extra_rows(self, metric: Metric) -> int:
        """Return how many rows an answer has in addition to those of the chosen values."""
        return 0

    @abstractmethod
    def table(self, survey: CollectedReports, query: Query) -> Table:
        """Return the estimates of a survey as the API's answer. Raises ParameterError for what cannot be estimated."""

    def flat(self, table: Table) -> Table:
        """Return an answer as a table with the export's ``columns``."""
        return table

    def compare(self, sides: tuple[CollectedReports, CollectedReports], query: Comparison) -> Table:
        """Return the comparison of two surveys. Raises ParameterError for what cannot be compared."""
        raise ParameterError("other", f"{sides[0].metric.name} asks a kind of question that cannot be compared")

    def combine(self, name: str, surveys: Sequence[CollectedReports], query: Combination) -> Table:
        """Return the combination of one metric's versions. Raises ParameterError for what cannot be combined."""
        raise ParameterError("metric", f"{name} asks a kind of question whose versions cannot be combined")

    def trend(
        self, metric: Metric, count: int, steps: Iterable[TrendStep[Any]], query: TrendQuery, places: Indices | None
    ) -> Table:
        """Return the trend of ``count`` steps. Raises ParameterError if this kind has none."""
        raise ParameterError("metric", f"{metric.name} asks a kind of question that has no trend")

    def look(self, metric: Metric, day: date, estimate: Any) -> Look:
        """Return the statistics that a watch tests. Raises ParameterError if this kind cannot be watched."""
        raise ParameterError("metric", f"{metric.name} asks a kind of question that cannot be watched")

    def watched(self, metric: Metric, reference: Look, looks: Sequence[Look], query: WatchQuery) -> Table:
        """Return the test for a change since a reference period; each day since then is a look."""
        raise NotImplementedError

    def daily_rows(self, table: Table) -> list[dict[str, Any]]:
        """Return the rows of the table ``daily`` that keep a day's answer for programs that read SQL."""
        return []

    def view(self, survey: CollectedReports, query: Query, request: PageRequest) -> EstimateView:
        """Return the view of a survey that a page shows: the API's table, wrapped by ``shown_by``."""
        return self.shown_by(survey.metric, self.table(survey, query), request)

    def needs_simultaneous_intervals(self, metric: Metric) -> bool:
        """Return whether all intervals of a page must hold at once, because readers notice what chance made large."""
        return False

    @abstractmethod
    def text(self, answer: Mapping[str, Any]) -> TextTable:
        """Return an answer for a terminal."""

    def compared_text(self, answer: Mapping[str, Any]) -> TextTable:
        """Return a comparison for a terminal."""
        raise NotImplementedError

    def trend_text(self, answer: Mapping[str, Any]) -> TextTable:
        """Return a trend for a terminal."""
        raise NotImplementedError
