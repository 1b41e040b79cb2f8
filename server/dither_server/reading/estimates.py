"""Read estimates from the tallies of a database, for routes, pages and commands."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from functools import cache, partial
from typing import Any, TypeVar, cast

import numpy as np

from dither_shared import Metric, ParameterError

from ..analysis.columns import Table
from ..analysis.population import KnownPopulation
from ..analysis.retention import Week, require_ages, retained
from ..analysis.sequential import Look
from ..analysis.trend import TrendStep
from ..store import History, Snapshot, Store
from ..tally.arrays import Floats, Indices
from ..tally.tally import Tally
from .analysis_limiter import effort, reading, require_affordable
from .query import Combination, Comparison, EstimateQuery, Query, RetentionQuery, Span, TrendQuery, WatchQuery
from .sources import (
    EVERYONE,
    AnswerCache,
    Source,
    Subgroup,
    about_sealed,
    both_sides,
    folded,
    has_same_question,
    has_stratum,
    key_of,
    part_of,
    parts_by,
)
from .summaries import summary_of
from .summaries.summary import CollectedReports, Estimator
from .summaries.view import EstimateView, PageRequest
from .weights import require_weights, weighting_of

T = TypeVar("T")


def _compute(metric: Metric, labels: tuple[str, ...], tally: Tally, confidence: float, simultaneous: bool) -> Any:
    return summary_of(metric).estimate(metric, labels, tally, confidence, simultaneous)


class EstimateReader:
    """Reads estimates from a store, and remembers answers by the slices of history that they come from.

    An answer is computed from one snapshot, so its numbers are of one moment. An answer that would cost more than
    ``limit`` (None: no limit) is refused before it is begun. ``demand`` is called with the cost of each part that is
    not cached, before a snapshot is opened for it: it may wait, or raise. ``compute`` makes an estimate of a tally, by
    default as the metric's summary does. Weighted estimates need a ``population``. Safe to use from many threads.
    """

    def __init__(
        self,
        store: Store,
        cache: AnswerCache | None = None,
        limit: int | None = None,
        demand: Callable[[int], None] = lambda _: None,
        compute: Estimator = _compute,
        population: KnownPopulation | None = None,
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
        part, history = part_of(metric, query.strata, query.names()), self._store.history(metric, *query.span)
        shown = query.count(len(metric.labels if candidates is None else candidates))
        cost = self._cost(metric, history, shown, steps=_tallies(metric, query), extra_rows=True)
        planned = [Source.of(metric, part, history, query.span, query)]
        if query.weighted:
            require_weights(self._population, metric, planned)
        ((source, whole),) = self._tables(planned, query, candidates, None, cost)
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
        part, history = part_of(metric, query.strata, query.names()), self._store.history(metric, *query.span)
        parts = [*(parts_by(metric, part, query.by) if query.by else []), part]
        spans: list[Span] = [(day, day) for day in history.days(part.places)] if query.by_day else [query.span]
        labels = metric.labels if candidates is None else candidates
        steps = len(spans) * len(parts) * _tallies(metric, query)
        cost = self._cost(metric, history, query.count(len(labels)), steps=steps, extra_rows=True)
        places = None
        if not query.shows_all:
            places = self._places(Source.of(metric, part, history, query.span, query), query, labels)
        planned = [[Source.of(metric, one, history, days, query) for one in parts] for days in spans]
        sources = [one for some in planned for one in some if one.slice.total or one is some[-1]]
        if query.weighted:
            require_weights(self._population, metric, sources)
        asked = _of_table(query, places)
        missing = sum(key_of([one], candidates, *asked) not in self._cache for one in sources)
        # All of it before the first step, because once a part is sent nothing can be refused any more.
        self._demand(cost * missing // max(1, len(sources)))
        for some in planned:
            for _, table in self._tables(some, query, candidates, places):
                yield replace(table, about={**table.about, **folded(history.folded_up_to)})

    def _tables(
        self,
        planned: Sequence[Source],
        query: Query,
        candidates: tuple[str, ...] | None,
        places: Indices | None,
        cost: int = 0,
    ) -> Iterator[tuple[Source, Table]]:
        """Yield the estimates of sources on the same days: of every value, or of those at ``places``."""

        def made(sources: Sequence[Source], collected: Sequence[CollectedReports]) -> Table:
            (source,), (survey,) = sources, collected
            if places is not None:  # estimates of many days, of which few values are shown, would fill the cache
                survey = replace(survey, estimator=self._compute)
            table = summary_of(source.metric).table(replace(survey, candidates=candidates), query)
            sealed = about_sealed(source.slice.sealed)
            table = replace(table, about={**table.about, **source.part.about, **sealed})
            return table if places is None else table.chosen(places)

        groups = [[source] for source in planned]
        for (source,), table in self._answers(groups, candidates, _of_table(query, places), cost, made):
            yield source, table

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
        spans: list[Span] = [query.span, (query.other_since, query.other_until)]
        planned = [
            self._planned(side, part, span, query)
            for side, part, span in zip((first, second), sides, spans, strict=True)
        ]
        summary = summary_of(first)
        if summary is not summary_of(second):
            kinds = f"{first.name} is a {first.question.kind}, {second.name} a {second.question.kind}"
            raise ParameterError("other", f"{kinds}; only metrics of like kinds can be compared")

        def compared(collected: Sequence[CollectedReports]) -> Table:
            table = summary.compare((collected[0], collected[1]), query)
            about = [{**side, **part.about} for side, part in zip(table.about["sides"], sides, strict=True)]
            return replace(table, about={**table.about, "sides": about})

        table = self._answer(planned, ("compare", query), compared)
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
            versions = [one for one in versions if has_same_question(named, one)]
        planned = [
            self._planned(one, part_of(one, query.strata), query.span, query, steps=len(versions)) for one in versions
        ]
        asked = ("combine", named.version, query)
        table = self._answer(planned, asked, lambda surveys: summary.combine(named.name, surveys, query))
        about = {"stratum": dict(query.strata)} if query.strata else {}
        return self._chosen(replace(table, about={**table.about, **about}), query)

    def estimate_view(self, metric: Metric, query: Query, part: Subgroup, request: PageRequest) -> EstimateView:
        """Return the view of a metric version that a page shows. Raises as ``table`` does."""
        planned = self._planned(metric, part, query.span, query, steps=_tallies(metric, query), extra_rows=True)
        if query.weighted:
            require_weights(self._population, metric, [planned[0]])
        summary = summary_of(metric)
        return self._answer(
            [planned], ("view", query, request), lambda surveys: summary.view(surveys[0], query, request)
        )

    def trend(self, metric: Metric, query: TrendQuery) -> Table:
        """Return the trend of a metric version; the most frequent values are those over all of the days."""
        part, history = part_of(metric, query.strata, query.names()), self._store.history(metric, *query.span)
        spans = query.spans(history.days(part.places))
        self._cost(metric, history, query.count(len(metric.labels)), steps=len(spans))
        places = None
        if not query.shows_all:
            places = self._places(Source.of(metric, part, history, query.span, query), query, metric.labels)
        estimate = self.estimates(metric, query, part, history)
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
            self._cost(metric, history, 0, steps=1 + len(days))
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
        ends = [[day and str(day) for day in source.slice.days] for source in sources]
        sides = [
            {"since": since, "until": until, "reports": source.slice.total}
            for source, (since, until) in zip(sources, ends, strict=True)
        ]
        about = {"metric": metric.name, "version": metric.version, "reference": sides[0], **sides[1]}
        return replace(table, about={**about, **part.about, **table.about})

    def retention(self, metric: Metric, query: RetentionQuery, today: date) -> Table:
        """Return the retention of a metric version (``analysis.retention``) in weeks that ended before ``today``."""
        require_ages(metric)
        part = part_of(metric, query.strata, query.names())
        end = min(query.until or date.max, date.fromordinal(today.toordinal() - 1))
        history = self._store.history(metric, None, end)
        weeks = [week for week in TrendQuery(step="week").spans(history.days(part.places)) if week[1] <= end]
        steps = max(len(weeks), 1)
        cost = self._cost(metric, history, len(metric.labels), steps=steps) // steps
        planned = [(Source(metric, part, history.slice(*week, part.places), distinct=True), cost) for week in weeks]

        def made(collected: Sequence[CollectedReports]) -> Table:
            found = [Week(week[0], one.tally) for week, one in zip(weeks, collected, strict=True)]
            table = retained(metric, found, query.since, query.confidence)
            return replace(table, about={**table.about, **part.about})

        return self._answer(planned, ("retention", metric.version, query), made)

    def estimates(
        self, metric: Metric, query: EstimateQuery, part: Subgroup = EVERYONE, history: History | None = None
    ) -> Callable[[Span], Any]:
        """Return a function that estimates a span of days of ``history`` (default: all days), without metadata."""
        days = history or self._store.history(metric)
        return lambda span: self._estimate(Source.of(metric, part, days, span, query), metric.labels, query.confidence)

    def spans(self, metric: Metric, query: TrendQuery, part: Subgroup = EVERYONE) -> list[tuple[date, date]]:
        """Return the days, weeks or months with reports; oldest first."""
        return query.spans(self._store.history(metric, *query.span).days(part.places))

    def _estimate(self, source: Source, labels: tuple[str, ...], confidence: float) -> Any:
        """Return the estimates of a source, without metadata."""

        def computed(collected: Sequence[CollectedReports]) -> Any:
            return self._compute(source.metric, labels, collected[0].tally, confidence, False)

        return self._answer([(source, effort(source.metric))], ("estimate", confidence, False), computed, labels)

    def _cost(self, metric: Metric, history: History, shown: int, *, steps: int = 1, extra_rows: bool = False) -> int:
        """Return the cost of an answer of that many steps. Raises Problem if it is too high."""
        more = summary_of(metric).extra_rows(metric) if extra_rows else 0
        return require_affordable(self._limit, metric, steps, shown, more, reading(metric, history))

    def _planned(
        self,
        metric: Metric,
        part: Subgroup,
        span: Span,
        query: EstimateQuery,
        *,
        steps: int = 1,
        extra_rows: bool = False,
    ) -> tuple[Source, int]:
        """Return a source as it is now, and the cost of an answer about it. Raises Problem if that is too high."""
        history = self._store.history(metric, *span)
        shown = query.count(len(metric.labels))
        cost = self._cost(metric, history, shown, steps=steps, extra_rows=extra_rows)
        return Source.of(metric, part, history, span, query), cost

    def _answer(
        self,
        planned: Sequence[tuple[Source, int]],
        asked: tuple[object, ...],
        make: Callable[[Sequence[CollectedReports]], T],
        labels: tuple[str, ...] | None = None,
    ) -> T:
        """Return the answer about ``planned`` sources, each with its cost; ``asked`` is its key in the cache."""
        sources, cost = [source for source, _ in planned], sum(cost for _, cost in planned)
        ((_, answer),) = self._answers([sources], labels, asked, cost, lambda _, collected: make(collected))
        return answer

    def _answers(
        self,
        planned: Sequence[Sequence[Source]],
        labels: tuple[str, ...] | None,
        asked: tuple[object, ...],
        cost: int,
        make: Callable[[Sequence[Source], Sequence[CollectedReports]], T],
    ) -> Iterator[tuple[Sequence[Source], T]]:
        """Yield an answer for each group of sources that has reports, and for the last; all are of one moment.

        If all are cached, nothing is read. Otherwise ``cost`` is demanded before the snapshot is opened, because that
        may wait, and everything is read again in the snapshot.
        """

        def known(groups: Sequence[Sequence[Source]]) -> list[tuple[Sequence[Source], Any]]:
            return [
                (group, self._cache.find(key_of(group, labels, *asked)))
                for group in groups
                if group is groups[-1] or any(source.slice.total for source in group)
            ]

        answers, read = known(planned), dict[int, list[CollectedReports]]()
        if any(answer is None for _, answer in answers):
            self._demand(cost)
            with self._store.snapshot() as snapshot:
                history = cache(snapshot.history)
                answers = known([[one.at(history(one.metric, *one.span)) for one in group] for group in planned])
                for place, (group, answer) in enumerate(answers):
                    if answer is None:
                        read[place] = [self._collected(snapshot, source) for source in group]
        for place, (group, answer) in enumerate(answers):
            if place in read:
                made = partial(make, group, read[place])
                yield group, self._cache.get(key_of(group, labels, *asked), made)
            else:
                yield group, answer

    def _collected(self, snapshot: Snapshot, source: Source) -> CollectedReports:
        """Return the reports of a source in a snapshot, with its weights if asked for; their estimates are cached."""
        metric, tally = source.metric, source.tally(snapshot)

        def remembered(
            metric: Metric, labels: tuple[str, ...], tally: Tally, confidence: float, simultaneous: bool
        ) -> Any:
            key = key_of([source], labels, "estimate", confidence, simultaneous)
            return self._cache.get(key, lambda: self._compute(metric, labels, tally, confidence, simultaneous))

        weighting = weighting_of(self._population, source, snapshot)
        return CollectedReports(metric, tally, source.slice.days, dict(source.slice.refused), remembered, weighting)

    def _chosen(self, table: Table, query: EstimateQuery, by: str = "frequency") -> Table:
        if query.shows_all:
            return table
        if "value" not in table.columns:
            raise _nothing_to_choose()
        labels = cast("Sequence[str]", table.columns["value"])
        return table.chosen(query.places(labels, lambda: np.asarray(table.columns[by], dtype=np.float64)))

    def _places(self, source: Source, query: EstimateQuery, labels: tuple[str, ...]) -> Indices:
        """Return which values are shown in each step of an answer."""
        if not labels:
            raise _nothing_to_choose()

        def frequency() -> Floats:
            found: Floats = self._estimate(source, labels, query.confidence).frequency
            return found

        return query.places(labels, frequency)


def _of_table(query: Query, places: Indices | None) -> tuple[object, ...]:
    """Return the cache key of a table of every value, or of the values at ``places``."""
    # Only the source depends on the days, so that answers about other days share the cached estimates of common days.
    same = replace(
        query, since=None, until=None, values=(), top=None, limit=None, offset=0, strata=(), by_day=False, by=()
    )
    return "table", same, None if places is None else places.tolist()


def _tallies(metric: Metric, query: Query) -> int:
    """Return how many tallies an answer is computed from; weights also need those of all strata."""
    return 1 + (len(metric.strata) if query.weighted and metric.strata else 0)


def _nothing_to_choose() -> ParameterError:
    return ParameterError(
        "values", "does not apply to this metric, which has no listed values; nor do top, limit and offset"
    )
