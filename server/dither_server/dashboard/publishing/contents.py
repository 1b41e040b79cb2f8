"""The content of a published site: all metric versions with reports, their days, and the content of their pages."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import NamedTuple

from dither_shared import Metric, ParameterError
from dither_shared.counted import counted
from dither_shared.metrics.period import first_day

from ...analysis.retention import has_retention
from ...reading.estimates import EstimateReader
from ...reading.exports import FORMATS, Answered, attributes_of, json_object
from ...reading.query import Query, RetentionQuery, TrendQuery
from ...reading.sources import part_of
from ...reading.summaries import summary_of
from ...reading.summaries.view import PageRequest, ReportBar, TimeSeries, bars_of_days
from ...store import Store
from ..card import (
    IndexCard,
    MetricCard,
    card_of,
    in_words,
    question_of,
    sealed_words,
    span_in_words,
    time_series,
    weeks_of,
)
from ..panels import TITLES, VALUES, Panels, RetentionView, panels_within, refused_words, retention_of
from ..view import View

FORMATS_OF_SITE = ("csv", "ndjson", "json")
"""The formats of every table: those that need no package to be read."""

_WEEKLY = 12
"""Maximum values whose weeks are written: for thousands, they would be larger than everything else."""


@dataclass(frozen=True)
class SiteScope:
    """The scope of a site: its days (both included), confidence, and whether discovered strings are published."""

    since: date | None
    until: date
    confidence: float = 0.95
    discovered: bool = False


class Edition(NamedTuple):
    """One version of a metric, with the days of its reports that are published.

    ``current`` marks the version that the definition asks or, for a former metric, the one reported last.
    """

    metric: Metric
    days: tuple[date, ...]
    current: bool

    def query(self, scope: SiteScope) -> Query:
        """Return its query: from its first day with reports to its last, whatever the calendar says."""
        first, last = (self.days[0], self.days[-1]) if self.days else (scope.until, scope.until)
        return Query(since=first, until=last, confidence=scope.confidence)

    @property
    def folder(self) -> str:
        """The folder of its files."""
        return f"metrics/{self.metric.name}"

    @property
    def page(self) -> str:
        """The path of its page."""
        return f"{self.folder}/{'index' if self.current else self.metric.version}.html"

    def file(self, ending: str) -> str:
        """Return the name of one of its tables within the folder."""
        return ".".join([self.metric.name, *([] if self.current else [self.metric.version]), ending])


class Topic(NamedTuple):
    """A metric: its versions, the current one first, and whether it is still asked."""

    name: str
    editions: tuple[Edition, ...]
    asked: bool

    @property
    def question(self) -> str:
        """The question as it is asked now or, for a former metric, was asked last."""
        return question_of(self.current.metric)

    @property
    def current(self) -> Edition:
        """The version that is asked now or, for a former metric, was asked last."""
        return self.editions[0]


def last_whole_day(today: date, folded: datetime | None, spool_seconds: float) -> date:
    """Return the last UTC day that is over and, if collectors spool, whose reports are all counted.

    ``folded`` is when the last fold began, which counted reports received up to ``spool_seconds`` before.
    """
    last = today - timedelta(days=1)
    if folded is None:
        return last
    return min(last, (folded - timedelta(seconds=spool_seconds)).date() - timedelta(days=1))


def topics(
    store: Store, metrics: Mapping[str, Metric], scope: SiteScope, left_out: list[ParameterError]
) -> Iterator[Topic]:
    """Yield the metrics of the definition in their order, then former ones by name.

    Versions without reports on these days are left out, except the current one. Definitions that this program cannot
    read are added to ``left_out``.
    """
    former = sorted({name for name, _ in store.definitions.registered()} - metrics.keys())
    for name in (*metrics, *former):
        known = [] if name not in metrics else [Edition(metrics[name], _days(store, metrics[name], scope), True)]
        current = {one.metric.version for one in known}
        older: list[Edition] = []
        for version in store.definitions.versions(name):
            try:
                metric = None if version in current else store.definitions.read(name, version)
            except ParameterError as error:
                left_out.append(ParameterError(f"{name} {version}", str(error)))
                continue
            if metric is not None and (days := _days(store, metric, scope)):
                older.append(Edition(metric, days, False))
        older.sort(key=lambda one: (one.days[-1], one.metric.version), reverse=True)
        if not known and older:
            older[0] = older[0]._replace(current=True)
        if known or older:
            yield Topic(name, (*known, *older), name in metrics)


def _days(store: Store, metric: Metric, scope: SiteScope) -> tuple[date, ...]:
    return tuple(day for day in store.reports_by_day(metric) if (scope.since or date.min) <= day <= scope.until)


class EditionPage(NamedTuple):
    """The page of a version: its card, strata, weeks, and sealed and refused batches in words."""

    edition: Edition
    card: MetricCard
    panels: Panels | None
    time_series: TimeSeries | None
    weeks: Sequence[ReportBar]
    sealed: Sequence[str]
    refused: Sequence[tuple[str, str]]
    retention: RetentionView | None


class SiteReader:
    """Reads the content of pages and tables. Nothing depends on the day on which it is read."""

    def __init__(self, store: Store, reader: EstimateReader, scope: SiteScope) -> None:
        self._store = store
        self._reader = reader
        self._scope = scope

    def content(self, edition: Edition) -> EditionPage:
        """Return the content of a version's page."""
        metric = edition.metric
        card = card_of(
            metric,
            View(edition.query(self._scope)),
            VALUES,
            self._store,
            self._reader,
            hidden=summary_of(metric).searched and not self._scope.discovered,
        )
        series = time_series(card, self._reader, weeks_of(card, self._reader)) if card.known else None
        refused = [
            (TITLES.get(kind, kind), refused_words(kind, number))
            for kind, number in sorted((card.answer or {}).get("refused", {}).items())
        ]
        panels = panels_within(card, self._reader)
        retention = self._retention(edition) if has_retention(metric) and edition.days else None
        sealed = sealed_words(card, self._store)
        return EditionPage(edition, card, panels, series, self._weeks(edition), sealed, refused, retention)

    def _retention(self, edition: Edition) -> RetentionView:
        """Return the retention in the weeks that have ended by the last published day with reports."""
        query = RetentionQuery(since=self._scope.since, until=edition.days[-1], confidence=self._scope.confidence)
        end = edition.days[-1] + timedelta(days=1)
        return retention_of(edition.metric, self._reader.retention(edition.metric, query, end))

    def index_card(self, topic: Topic, shown: EditionPage) -> IndexCard:
        """Return the card of a metric on the first page."""
        ended = "" if topic.asked else in_words(topic.current.days[-1])
        return IndexCard(shown.card, topic.current.page, shown.time_series, ended)

    def weeks(self, edition: Edition) -> list[tuple[date, date]]:
        """Return the weeks with reports of a version, from Monday to Sunday, clipped to the days that are published."""
        query = edition.query(self._scope)
        return self._reader.spans(edition.metric, TrendQuery(since=query.since, until=query.until, step="week"))

    def week_in_words(self, edition: Edition, span: tuple[date, date]) -> str:
        """Return the answers of a week in a sentence, for the feed."""
        metric, query = edition.metric, replace(edition.query(self._scope), since=span[0], until=span[1])
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

    def has_tables(self, edition: Edition) -> bool:
        """Return whether there is anything to write: reports, and values whose shares are published."""
        hidden = summary_of(edition.metric).searched and not self._scope.discovered
        return bool(edition.days) and edition.metric.question.estimable and not hidden

    def tables(self, edition: Edition) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Yield the name and the pieces of each table of a version, if it has reports."""
        if not self.has_tables(edition):
            return
        for form in FORMATS_OF_SITE:
            yield f"{edition.folder}/{edition.file(form)}", self._written(form, [edition], by=False)
        if edition.metric.strata is not None:
            for form in FORMATS_OF_SITE:
                yield f"{edition.folder}/{edition.file(f'strata.{form}')}", self._written(form, [edition], by=True)
        if not summary_of(edition.metric).searched:
            yield f"{edition.folder}/{edition.file('weeks.json')}", self._weekly(edition)

    def joint_tables(self, editions: Sequence[Edition]) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Yield the tables of all versions, appended: each row names its metric and version."""
        shown = [one for one in editions if self.has_tables(one)]
        if shown:
            yield from ((f"all.{form}", self._written(form, shown, by=False)) for form in FORMATS_OF_SITE)

    def _written(self, form: str, editions: Sequence[Edition], *, by: bool) -> Iterator[bytes]:
        metrics = [one.metric for one in editions]
        kinds = list(dict.fromkeys(map(summary_of, metrics)))
        answers = (answer for one in editions for answer in self._answers(one, by=by))
        return FORMATS[form].write(answers, kinds, attributes_of(metrics))

    def _answers(self, edition: Edition, *, by: bool) -> Iterator[Answered]:
        """Yield the answers about a version, without what depends on the moment of a fold."""
        metric, query = edition.metric, edition.query(self._scope)
        summary = summary_of(metric)
        if summary.needs_simultaneous_intervals(metric):
            query = replace(query, simultaneous=True)
        if by:
            query = replace(query, by=tuple(attributes_of([metric])))
        for table in self._reader.tables(metric, query):
            about = {name: value for name, value in table.about.items() if name != "folded_up_to"}
            yield summary, replace(table, about=about)

    def _weekly(self, edition: Edition) -> Iterator[bytes]:
        metric, query = edition.metric, edition.query(self._scope)
        top = _WEEKLY if metric.labels else None
        weekly = TrendQuery(since=query.since, until=query.until, confidence=query.confidence, step="week", top=top)
        yield from json_object(self._reader.trend(metric, weekly))
        yield b"\n"


_PLANES = "".join(chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF))
"""The two noncharacters at the end of each plane."""

_UNFIT = re.compile(f"[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202d\u202e\ud800-\udfff\ufdd0-\ufdef{_PLANES}]")


def replace_control_chars(text: str) -> str:
    """Return a text with U+FFFD in place of each character that is not allowed.

    These are control characters and noncharacters (XML 1.0, section 2.2; HTML, section 13.2.3.5), and the two overrides
    of the writing direction, with which 75 % would be read as 57 %.
    """
    return _UNFIT.sub("�", text)
