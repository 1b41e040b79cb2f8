"""Read estimates from the tallies of a database, for routes, pages and commands."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from itertools import groupby
from typing import Any, TypeVar, cast

import numpy as np

from dither_shared import Metric, ParameterError
from dither_shared.metrics.period import first_day, last_day

from ..analysis.columns import Table
from ..analysis.population import Population
from ..analysis.retention import Week, require_ages, retained
from ..analysis.sequential import Look
from ..analysis.trend import TrendStep
from ..store import History, Snapshot, Store
from ..tally.arrays import Floats, Indices
from ..tally.tally import Tally
from .limiter import effort, reading, require_affordable
from .query import Combination, Comparison, EstimateQuery, Query, RetentionQuery, TrendQuery, WatchQuery
from .sealing import about_sealed, folded
from .sources import (
    EVERYONE,
    AnswerCache,
    Collected,
    Source,
    Subgroup,
    both_sides,
    has_stratum,
    key_of,
    part_of,
    parts_by,
)
from .summaries import summary_of
from .summaries.summary import CollectedReports, EstimateView, Estimator, PageRequest, Span
from .weights import require_weights, weighting_of

T = TypeVar("T")


def _compute(metric: Metric, labels: tuple[str, ...], tally: Tally, confidence: float, simultaneous: bool) -> Any:
    return summary_of(metric).estimate(metric, labels, tally, confidence, simultaneous)


class EstimateReader:
    """Reads estimates from a store, and remembers answers by the slices of history that they come from.

    An answer is computed from one snapshot, so its numbers are of one moment. An answer that would cost more than
    ``limit`` (``costs``; None: any) is refused before it is begun. ``demand`` is called with the cost of each part that
    is not cached, before a snapshot is opened for it: it may wait, or raise. ``compute`` makes an estimate of a tally,
    by default as the metric's summary does. Weighted estimates need a ``population``. Safe to use from many threads.
    """

    def __init__(
        self,
        store: Store,
        cache: AnswerCache | None = None,
        limit: int | None = None,
        demand: Callable[[int], None] = lambda _: None,
        compute: Estimator = _compute,
        population: Population | None = None,
    ) -> None:
        self._store = store
        self._cache = cache or AnswerCache(0)
        self._limit = limit
        self._demand = demand
        self._compute = compute
        self._population = population

    def table(self, metric: Metric, query: Query, candidates: tuple[str, ...] | None = None) -> Table:
        """Return the estimates of a metric version over all the days that are asked for.

        Raises Problem if it costs too much, and whatever the metric's summary and the store raise.
        """
        part, span = part_of(metric, query.strata, query.names()), (query.since, query.until)
        history = self._store.history(metric, *span)
        shown = query.selection.count(len(metric.labels) if candidates is None else len(candidates))
        extra_rows = summary_of(metric).extra_rows(metric)
        cost = require_affordable(
            self._limit, metric, _tallies(metric, query), shown, extra_rows, reading(metric, history)
        )
        planned = [Source.of(metric, part, history, span, query)]
        require_weights(self._population, metric, planned)
        ((source, whole),) = self._of_one_moment(planned, query, candidates, None, cost)
        worth = about_sealed(source.slice.sealed, metric, whole.about.get("periods", 1))
        about = {**whole.about, **folded(history.folded_up_to), **worth}
        return self._chosen(replace(whole, about=about), query)

    def tables(self, metric: Metric, query: Query, candidates: tuple[str, ...] | None = None) -> Iterator[Table]:
        """Yield the answers to a query, made one at a time: one, or one for each day and stratum with reports.

        The answers for the strata of a day are followed by one for all requested strata together; all are of one
        moment. The most frequent values are those over all days and strata. Raises as ``table`` does.
        """
        if not (query.by_day or query.by):
            yield self.table(metric, query, candidates)
            return
        part, span = part_of(metric, query.strata, query.names()), (query.since, query.until)
        parts = [*(parts_by(metric, part, query.by) if query.by else []), part]
        history = self._store.history(metric, *span)
        spans = _spans(history, query, part)
        labels = metric.labels if candidates is None else candidates
        shown = query.selection.count(len(labels))
        extra_rows = summary_of(metric).extra_rows(metric)
        steps = len(spans) * len(parts) * _tallies(metric, query)
        cost = require_affordable(self._limit, metric, steps, shown, extra_rows, reading(metric, history))
        places = None
        if not query.selection.everything:
            places = self._places(Source.of(metric, part, history, span, query), query, labels)
        planned = [[Source.of(metric, one, history, days, query) for one in parts] for days in spans]
        sources = [one for some in planned for one in some if one.slice.total or one is some[-1]]
        require_weights(self._population, metric, sources)
        missing = sum(_table_key(one, query, candidates, places) not in self._cache for one in sources)
        # All of it before the first step, because once a part is sent nothing can be refused any more.
        self._demand(cost * missing // max(1, len(sources)))
        for some in planned:
            for _, table in self._of_one_moment(some, query, candidates, places):
                yield replace(table, about={**table.about, **folded(history.folded_up_to)})

    def _of_one_moment(
        self,
        sources: Sequence[Source],
        query: EstimateQuery,
        candidates: tuple[str, ...] | None,
        places: Indices | None,
        cost: int = 0,
    ) -> Iterator[tuple[Source, Table]]:
        """Yield the answers for parts of a metric version on the same days: those with reports, and the last.

        They cover every value, or those at ``places``. If all are cached, nothing is read; otherwise ``cost`` is
        demanded, and everything is read again, in one snapshot.
        """
        known = [self._cache.find(_table_key(source, query, candidates, places)) for source in sources]
        read: list[Collected | None] = [None] * len(sources)
        if any(table is None and _shown(source, sources) for source, table in zip(sources, known, strict=True)):
            self._demand(cost)
            with self._store.snapshot() as snapshot:
                history = snapshot.history(sources[0].metric, *sources[0].span)
                sources = [one.at(history) for one in sources]
                known = [self._cache.find(_table_key(source, query, candidates, places)) for source in sources]
                read = [
                    self._collected(snapshot, source) if table is None and _shown(source, sources) else None
                    for source, table in zip(sources, known, strict=True)
                ]
        for source, table, collected in zip(sources, known, read, strict=True):
            if table is not None and _shown(source, sources):
                yield source, table
            elif collected is not None:
                yield source, self._whole(collected, query, candidates, places)

    def _collected(self, snapshot: Snapshot, source: Source) -> Collected:
        """Return a source as a snapshot has it, with its tally and, if asked for, its weights."""
        return Collected(source, source.tally(snapshot), weighting_of(self._population, source, snapshot))

    def counted(self, metric: Metric, span: Span, parts: Sequence[Subgroup]) -> list[tuple[Subgroup, int]]:
        """Return the parts, each with its number of reports on the given days."""
        reports = self._store.history(metric, *span).strata()
        return [(part, sum(reports[place] for place in part.places or list(reports))) for part in parts]

    def compare(self, first: Metric, second: Metric, query: Comparison) -> Table:
        """Return the comparison of two metric versions, which may be one on different days or of different strata.

        All values that both list are compared, and the requested ones shown; the top ones are those of the first side.
        """
        sides = both_sides(first, second, query.strata, query.names())
        if first.version == second.version and sides[0].overlaps(sides[1]):
            query = query.apart(lambda: max(self._store.history(first).days(sides[0].places), default=None))
        spans: list[Span] = [(query.since, query.until), (query.other_since, query.other_until)]
        sources, cost = list[Source](), 0
        for side, part, span in zip((first, second), sides, spans, strict=True):
            source, price = self._planned(side, part, span, query, query.selection.count(len(side.labels)))
            sources.append(source)
            cost += price
        summary = summary_of(first)
        if summary is not summary_of(second):
            kinds = f"{first.name} is a {first.question.kind}, {second.name} a {second.question.kind}"
            raise ParameterError("other", f"{kinds}; only metrics of like kinds can be compared")

        def compared(collected: Sequence[Collected]) -> Table:
            surveys, estimator = self._surveys(collected)
            table = summary.compare((surveys[0], surveys[1]), query, estimator)
            about = [{**side, **part.about} for side, part in zip(table.about["sides"], sides, strict=True)]
            return replace(table, about={**table.about, "sides": about})

        table = self._answer(sources, lambda found: key_of(found, None, "compare", query), cost, compared)
        return self._chosen(table, query, "first")

    def combine(self, named: Metric, versions: Sequence[Metric], query: Combination) -> Table:
        """Return the combined versions of the metric's kind; the top values are those of the combined shares.

        If a stratum is asked for, only versions that have it are combined; with ``same_question``, those with the same
        answers and strata as ``named``.
        """
        summary = summary_of(named)
        part_of(named, query.strata, query.names())
        versions = [one for one in versions if summary_of(one) is summary and has_stratum(one, query.strata)]
        if query.same_question:
            versions = [one for one in versions if _same_question(named, one)]
        span, sources, cost = (query.since, query.until), list[Source](), 0
        for metric in versions:
            part, shown = part_of(metric, query.strata), query.selection.count(len(metric.labels))
            source, price = self._planned(metric, part, span, query, shown, steps=len(versions))
            sources.append(source)
            cost += price

        def combined(collected: Sequence[Collected]) -> Table:
            surveys, estimator = self._surveys(collected)
            return summary.combine(named.name, surveys, query, estimator)

        table = self._answer(
            sources, lambda found: key_of(found, None, "combine", named.version, query), cost, combined
        )
        asked = {"stratum": dict(query.strata)} if query.strata else {}
        return self._chosen(replace(table, about={**table.about, **asked}), query)

    def estimate_view(self, metric: Metric, query: Query, part: Subgroup, request: PageRequest) -> EstimateView:
        """Return what a page shows of a metric version. Raises as ``table`` does."""
        shown, extra_rows = len(metric.labels), summary_of(metric).extra_rows(metric)
        source, cost = self._planned(
            metric, part, (query.since, query.until), query, shown, steps=_tallies(metric, query), extra_rows=extra_rows
        )
        require_weights(self._population, metric, [source])

        def viewed(collected: Sequence[Collected]) -> EstimateView:
            (survey,), estimator = self._surveys(collected)
            return summary_of(metric).view(survey, query, estimator, request)

        return self._answer([source], lambda found: key_of(found, None, "view", query, request), cost, viewed)

    def trend(self, metric: Metric, query: TrendQuery) -> Table:
        """Return the trend of a metric version; the most frequent values are those over all of the days."""
        part = part_of(metric, query.strata, query.names())
        history = self._store.history(metric, query.since, query.until)
        spans = _steps(history, query, part)
        shown = query.selection.count(len(metric.labels))
        require_affordable(self._limit, metric, len(spans), shown, reading=reading(metric, history))
        places = None
        if not query.selection.everything:
            source = Source.of(metric, part, history, (query.since, query.until), query)
            places = self._places(source, query, metric.labels)
        estimate = self._estimates(metric, part, history, query)
        steps = (TrendStep(*span, estimate(span)) for span in spans)
        table = summary_of(metric).trend(metric, len(spans), steps, query, places)
        return replace(table, about={**table.about, **part.about})

    def watch(self, metric: Metric, query: WatchQuery) -> Table:
        """Return the test for a change since a reference period; each day since with reports is a look.

        All looks are of one snapshot. Raises Problem if they cost too much, and what the metric's summary raises.
        """
        part = part_of(metric, query.strata, query.names())
        spans = (query.reference_since, query.reference_until), (query.first, query.until)
        with self._store.snapshot() as snapshot:
            history = snapshot.history(metric)
            sources = [Source.of(metric, part, history, span, query) for span in spans]
            days = [day for day, _ in sources[1].slice.reports]
            require_affordable(self._limit, metric, 1 + len(days), 0, reading=reading(metric, history))
            reference = sources[0].tally(snapshot)
            tallies = [snapshot.tally(metric, day, day, part.places) for day in days]

        def look(day: date, tally: Tally) -> Look:
            estimate = self._compute(metric, metric.labels, tally, query.confidence, False)
            return summary.look(metric, day, estimate)

        summary, total, looks = summary_of(metric), Tally.zero(metric.mechanism), []
        for day, tally in zip(days, tallies, strict=True):
            total = replace(total + tally, repeats=sources[1].until(history, day).repeats)
            looks.append(look(day, total))
        before = look(query.reference_until or query.first, reference)
        table = summary.watched(metric, before, looks, query)
        sides = [
            {"since": _iso(one.slice.days[0]), "until": _iso(one.slice.days[1]), "reports": one.slice.total}
            for one in sources
        ]
        about = {"metric": metric.name, "version": metric.version, "reference": sides[0], **sides[1]}
        return replace(table, about={**about, **part.about, **table.about})

    def retention(self, metric: Metric, query: RetentionQuery, today: date) -> Table:
        """Return the retention of a metric version (``analysis.retention``) in weeks that ended before ``today``."""
        require_ages(metric)
        part = part_of(metric, query.strata, query.names())
        end = min(query.until or date.max, date.fromordinal(today.toordinal() - 1))
        history = self._store.history(metric, None, end)
        weeks = [week for week in _steps(history, TrendQuery(step="week"), part) if week[1] <= end]
        steps = max(len(weeks), 1)
        cost = require_affordable(self._limit, metric, steps, len(metric.labels), reading=reading(metric, history))
        planned = [Source(metric, part, history.slice(*week, part.places), distinct=True) for week in weeks]

        def made(collected: Sequence[Collected]) -> Table:
            found = [Week(week[0], one.tally) for week, one in zip(weeks, collected, strict=True)]
            table = retained(metric, found, query.since, query.confidence)
            return replace(table, about={**table.about, **part.about})

        return self._answer(planned, lambda found: key_of(found, None, "retention", metric.version, query), cost, made)

    def estimates(self, metric: Metric, query: EstimateQuery, part: Subgroup = EVERYONE) -> Callable[[Span], Any]:
        """Return a function that estimates a span of days, without metadata."""
        return self._estimates(metric, part, self._store.history(metric), query)

    def spans(self, metric: Metric, query: TrendQuery, part: Subgroup = EVERYONE) -> list[tuple[date, date]]:
        """Return the days, weeks or months with reports; oldest first."""
        return _steps(self._store.history(metric, query.since, query.until), query, part)

    def _estimates(
        self, metric: Metric, part: Subgroup, history: History, query: EstimateQuery
    ) -> Callable[[Span], Any]:
        def estimated(span: Span) -> Any:
            return self._estimate(Source.of(metric, part, history, span, query), metric.labels, query.confidence)

        return estimated

    def _estimate(self, source: Source, labels: tuple[str, ...], confidence: float) -> Any:
        """Return the estimates of a source, without metadata."""

        def computed(collected: Sequence[Collected]) -> Any:
            return self._compute(source.metric, labels, collected[0][1], confidence, False)

        cost = effort(source.metric)
        return self._answer(
            [source], lambda found: key_of(found, labels, "estimate", confidence, False), cost, computed
        )

    def _planned(
        self,
        metric: Metric,
        part: Subgroup,
        span: Span,
        query: EstimateQuery,
        shown: int,
        *,
        steps: int = 1,
        extra_rows: int = 0,
    ) -> tuple[Source, int]:
        """Return a source as it is now, and the cost of an answer about it. Raises Problem if that is too high."""
        history = self._store.history(metric, *span)
        cost = require_affordable(self._limit, metric, steps, shown, extra_rows, reading(metric, history))
        return Source.of(metric, part, history, span, query), cost

    def _answer(
        self,
        planned: Sequence[Source],
        key: Callable[[Sequence[Source]], Hashable],
        cost: int,
        make: Callable[[Sequence[Collected]], T],
    ) -> T:
        """Return the answer for some sources: from the cache, or computed from one snapshot.

        ``cost`` is demanded before the snapshot is opened, because that may wait.
        """
        found = self._cache.find(key(planned))
        if found is None:
            self._demand(cost)
            with self._store.snapshot() as snapshot:
                found_there = [one.at(snapshot.history(one.metric, *one.span)) for one in planned]
                collected = [self._collected(snapshot, source) for source in found_there]
            found = self._cache.get(key([one.source for one in collected]), lambda: make(collected))
        return cast("T", found)

    def _whole(
        self,
        collected: Collected,
        query: EstimateQuery,
        candidates: tuple[str, ...] | None = None,
        places: Indices | None = None,
    ) -> Table:
        """Return the estimates of a source: of every value, or of those at ``places``."""
        source = collected.source

        def made() -> Table:
            (survey,), estimator = self._surveys([collected], keep=places is None)
            table = summary_of(source.metric).table(survey, query, estimator, candidates)
            sealed = about_sealed(source.slice.sealed)
            table = replace(table, about={**table.about, **source.part.about, **sealed})
            return table if places is None else table.chosen(places)

        return self._cache.get(_table_key(source, query, candidates, places), made)

    def _surveys(
        self, collected: Sequence[Collected], *, keep: bool = True
    ) -> tuple[list[CollectedReports], Estimator]:
        """Return the tally of each source, and a function that estimates these tallies.

        Estimates are cached if ``keep``: those of many days, of which few values are shown, would fill the cache.
        """
        known = {id(one.tally): one.source for one in collected}

        def remembered(
            metric: Metric, labels: tuple[str, ...], tally: Tally, confidence: float, simultaneous: bool
        ) -> Any:
            key = key_of([known[id(tally)]], labels, "estimate", confidence, simultaneous)
            return self._cache.get(key, lambda: self._compute(metric, labels, tally, confidence, simultaneous))

        surveys = [
            CollectedReports(source.metric, tally, source.slice.days, dict(source.slice.refused), weighting)
            for source, tally, weighting in collected
        ]
        return surveys, remembered if keep else self._compute

    def _chosen(self, table: Table, query: EstimateQuery, by: str = "frequency") -> Table:
        if query.selection.everything:
            return table
        if "value" not in table.columns:
            raise _nothing_to_choose()
        labels = cast("Sequence[str]", table.columns["value"])
        return table.chosen(query.selection.places(labels, lambda: np.asarray(table.columns[by], dtype=np.float64)))

    def _places(self, source: Source, query: EstimateQuery, labels: tuple[str, ...]) -> Indices:
        """Return which values are shown in each step of an answer."""
        if not labels:
            raise _nothing_to_choose()

        def frequency() -> Floats:
            found: Floats = self._estimate(source, labels, query.confidence).frequency
            return found

        return query.selection.places(labels, frequency)


def _table_key(
    source: Source, query: EstimateQuery, candidates: tuple[str, ...] | None, places: Indices | None
) -> Hashable:
    """Return the key of the estimates of a source: of every value, or at ``places``."""
    # Only the source depends on these, so that answers about other days share the cached estimates of common days.
    same = replace(query, since=None, until=None, values=(), top=None, limit=None, offset=0, strata=())
    if isinstance(same, Query):
        same = replace(same, by_day=False, by=())
    return key_of([source], candidates, "table", same, None if places is None else places.tolist())


def _tallies(metric: Metric, query: Query) -> int:
    """Return how many tallies an answer takes: with weights, those of all strata, too."""
    return 1 + (len(metric.strata) if query.weighted and metric.strata else 0)


def _shown(source: Source, sources: Sequence[Source]) -> bool:
    """Return whether a source gets an answer: if it has reports, or is the last, of all strata together."""
    return bool(source.slice.total) or source is sources[-1]


def _spans(history: History, query: Query, part: Subgroup) -> list[Span]:
    """Return the days with reports, if each is to have an answer; otherwise all requested days as one span."""
    if not query.by_day:
        return [(query.since, query.until)]
    return [(day, day) for day in history.days(part.places)]


def _steps(history: History, query: TrendQuery, part: Subgroup) -> list[tuple[date, date]]:
    """Return the days, weeks or months with reports; oldest first."""
    spans = []
    for start, _ in groupby(history.days(part.places), lambda day: first_day(day.toordinal(), query.step)):
        first, last = (date.fromordinal(day) for day in (start, last_day(start, query.step)))
        spans.append((max(first, query.since or first), min(last, query.until or last)))
    return spans


def _same_question(one: Metric, other: Metric) -> bool:
    """Return whether two versions of a metric differ in nothing but their noise."""
    return one.question.domain_digest == other.question.domain_digest and one.strata == other.strata


def _iso(day: date | None) -> str | None:
    return None if day is None else day.isoformat()


def _nothing_to_choose() -> ParameterError:
    return ParameterError(
        "values", "does not apply to this metric, which has no listed values; nor do top, limit and offset"
    )
