"""Read estimates from a database's tallies, for routes, pages and commands: the one reader."""

from collections.abc import Generator, Iterator, Sequence
from datetime import date
from itertools import groupby
from typing import Any, cast

import numpy as np

from dither_shared import Metric, ParameterError

from ..analysis.columns import Table
from ..analysis.trend import TrendStep
from ..store import Store
from .costs import require_affordable
from .estimate_cache import EstimateCache
from .query import Comparison, EstimateQuery, Query, TrendQuery
from .selection import Places
from .summaries import summary_of
from .summaries.summary import Span, Survey

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

    def compare(self, first: Metric, second: Metric, asked: Comparison) -> Table:
        """Return the comparison of two metric versions, which may be one on different days.

        All values that both list are compared, and those that are asked for shown; the top is of the first side.
        """
        if first.version == second.version:
            days = self._store.days(first)
            asked = asked.apart(days and days[1])
        for side in (first, second):
            require_affordable(self._limit, side, 1, asked.selection.count(len(side.labels)))
        before = self._whole(first, (asked.since, asked.until), asked)
        after = self._whole(second, (asked.other_since, asked.other_until), asked)
        summary = summary_of(first)
        if summary is not summary_of(second):
            kinds = f"{first.name} is a {first.question.kind}, {second.name} a {second.question.kind}"
            raise ParameterError("other", f"{kinds}; only metrics of like kinds can be compared")
        return self._chosen(summary.compare(before, after, (first, second), asked), asked, "first")

    def combine(self, named: Metric, versions: Sequence[Metric], asked: EstimateQuery) -> Table:
        """Return the combination of the versions that are of the metric's kind; the top is by combined shares."""
        summary = summary_of(named)
        versions = [metric for metric in versions if summary_of(metric) is summary]
        for metric in versions:
            require_affordable(self._limit, metric, len(versions), asked.selection.count(len(metric.labels)))
        tables = [self._whole(metric, (asked.since, asked.until), asked) for metric in versions]
        return self._chosen(summary.combine(named.name, versions, tables, asked), asked)

    def trend(self, metric: Metric, asked: TrendQuery) -> Generator[None, None, Table]:
        """Make a trend in short steps; the most frequent values are those over all of the days."""
        spans = self._spans(metric, asked)
        require_affordable(self._limit, metric, len(spans), asked.selection.count(len(metric.labels)))
        places = None if asked.selection.everything else self._places(metric, asked)
        yield
        stretches = (TrendStep(*span, self.estimate(metric, span, asked.confidence)) for span in spans)
        return (yield from summary_of(metric).trend(metric, len(spans), stretches, asked, places))

    def estimate(self, metric: Metric, span: Span, confidence: float) -> Any:
        """Return the bare estimates of a span of days."""
        return self._cache.estimate(metric, metric.labels, self._store.tally(metric, *span), confidence)

    def _whole(
        self, metric: Metric, span: Span, asked: EstimateQuery, candidates: tuple[str, ...] | None = None
    ) -> Table:
        """Return the estimates of every value over a span of days."""
        tally = self._store.tally(metric, *span)
        first, last = self._store.days(metric) or (None, None)
        days = (span[0] or first, span[1] or last)
        survey = Survey(metric, tally, days, self._store.refusals(metric.name, *days))
        return summary_of(metric).table(survey, asked, self._cache.estimate, candidates)

    def _chosen(self, table: Table, asked: EstimateQuery, by: str = "frequency") -> Table:
        if asked.selection.everything:
            return table
        if "value" not in table.columns:
            raise ParameterError("values", "nor top, limit and offset: this metric has no values to choose from")
        labels = cast("Sequence[str]", table.columns["value"])
        return table.chosen(asked.selection.places(labels, lambda: np.asarray(table.columns[by], dtype=np.float64)))

    def _places(self, metric: Metric, asked: EstimateQuery) -> Places:
        """Return which values are shown in each step of an answer."""
        span = (asked.since, asked.until)
        if not metric.labels:
            raise ParameterError("values", "nor top, limit and offset: this metric has no values to choose from")
        return asked.selection.places(metric.labels, lambda: self.estimate(metric, span, asked.confidence).frequency)

    def _days(self, metric: Metric, asked: EstimateQuery) -> list[date]:
        first, last = asked.since or date.min, asked.until or date.max
        return [day for day in self._store.active_days(metric) if first <= day <= last]

    def _spans(self, metric: Metric, asked: TrendQuery) -> list[tuple[date, date]]:
        """Return the days, or weeks from Monday to Sunday, with reports; oldest first."""
        length = 7 if asked.step == "week" else 1
        spans = []
        for number, _ in groupby(self._days(metric, asked), lambda day: (day.toordinal() - 1) // length):
            first, last = (date.fromordinal(number * length + place) for place in (1, length))  # day 1 was a Monday
            spans.append((max(first, asked.since or first), min(last, asked.until or last)))
        return spans
