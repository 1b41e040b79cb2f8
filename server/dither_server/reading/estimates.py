"""Read estimates from a database's tallies, for routes, pages and commands: the one reader."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from datetime import date
from itertools import groupby
from typing import Any, cast

import numpy as np

from dither_shared import Metric, ParameterError
from dither_shared.metrics.period import DAYS_IN, first_day

from ..analysis.columns import Table
from ..analysis.trend import TrendStep
from ..store import Store
from ..tally.arrays import Floats, Indices
from .costs import require_affordable
from .estimate_cache import EstimateCache
from .folded import folded
from .query import Comparison, EstimateQuery, Query, TrendQuery
from .sealing import about_sealed
from .strata import EVERYONE, Part, both_sides, has_stratum, part_of, parts_by
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
        part = part_of(metric, query.strata, query.names())
        shown = query.selection.count(len(metric.labels) if candidates is None else len(candidates))
        require_affordable(self._limit, metric, 1, shown, summary_of(metric).beside(metric))
        beside = folded(self._store.folds)
        whole = self._whole(metric, (query.since, query.until), part, query, candidates)
        sealed = self._store.sealed(metric, query.since, query.until, part.places)
        beside |= about_sealed(sealed, metric, whole.about.get("periods", 1))
        return self._chosen(replace(whole, about={**whole.about, **beside}), query)

    def tables(self, metric: Metric, query: Query, candidates: tuple[str, ...] | None = None) -> Iterator[Table]:
        """Yield the answers to a query, made one at a time: one, or one for each day and stratum with reports.

        Behind those of the strata is one of all that are asked for, together. The most frequent values are those over
        all of the days and strata. Raises as ``table`` does.
        """
        if not (query.by_day or query.by):
            yield self.table(metric, query, candidates)
            return
        part = part_of(metric, query.strata, query.names())
        parts = parts_by(metric, part, query.by)
        days = self._days(metric, query, part)
        spans: list[Span] = [(day, day) for day in days] if query.by_day else [(query.since, query.until)]
        labels = metric.labels if candidates is None else candidates
        steps = len(spans) * (len(parts) + 1 if query.by else 1)
        shown = query.selection.count(len(labels))
        require_affordable(self._limit, metric, steps, shown, summary_of(metric).beside(metric))
        up_to = folded(self._store.folds)
        places = None if query.selection.everything else self._places(metric, query, part, labels)
        for span in spans:
            within = [one for one, reports in self.counted(metric, span, parts) if reports] if query.by else []
            for one in [*within, part]:
                whole = self._whole(metric, span, one, query, candidates)
                table = replace(whole, about={**whole.about, **up_to})
                yield table if places is None else table.chosen(places)

    def counted(self, metric: Metric, span: Span, parts: Sequence[Part]) -> list[tuple[Part, int]]:
        """Return parts with the reports that each has on some days."""
        reports = self._store.reports_by_stratum(metric, *span)
        return [(part, sum(reports.get(place, 0) for place in part.places or reports)) for part in parts]

    def compare(self, first: Metric, second: Metric, query: Comparison) -> Table:
        """Return the comparison of two metric versions, which may be one on different days or of different strata.

        All values that both list are compared, and those that are asked for shown; the top is of the first side.
        """
        sides = both_sides(first, second, query.strata, query.names())
        if first.version == second.version and sides[0].overlaps(sides[1]):
            days = self._store.days(first, sides[0].places)
            query = query.apart(days and days[1])
        for side in (first, second):
            require_affordable(self._limit, side, 1, query.selection.count(len(side.labels)))
        summary = summary_of(first)
        if summary is not summary_of(second):
            kinds = f"{first.name} is a {first.question.kind}, {second.name} a {second.question.kind}"
            raise ParameterError("other", f"{kinds}; only metrics of like kinds can be compared")
        before = self._survey(first, (query.since, query.until), sides[0])
        after = self._survey(second, (query.other_since, query.other_until), sides[1])
        table = summary.compare((before, after), query, self._cache.estimate)
        told = [{**side, **part.about} for side, part in zip(table.about["sides"], sides, strict=True)]
        return self._chosen(replace(table, about={**table.about, "sides": told}), query, "first")

    def combine(self, named: Metric, versions: Sequence[Metric], query: EstimateQuery) -> Table:
        """Return the combination of the versions that are of the metric's kind; the top is by combined shares.

        Where a stratum is asked for, of those versions that have it.
        """
        summary = summary_of(named)
        part_of(named, query.strata, query.names())
        versions = [one for one in versions if summary_of(one) is summary and has_stratum(one, query.strata)]
        for metric in versions:
            require_affordable(self._limit, metric, len(versions), query.selection.count(len(metric.labels)))
        span = (query.since, query.until)
        surveys = [self._survey(metric, span, part_of(metric, query.strata)) for metric in versions]
        table = summary.combine(named.name, surveys, query, self._cache.estimate)
        asked = {"stratum": dict(query.strata)} if query.strata else {}
        return self._chosen(replace(table, about={**table.about, **asked}), query)

    def exhibit(self, metric: Metric, query: Query, part: Part, look: Look) -> Exhibit:
        """Return what a page shows of a metric version. Raises as ``table`` does."""
        require_affordable(self._limit, metric, 1, len(metric.labels), summary_of(metric).beside(metric))
        survey = self._survey(metric, (query.since, query.until), part)
        return summary_of(metric).exhibit(survey, query, self._cache.estimate, look)

    def trend(self, metric: Metric, query: TrendQuery) -> Generator[None, None, Table]:
        """Make a trend in short steps; the most frequent values are those over all of the days."""
        part = part_of(metric, query.strata, query.names())
        spans = self.spans(metric, query, part)
        require_affordable(self._limit, metric, len(spans), query.selection.count(len(metric.labels)))
        places = None if query.selection.everything else self._places(metric, query, part, metric.labels)
        yield
        stretches = (TrendStep(*span, self.estimate(metric, span, query.confidence, part)) for span in spans)
        table = yield from summary_of(metric).trend(metric, len(spans), stretches, query, places)
        return replace(table, about={**table.about, **part.about})

    def estimate(self, metric: Metric, span: Span, confidence: float, part: Part = EVERYONE) -> Any:
        """Return the bare estimates of a span of days."""
        return self._cache.estimate(metric, metric.labels, self._store.tally(metric, *span, part.places), confidence)

    def spans(self, metric: Metric, query: TrendQuery, part: Part = EVERYONE) -> list[tuple[date, date]]:
        """Return the days, or weeks from Monday to Sunday, with reports; oldest first."""
        spans = []
        for start, _ in groupby(self._days(metric, query, part), lambda day: first_day(day.toordinal(), query.step)):
            first, last = (date.fromordinal(day) for day in (start, start + DAYS_IN[query.step] - 1))
            spans.append((max(first, query.since or first), min(last, query.until or last)))
        return spans

    def _whole(
        self,
        metric: Metric,
        span: Span,
        part: Part,
        query: EstimateQuery,
        candidates: tuple[str, ...] | None = None,
    ) -> Table:
        """Return the estimates of every value over a span of days."""
        table = summary_of(metric).table(self._survey(metric, span, part), query, self._cache.estimate, candidates)
        sealed = about_sealed(self._store.sealed(metric, *span, part.places))
        return replace(table, about={**table.about, **part.about, **sealed})

    def _survey(self, metric: Metric, span: Span, part: Part) -> Survey:
        first, last = self._store.days(metric, part.places) or (None, None)
        days = (span[0] or first, span[1] or last)
        tally = self._store.tally(metric, *span, part.places)
        return Survey(metric, tally, days, self._store.refusals(metric.name, *days))

    def _chosen(self, table: Table, query: EstimateQuery, by: str = "frequency") -> Table:
        if query.selection.everything:
            return table
        if "value" not in table.columns:
            raise ParameterError("values", "nor top, limit and offset: this metric has no values to choose from")
        labels = cast("Sequence[str]", table.columns["value"])
        return table.chosen(query.selection.places(labels, lambda: np.asarray(table.columns[by], dtype=np.float64)))

    def _places(self, metric: Metric, query: EstimateQuery, part: Part, labels: tuple[str, ...]) -> Indices:
        """Return which values are shown in each step of an answer."""
        if not labels:
            raise ParameterError("values", "nor top, limit and offset: this metric has no values to choose from")

        def frequency() -> Floats:
            tally = self._store.tally(metric, query.since, query.until, part.places)
            found: Floats = self._cache.estimate(metric, labels, tally, query.confidence).frequency
            return found

        return query.selection.places(labels, frequency)

    def _days(self, metric: Metric, query: EstimateQuery, part: Part) -> list[date]:
        first, last = query.since or date.min, query.until or date.max
        return [day for day in self._store.active_days(metric, part.places) if first <= day <= last]
