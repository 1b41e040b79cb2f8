"""What all kinds of questions have in common: how their tallies become answers, tables, texts and pages."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar

from dither_shared import Metric, ParameterError
from dither_shared.metrics.period import first_day

from ...analysis.columns import Column, Table
from ...analysis.sequential import Look
from ...analysis.trend import TrendStep
from ...analysis.weighted import Weighting
from ...json_schema import Schema
from ...tally.arrays import Indices
from ...tally.tally import Tally
from ..query import Combination, Comparison, EstimateQuery, Query, TrendQuery, WatchQuery

T = TypeVar("T")


class PageRequest(NamedTuple):
    """What a reader asks for: things that contain ``find``, and the ``page`` of them with ``size`` things per page."""

    find: str
    page: int
    size: int


@dataclass(frozen=True)
class Page(Generic[T]):
    """The things ``shown`` on one ``page`` of ``pages``, of those that ``match``."""

    shown: Sequence[T]
    page: int
    pages: int
    match: int


def page_of(things: Sequence[T], text: Callable[[T], str], request: PageRequest) -> Page[T]:
    """Return the requested page of the things whose ``text`` contains what is to be found.

    A page beyond the last is the last.
    """
    found = [thing for thing in things if request.find.casefold() in text(thing).casefold()]
    pages = max(1, -(-len(found) // request.size))
    page = min(request.page, pages)
    return Page(found[(page - 1) * request.size : page * request.size], page, pages, len(found))


Span = tuple[date | None, date | None]
"""Days, both included; None is the first or the last with reports."""


class _Estimated(Protocol):
    """Bare estimates of one tally, as the cache keeps them."""

    @property
    def reports(self) -> int:
        """How many reports they rest on."""

    @property
    def size(self) -> int:
        """Roughly how many bytes they take."""


class Steps(NamedTuple):
    """The steps of a time series: the first and last day of ``each`` day, week or month with reports, oldest first."""

    each: str
    spans: Sequence[tuple[date, date]]

    @property
    def starts(self) -> list[date]:
        """The first day of each, of a week its Monday."""
        return [date.fromordinal(first_day(first.toordinal(), self.each)) for first, _ in self.spans]

    def last(self, most: int) -> "Steps":
        """Return the last ``most`` steps."""
        return Steps(self.each, self.spans[-most:] if most > 0 else [])


E = TypeVar("E", bound=_Estimated)

Estimator = Callable[[Metric, tuple[str, ...], Tally, float, bool], Any]
"""What estimates a tally, or remembers its estimate: ``Summary.estimate``, or a cache of it."""


@dataclass(frozen=True)
class CollectedReports:
    """What was collected of a metric version on some days.

    ``refused`` counts the metric's refused batches by the problem's kind. ``weighting`` is None unless weights are
    asked for.
    """

    metric: Metric
    tally: Tally
    days: Span
    refused: Mapping[str, int]
    weighting: Weighting | None = None


class TextTable(NamedTuple):
    """An answer for a terminal: lines, a table whose first row is its head, lines below it, and further tables."""

    before: Sequence[str]
    rows: Sequence[Sequence[str]]
    after: Sequence[str] = ()
    more: Sequence["TextTable"] = ()


class PointEstimate(NamedTuple):
    """An estimate as people read it: its name, its figure, a ``doubt`` if there is one, and where it is drawn.

    Its place ``at`` and the ends of its interval are parts of the axis, from 0 to 1. One that may be 0 has no place.
    """

    name: str
    text: str
    doubt: str
    at: float | None
    low: float | None
    high: float | None


class EstimateView(ABC):
    """An answer as a page shows it. Its ``template`` reads it, and defines the macros ``answers`` and ``doubts``."""

    template: ClassVar[str]
    filled: ClassVar[bool] = False
    """Whether its point estimates are drawn as bars that begin at the low end of their axis."""
    top: float = 1.0
    """The part of the axis that the page draws."""
    table: Table

    @classmethod
    def of(cls, metric: Metric, table: Table, request: PageRequest) -> Self:
        """Return the part of a table that a page shows."""
        raise NotImplementedError

    def points(self, names: Sequence[str] | None = None) -> Sequence[PointEstimate]:
        """Return the estimates of these names, or the few that matter most, for a card or a small panel."""
        return ()

    def ticks(self, parts: int, top: float = 1.0) -> Sequence[str]:
        """Return the labels at the ends of ``parts`` equal parts of the axis up to ``top``; the last has the unit."""
        return percent_ticks(parts, top)

    @property
    def known(self) -> bool:
        """Whether there are enough reports to show more than their number."""
        return bool(self.table.about["reports"])

    @property
    @abstractmethod
    def needs(self) -> str:
        """A sentence on how many reports are needed to learn something, for a metric without any."""


def percent_ticks(parts: int, top: float) -> list[str]:
    """Return the labels of an axis of shares from 0 to ``top``."""
    labels = [f"{100 * top * place / parts:.3g}" for place in range(parts + 1)]
    return [*labels[:-1], f"{labels[-1]}%"]


class Summary(ABC, Generic[E]):
    """What an estimate of a kind of question is, and how it is read, compared, exported and shown."""

    columns: ClassVar[Sequence[Column]]
    """The columns of an export."""
    schema: ClassVar[Schema]
    """The API's answer."""
    shown_by: ClassVar[type[EstimateView]]
    """What a page reads of a table."""
    weighable: ClassVar[bool] = False
    """Whether its estimates can be weighted to a population."""
    searched: ClassVar[bool] = False
    """Whether its values were found among reports, rather than listed in the definition."""
    cheaper: ClassVar[str] = "ask for fewer days"
    """How to make one estimate cost less, in words."""
    daily: ClassVar[str | None] = None
    """The table of the store that keeps each day's answer for programs that read SQL, or None."""

    @abstractmethod
    def estimate(
        self, metric: Metric, labels: tuple[str, ...], tally: Tally, confidence: float, simultaneous: bool
    ) -> E:
        """Return the bare estimates of a tally. ``labels`` are the answers whose shares are estimated, if these are."""

    @abstractmethod
    def effort(self, metric: Metric) -> int:
        """Return the cost of one estimate (``costs``)."""

    def extra_rows(self, metric: Metric) -> int:
        """Return how many rows an answer has in addition to those of the chosen values."""
        return 0

    @abstractmethod
    def table(
        self,
        survey: CollectedReports,
        query: EstimateQuery,
        estimator: Estimator,
        candidates: tuple[str, ...] | None = None,
    ) -> Table:
        """Return the estimates of a survey as the API's answer. ``candidates`` replace those of the definition.

        Raises ParameterError for what cannot be estimated.
        """

    def flat(self, table: Table) -> Table:
        """Return an answer as a table with the export's ``columns``."""
        return table

    def compare(
        self, sides: tuple[CollectedReports, CollectedReports], query: Comparison, estimator: Estimator
    ) -> Table:
        """Return the comparison of two surveys. Raises ParameterError for what cannot be compared."""
        raise ParameterError("other", f"{sides[0].metric.name} asks a kind of question that cannot be compared")

    def combine(
        self, name: str, surveys: Sequence[CollectedReports], query: Combination, estimator: Estimator
    ) -> Table:
        """Return the combination of one metric's versions. Raises ParameterError for what cannot be combined."""
        raise ParameterError("metric", f"{name} asks a kind of question whose versions cannot be combined")

    def trend(
        self, metric: Metric, count: int, steps: Iterable[TrendStep[E]], query: TrendQuery, places: Indices | None
    ) -> Table:
        """Return the trend of ``count`` steps. Raises ParameterError if this kind has none."""
        raise ParameterError("metric", f"{metric.name} asks a kind of question that has no trend")

    def look(self, metric: Metric, day: date, estimate: E) -> Look:
        """Return what a watch tests of an estimate. Raises ParameterError if this kind cannot be watched."""
        raise ParameterError("metric", f"{metric.name} asks a kind of question that cannot be watched")

    def watched(self, metric: Metric, reference: Look, looks: Sequence[Look], query: WatchQuery) -> Table:
        """Return the test for a change since a reference period, given what was known on each day since."""
        raise ParameterError("metric", f"{metric.name} asks a kind of question that cannot be watched")

    def daily_rows(self, table: Table) -> list[dict[str, Any]]:
        """Return what is kept of a day's answer for programs that read SQL, as rows of the table ``daily``."""
        return []

    def view(self, survey: CollectedReports, query: Query, estimator: Estimator, request: PageRequest) -> EstimateView:
        """Return what a page shows of a survey: the table of the API, seen by ``shown_by``."""
        return self.shown_by.of(survey.metric, self.table(survey, query, estimator), request)

    def needs_simultaneous_intervals(self, metric: Metric) -> bool:
        """Return whether all intervals of a page must hold at once, because readers notice what chance made large."""
        return False

    @abstractmethod
    def time_series(
        self,
        metric: Metric,
        view: EstimateView,
        over: Steps,
        estimate: Callable[[Span], E],
        query: Query,
    ) -> Any:
        """Return the lines that a page draws over the last of these days or weeks, or None."""

    @abstractmethod
    def text(self, answer: Mapping[str, Any]) -> TextTable:
        """Return an answer for a terminal."""

    def compared_text(self, answer: Mapping[str, Any]) -> TextTable:
        """Return a comparison for a terminal."""
        raise NotImplementedError

    def trend_text(self, answer: Mapping[str, Any]) -> TextTable:
        """Return a trend for a terminal."""
        raise NotImplementedError
