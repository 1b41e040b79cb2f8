"""A metric as pages show it: whole on a page of its own, and on a card of an index."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any, NamedTuple

from dither_shared import Metric

from ..api.lookup import described
from ..reading.estimates import EstimateReader
from ..reading.strata import Part, part_of
from ..reading.summaries import summary_of
from ..reading.summaries.paging import PageRequest
from ..reading.summaries.summary import EstimateView, PointEstimate
from ..reading.summaries.svg import Bar, TimeSeries, bars_of_days
from ..store import Store
from .metric_groups import tier_of
from .period import days_of, denominator, in_words
from .view import View

_LINES = 3
"""Maximum lines of the drawing on a card of an index."""


def question_of(metric: Metric) -> str:
    """Return what a metric asks: its description or, without one, its name."""
    return metric.description or metric.name


class MetricCard(NamedTuple):
    """A metric on a page, from the reports of some strata; ``estimates`` is None if nothing can be looked for."""

    metric: Metric
    view: View
    part: Part
    days: list[Bar]
    disabled: date | None
    estimates: EstimateView | None = None

    @property
    def answer(self) -> Mapping[str, Any] | None:
        """The fields about its estimates."""
        return None if self.estimates is None else self.estimates.table.about

    @property
    def described(self) -> dict[str, object]:
        """What the metric asks and promises."""
        return described(self.metric)

    @property
    def question(self) -> str:
        """What is asked."""
        return question_of(self.metric)

    @property
    def last(self) -> str:
        """The last day with reports that is shown, in words; empty if there is none."""
        until = (self.answer or {}).get("until") if (self.answer or {}).get("reports") else None
        return in_words(date.fromisoformat(until)) if until else ""

    @property
    def denominator(self) -> str:
        """Which reports its estimates are of, in words."""
        return "" if self.answer is None else denominator(self.answer, self.metric.period)


def card_of(
    metric: Metric, view: View, most: int, store: Store, reader: EstimateReader, *, hidden: bool = False
) -> MetricCard:
    """Return what a page shows of a metric, with at most ``most`` values and, if ``hidden``, without any estimate.

    Readers of many values notice those that stand out, some of them by chance: there all intervals hold at once.
    """
    if summary_of(metric).needs_simultaneous_intervals(metric):
        view = replace(view, query=replace(view.query, simultaneous=True))
    query = view.query
    part = part_of(metric, query.strata, view.names())
    days = bars_of_days(days_of(store, metric, query, part))
    parts = (metric, view, part, days, store.definitions.disabled().get(metric.version))
    if hidden or not metric.question.estimable:
        return MetricCard(*parts)
    return MetricCard(*parts, reader.estimate_view(metric, query, part, PageRequest(view.find, view.page, most)))


class IndexCard(NamedTuple):
    """A question on an index: where its page is, its few most important estimates, and their lines over the weeks.

    ``estimable`` is False if nothing can be looked for, or nothing is published; ``known`` if the reports are enough to
    show more than their number. ``more`` counts the values not shown. ``ended`` is the last day with reports of a
    metric that is no longer asked.
    """

    href: str
    name: str
    question: str
    why: str
    tier: str
    estimable: bool
    known: bool
    reports: int
    last: str
    needs: str
    points: Sequence[PointEstimate]
    filled: bool
    ticks: Sequence[str]
    more: int
    lines: Sequence[str]
    weeks: Sequence[date]
    odd: bool
    disabled: date | None
    ended: str


def index_card(card: MetricCard, series: TimeSeries | None, href: str, ended: str = "") -> IndexCard:
    """Return what an index shows of a metric, given its lines over weeks."""
    metric, estimates, answer = card.metric, card.estimates, card.answer or {}
    reports = answer.get("reports", 0)
    points = estimates.points() if estimates is not None and estimates.known else ()
    return IndexCard(
        href,
        metric.name,
        card.question,
        metric.why,
        tier_of(metric),
        estimates is not None,
        estimates is not None and estimates.known,
        reports,
        answer.get("until") or "",
        "" if estimates is None else estimates.needs,
        points,
        estimates is not None and estimates.filled,
        () if estimates is None else estimates.ticks(2),
        len(estimates.table) - len(points) if estimates is not None and estimates.filled else 0,
        [line.drawing.line for line in series.lines[:_LINES]] if series and points else (),
        series.over.starts if series else (),
        any(check["odd"] for check in answer.get("health", ())),
        card.disabled,
        ended,
    )
