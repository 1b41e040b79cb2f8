"""A metric as pages show it: completely on its own page, and on a card of an index; and its days in words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any, NamedTuple

from dither_shared import Metric
from dither_shared.counted import counted

from ..analysis.composition import rounded_up
from ..analysis.shuffling.amplified import CONDITIONS
from ..api.routing import described
from ..reading.analysis_limiter import effort
from ..reading.estimates import EstimateReader
from ..reading.query import TrendQuery
from ..reading.sources import Subgroup, about_sealed, part_of
from ..reading.summaries import summary_of
from ..reading.summaries.view import (
    EstimateView,
    PageRequest,
    PointEstimate,
    ReportBar,
    Steps,
    TimeSeries,
    bars_of_days,
)
from ..store import Store
from .view import View

_LINES = 3
"""Maximum lines in the drawing on a card of an index."""

_WORK = 20_000
"""Cost budget for the values that a page draws over time, so that it takes about a second."""

_DAYS = 60
"""Maximum days whose reports are drawn: the last ones."""

_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_AT_MOST = {
    "day": "at most one per device per day",
    "week": "at most one per device per week",
    "month": "at most one per device per month",
    "once": "at most one per device",
}


_CONDITIONS = (
    f"This does not replace ε, and is true only if {'; '.join(CONDITIONS)} "
    "(dither-sim shuffle --forged 10% subtracts forged ones)."
)


class MetricCard(NamedTuple):
    """A metric on a page, from the reports of some strata; ``estimates`` is None if there are no candidates."""

    metric: Metric
    view: View
    part: Subgroup
    days: list[ReportBar]
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
        """The question, in words."""
        return question_of(self.metric)

    @property
    def known(self) -> bool:
        """Whether there are enough reports to show more than their number."""
        return self.estimates is not None and self.estimates.known

    @property
    def odd(self) -> bool:
        """Whether the reports fail a test that honest ones pass."""
        return any(check["odd"] for check in (self.answer or {}).get("health", ()))

    @property
    def last(self) -> str:
        """The last day with reports, in words."""
        return "" if self.answer is None else in_words(date.fromisoformat(self.answer["until"]))

    @property
    def denominator(self) -> str:
        """Which reports its estimates are based on, in words."""
        return "" if self.answer is None else denominator(self.answer, self.metric.period)


class IndexCard(NamedTuple):
    """A question on an index: the address of its page, its lines over the weeks, and until when it was asked.

    ``ended`` is the last day with reports of a metric that is no longer asked, in words.
    """

    card: MetricCard
    href: str
    series: TimeSeries | None
    ended: str = ""

    @property
    def points(self) -> Sequence[PointEstimate]:
        """The few most important estimates."""
        return self.card.estimates.points() if self.card.estimates is not None and self.card.known else ()

    @property
    def more(self) -> int:
        """How many values are not shown."""
        estimates = self.card.estimates
        return len(estimates.table) - len(self.points) if estimates is not None and estimates.filled else 0

    @property
    def lines(self) -> Mapping[str, str]:
        """The lines of the first of these estimates over the weeks, by name, as points of SVG."""
        drawn = {line.name: line.drawing.line for line in self.series.lines} if self.series else {}
        return {point.name: drawn[point.name] for point in self.points[:_LINES] if point.name in drawn}


def question_of(metric: Metric) -> str:
    """Return the question of a metric: its description or, without one, its name."""
    return metric.description or metric.name


def card_of(
    metric: Metric, view: View, most: int, store: Store, reader: EstimateReader, *, hidden: bool = False
) -> MetricCard:
    """Return what a page shows of a metric, with at most ``most`` values and, if ``hidden``, without any estimate.

    Readers of many values notice those that stand out, some of them by chance: so all intervals hold together there.
    """
    if summary_of(metric).needs_simultaneous_intervals(metric):
        view = replace(view, query=replace(view.query, simultaneous=True))
    query = view.query
    part = part_of(metric, query.strata, view.names())
    reports = store.history(metric, query.since, query.until).days(part.places)
    days = bars_of_days(dict(list(reports.items())[-_DAYS:]))
    parts = (metric, view, part, days, store.definitions.disabled().get(metric.version))
    if hidden or not metric.question.estimable:
        return MetricCard(*parts)
    return MetricCard(*parts, reader.estimate_view(metric, query, part, PageRequest(view.find, view.page, most)))


def weeks_of(card: MetricCard, reader: EstimateReader) -> Steps:
    """Return the weeks with reports, clipped to the days that are asked for."""
    query = card.view.query
    return Steps(
        "week", reader.spans(card.metric, TrendQuery(since=query.since, until=query.until, step="week"), card.part)
    )


def time_series(card: MetricCard, reader: EstimateReader, over: Steps) -> TimeSeries | None:
    """Return the lines of a metric over days or weeks; None if nothing is known, or only one of them."""
    over = over.last(_WORK // effort(card.metric))
    if card.estimates is None or not card.known or len(over.spans) < 2:
        return None
    return card.estimates.time_series(over, reader.estimates(card.metric, card.view.query, card.part))


def sealed_words(card: MetricCard, store: Store) -> list[str]:
    """Return how many of the reports came sealed, and how that protects them, in words; nothing if none did."""
    query = card.view.query
    came = store.sealed(card.metric, query.since, query.until, card.part.places)
    about = about_sealed(came, card.metric, (card.answer or {}).get("periods", 1))
    return list(words_of_sealed(about["sealed"])) if about else []


def words_of_sealed(sealed: Mapping[str, Any]) -> Iterator[str]:
    """Yield the sentences of a page about the field ``sealed`` of an answer."""
    refused = f"; {sealed['refused']:,} more were not counted" if sealed["refused"] else ""
    batches = counted(sealed["batches"], "batch", "batches")
    yield (
        f"{sealed['reports']:,} of these reports came sealed, through a relay, in {batches}{refused}. According to "
        f"the relay, each was shuffled among at least {sealed['least_total']:,}."
    )
    worth = sealed["shuffled"]
    if "none" in worth:
        yield f"Shuffling adds nothing here: {worth['none']}."
        return
    each = (
        f"n = {worth['reports']:,} and δ = {worth['delta']:g} the ε of one report is {rounded_up(worth['epsilon'], 3)}"
    )
    if worth["periods"] > 1:
        together = f"ε = {rounded_up(worth['together'], 3)} and δ = {rounded_up(worth['together_delta'], 3)}"
        each += f", and that of {worth['periods']:,} of one device, one in each period, {together}"
    yield f"To someone who sees all reports of a batch and nothing else, for {each}."
    yield _CONDITIONS


def denominator(about: Any, period: str) -> str:
    """Return which reports an answer is based on, in words."""
    if about["since"] is None or about["until"] is None:
        return "no reports"
    reports = "the only report" if about["reports"] == 1 else f"the {about['reports']:,} reports"
    since, until = date.fromisoformat(about["since"]), date.fromisoformat(about["until"])
    return f"{reports} {span_in_words(since, until)}, {_AT_MOST[period]}"


def in_words(day: date) -> str:
    """Return a day as 23 November 2026."""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def span_in_words(since: date, until: date) -> str:
    """Return a span of days in words, naming a common month and year once."""
    day, month, year = str(since.day), _MONTHS[since.month - 1], str(since.year)
    last = in_words(until)
    if since == until:
        return f"on {last}"
    if since.year != until.year:
        return f"from {day} {month} {year} to {last}"
    return f"from {day} to {last}" if since.month == until.month else f"from {day} {month} to {last}"
