"""What a published page shows of one version of a metric."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import NamedTuple

from dither_shared.counted import counted
from dither_shared.metrics.period import first_day

from ...analysis.retention import has_retention
from ...reading.estimates import EstimateReader
from ...reading.query import RetentionQuery, TrendQuery
from ...reading.sources import part_of
from ...reading.summaries import summary_of
from ...reading.summaries.view import PageRequest, ReportBar, TimeSeries, bars_of_days
from ...store import Store
from ..activity import RetentionView, retention_of
from ..card import IndexCard, MetricCard, card_of, in_words, sealed_words, span_in_words, time_series, weeks_of
from ..panels import TITLES, VALUES, Panels, panels_within, refused_words
from ..view import View
from .editions import Asked, Edition, Topic


class Shown(NamedTuple):
    """The page of a version: its card, strata, weeks, and sealed and refused batches in words."""

    edition: Edition
    card: MetricCard
    panels: Panels | None
    time_series: TimeSeries | None
    weeks: Sequence[ReportBar]
    sealed: Sequence[str]
    refused: Sequence[tuple[str, str]]
    retention: RetentionView | None = None


class Gatherer:
    """Reads what pages show. Nothing depends on the day of reading."""

    def __init__(self, store: Store, reader: EstimateReader, asked: Asked) -> None:
        self._store = store
        self._reader = reader
        self._asked = asked

    def shown(self, edition: Edition) -> Shown:
        """Return what a version's page shows."""
        metric = edition.metric
        card = card_of(
            metric,
            View(edition.query(self._asked)),
            VALUES,
            self._store,
            self._reader,
            hidden=summary_of(metric).searched and not self._asked.discovered,
        )
        series = time_series(card, self._reader, weeks_of(card, self._reader)) if card.known else None
        refused = [
            (TITLES.get(kind, kind), refused_words(kind, number))
            for kind, number in sorted((card.answer or {}).get("refused", {}).items())
        ]
        panels = panels_within(card, self._reader)
        shown = Shown(edition, card, panels, series, self._weeks(edition), sealed_words(card, self._store), refused)
        return shown._replace(retention=self._retention(edition)) if has_retention(metric) and edition.days else shown

    def _retention(self, edition: Edition) -> RetentionView:
        """Return the retention in the weeks that are over on the last day with reports that is published."""
        asked = RetentionQuery(since=self._asked.since, until=edition.days[-1], confidence=self._asked.confidence)
        end = edition.days[-1] + timedelta(days=1)
        return retention_of(edition.metric, lambda metric: self._reader.retention(metric, asked, end))

    def index_card(self, topic: Topic, shown: Shown) -> IndexCard:
        """Return what the first page shows of a metric."""
        ended = "" if topic.asked else in_words(topic.current.days[-1])
        return IndexCard(shown.card, topic.current.page, shown.time_series, ended)

    def weeks(self, edition: Edition) -> list[tuple[date, date]]:
        """Return the weeks with reports of a version, from Monday to Sunday, clipped to the days that are published."""
        query = edition.query(self._asked)
        return self._reader.spans(edition.metric, TrendQuery(since=query.since, until=query.until, step="week"))

    def week_in_words(self, edition: Edition, span: tuple[date, date]) -> str:
        """Return the answers of a week in a sentence, for the feed."""
        metric, query = edition.metric, replace(edition.query(self._asked), since=span[0], until=span[1])
        reports = sum(self._reports(edition, span).values())
        among = f"{counted(reports, 'report')} {span_in_words(*span)}"
        summary = summary_of(metric)
        if not metric.question.estimable or summary.searched:
            return f"{among}."
        view = self._reader.estimate_view(
            metric,
            replace(query, simultaneous=summary.needs_simultaneous_intervals(metric)),
            part_of(metric, ()),
            PageRequest("", 1, VALUES),
        )
        points = "; ".join(f"{one.name}: {one.text}{one.doubt and f' ({one.doubt})'}" for one in view.points())
        return f"Of {among}: {points}."

    def _weeks(self, edition: Edition) -> list[ReportBar]:
        sums: dict[date, int] = {}
        if edition.days:
            for day, reports in self._reports(edition, (edition.days[0], edition.days[-1])).items():
                monday = date.fromordinal(first_day(day.toordinal(), "week"))
                sums[monday] = sums.get(monday, 0) + reports
        return bars_of_days(sums, 7)

    def _reports(self, edition: Edition, span: tuple[date, date]) -> dict[date, int]:
        found = self._store.reports_by_day(edition.metric)
        return {day: reports for day, reports in found.items() if span[0] <= day <= span[1]}
