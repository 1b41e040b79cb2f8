"""Read estimates from a database's tallies, for routes, pages and commands: the one reader."""

from collections.abc import Generator, Iterator, Sequence
from datetime import date
from itertools import groupby
from typing import Any, cast

import numpy as np

from dither_shared import Metric, ParameterError
from dither_shared.metrics.period import DAYS_IN, first_day

from ..analysis.columns import Table
from ..analysis.trend import TrendStep
from ..store import Store
from ..tally.arrays import Indices
from .costs import require_affordable
from .estimate_cache import EstimateCache
from .query import Comparison, EstimateQuery, Query, TrendQuery
from .summaries import summary_of
from .summaries.summary import Exhibit, Span, Survey
from .summaries.window import Look

__all__ = ["EstimateReader"]


class EstimateReader:
    """Reads estimates from a store, and remembers them by their tallies.

    An answer that would cost more than ``limit`` (``costs``; None: any) is refused before it is begun. Safe to use
    from many threads.
    """

    def __init__(self, store: Store, cache: EstimateCache | None = None, limit: int | None = None) -> None:
        self._store = store
        self._cache = cache or EstimateCache(0)
        self._limit = limit

    def table(self, metric: Metric, query: Query, candidates: tuple[str, ...] | None = None) -> Table:
        """Return the estimates of a metric version over all the days that are asked for.

        Raises Problem for one that costs too much, and what the metric's summary and the store raise.
        """
        shown = query.selection.count(len(metric.labels) if candidates is None else len(candidates))
        require_affordable(self._limit, metric, 1, shown)
        return self._chosen(self._whole(metric, (query.since, query.until), query, candidates), query)

    def tables(self, metric: Metric, query: Query) -> Iterator[Table]:
        """Yield the answers to a query, made one at a time: one, or by day one for each day with reports.

        The most frequent values are those over all of the days.
        """
        if not query.by_day:
            yield self.table(metric, query)
            return
        days = self._days(metric, query)
        require_affordable(self._limit, metric, len(days), query.selection.count(len(metric.labels)))
        places = self._places(metric, query)
        for day in days:
            table = self._whole(metric, (day, day), query)
            yield table if query.selection.everything else table.chosen(places)

    def compare(self, first: Metric, second: Metric, query: Comparison) -> Table:
        """Return the comparison of two metric versions, which may be one on different days.

        All values that both list are compared, and those that are asked for shown; the top is of the first side.
        """
        if first.version == second.version:
            days = self._store.days(first)
            query = query.apart(days and days[1])
        for side in (first, second):
            require_affordable(self._limit, side, 1, query.selection.count(len(side.labels)))
        summary = summary_of(first)
        if summary is not summary_of(second):
            kinds = f"{first.name} is a {first.question.kind}, {second.name} a {second.question.kind}"
            raise ParameterError("other", f"{kinds}; only metrics of like kinds can be compared")
        before = self._survey(first, (query.since, query.until))
        after = self._survey(second, (query.other_since, query.other_until))
        return self._chosen(summary.compare((before, after), query, self._cache.estimate), query, "first")

    def combine(self, named: Metric, versions: Sequence[Metric], query: EstimateQuery) -> Table:
        """Return the combination of the versions that are of the metric's kind; the top is by combined shares."""
        summary = summary_of(named)
        versions = [metric for metric in versions if summary_of(metric) is summary]
        for metric in versions:
            require_affordable(self._limit, metric, len(versions), query.selection.count(len(metric.labels)))
        surveys = [self._survey(metric, (query.since, query.until)) for metric in versions]
        return self._chosen(summary.combine(named.name, surveys, query, self._cache.estimate), query)

    def exhibit(self, metric: Metric, query: Query, look: Look) -> Exhibit:
        """Return what a page shows of a metric version. Raises as ``table`` does."""
        require_affordable(self._limit, metric, 1, len(metric.labels))
        survey = self._survey(metric, (query.since, query.until))
        return summary_of(metric).exhibit(survey, query, self._cache.estimate, look)

    def trend(self, metric: Metric, query: TrendQuery) -> Generator[None, None, Table]:
        """Make a trend in short steps; the most frequent values are those over all of the days."""
        spans = self._spans(metric, query)
        require_affordable(self._limit, metric, len(spans), query.selection.count(len(metric.labels)))
        places = None if query.selection.everything else self._places(metric, query)
        yield
        stretches = (TrendStep(*span, self.estimate(metric, span, query.confidence)) for span in spans)
        return (yield from summary_of(metric).trend(metric, len(spans), stretches, query, places))

    def estimate(self, metric: Metric, span: Span, confidence: float) -> Any:
        """Return the bare estimates of a span of days."""
        return self._cache.estimate(metric, metric.labels, self._store.tally(metric, *span), confidence)

    def _whole(
        self, metric: Metric, span: Span, query: EstimateQuery, candidates: tuple[str, ...] | None = None
    ) -> Table:
        """Return the estimates of every value over a span of days."""
        return summary_of(metric).table(self._survey(metric, span), query, self._cache.estimate, candidates)

    def _survey(self, metric: Metric, span: Span) -> Survey:
        first, last = self._store.days(metric) or (None, None)
        days = (span[0] or first, span[1] or last)
        return Survey(metric, self._store.tally(metric, *span), days, self._store.refusals(metric.name, *days))

    def _chosen(self, table: Table, query: EstimateQuery, by: str = "frequency") -> Table:
        if query.selection.everything:
            return table
        if "value" not in table.columns:
            raise ParameterError("values", "nor top, limit and offset: this metric has no values to choose from")
        labels = cast("Sequence[str]", table.columns["value"])
        return table.chosen(query.selection.places(labels, lambda: np.asarray(table.columns[by], dtype=np.float64)))

    def _places(self, metric: Metric, query: EstimateQuery) -> Indices:
        """Return which values are shown in each step of an answer."""
        span = (query.since, query.until)
        if not metric.labels:
            raise ParameterError("values", "nor top, limit and offset: this metric has no values to choose from")
        return query.selection.places(metric.labels, lambda: self.estimate(metric, span, query.confidence).frequency)

    def _days(self, metric: Metric, query: EstimateQuery) -> list[date]:
        first, last = query.since or date.min, query.until or date.max
        return [day for day in self._store.active_days(metric) if first <= day <= last]

    def _spans(self, metric: Metric, query: TrendQuery) -> list[tuple[date, date]]:
        """Return the days, or weeks from Monday to Sunday, with reports; oldest first."""
        spans = []
        for start, _ in groupby(self._days(metric, query), lambda day: first_day(day.toordinal(), query.step)):
            first, last = (date.fromordinal(day) for day in (start, start + DAYS_IN[query.step] - 1))
            spans.append((max(first, query.since or first), min(last, query.until or last)))
        return spans
