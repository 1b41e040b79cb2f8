"""What pages show of an estimate: the base of all views, pages of a list, and drawings in SVG, which need no script."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import InitVar, dataclass
from datetime import date
from itertools import pairwise
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from dither_shared import Metric
from dither_shared.metrics.period import first_day

from ...analysis.columns import Table
from ..query import Span

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
    """Return the requested page of the things whose ``text`` contains the requested text.

    A page beyond the last is the last.
    """
    found = [thing for thing in things if request.find.casefold() in text(thing).casefold()]
    pages = max(1, -(-len(found) // request.size))
    page = min(request.page, pages)
    return Page(found[(page - 1) * request.size : page * request.size], page, pages, len(found))


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


@dataclass(frozen=True)
class EstimateView(ABC):
    """An answer as a page shows it. Its ``template`` reads it, and defines the macros ``answers`` and ``doubts``."""

    template: ClassVar[str]
    filled: ClassVar[bool] = False
    """Whether its point estimates are drawn as bars that begin at the low end of their axis."""

    metric: Metric
    table: Table
    request: InitVar[PageRequest]

    def __post_init__(self, request: PageRequest) -> None:  # noqa: B027 - a view of a few numbers shows all
        """Find the part of the table that is requested. A view is cached, and does not keep the request's text."""

    @property
    def top(self) -> float:
        """The part of the axis that the page draws."""
        return 1.0

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

    def time_series(self, over: Steps, estimate: Callable[[Span], Any]) -> "TimeSeries | None":
        """Return the lines that a page draws over at least two steps, each of which is estimated, or None."""
        return None


def percent_ticks(parts: int, top: float) -> list[str]:
    """Return the labels of an axis of shares from 0 to ``top``."""
    labels = [f"{100 * top * place / parts:.3g}" for place in range(parts + 1)]
    return [*labels[:-1], f"{labels[-1]}%"]


WIDTH, HEIGHT = 600.0, 80.0


@dataclass(frozen=True)
class ReportBar:
    """The reports of a day, or of the week that begins with it, as a bar of a drawing of 600 by 80."""

    day: date
    reports: int
    x: float
    y: float
    width: float
    height: float


class _Slot(NamedTuple):
    """The part of a drawing's width that answers the pointer with the numbers of one step."""

    x: float
    width: float


@dataclass(frozen=True)
class Drawing:
    """Points over time in a drawing of 600 by 80: a line, the band of the intervals, a dot per point, a slot per step.

    ``line`` and ``band`` are points of SVG, ``dots`` is a path.
    """

    line: str
    band: str
    dots: str
    slots: Sequence[_Slot]


@dataclass(frozen=True)
class SeriesLine:
    """A value over time: its name, its ``steps``, what is said of its drift, and its drawing.

    A step is its estimate and its interval in words, and whether that is too wide to say anything.
    """

    name: str
    steps: Sequence[tuple[str, str, bool]]
    drift: str
    drawing: Drawing


class TimeSeries(NamedTuple):
    """Lines over days or weeks with reports, on one axis with these labels, and a sentence on their test for drift."""

    over: Steps
    lines: Sequence[SeriesLine]
    ticks: Sequence[str]
    note: str


class _Marker(NamedTuple):
    """A day that is marked on a curve, at a place of a drawing 600 wide, with its name."""

    x: float
    day: date
    name: str


def markers_of(named: Sequence[tuple[date, str]], days: Sequence[date]) -> list[_Marker]:
    """Return the named days that lie within a drawing of ``days``, of which there are at least two."""
    first, last = days[0].toordinal(), days[-1].toordinal()
    return [
        _Marker(round(WIDTH * (day.toordinal() - first) / (last - first), 1), day, name)
        for day, name in named
        if first <= day.toordinal() <= last
    ]


def bars_of_days(reports: Mapping[date, int], days: int = 1) -> list[ReportBar]:
    """Return a bar per day, or per ``days`` days from it on, spaced as in the calendar."""
    if not reports:
        return []
    first, last, most = min(reports).toordinal(), max(reports).toordinal(), max(reports.values())
    step = WIDTH / (last - first + days)
    bars = []
    for day, count in reports.items():
        height = HEIGHT * count / most
        left, width = step * (day.toordinal() - first) + step * days / 10, step * days * 0.8
        bars.append(ReportBar(day, count, round(left, 1), round(HEIGHT - height, 1), round(width, 1), round(height, 1)))
    return bars


def scale_top(greatest: float) -> float:
    """Return the share at which an axis from 0 ends: 100%, or 10% or 2% if nothing is above that."""
    return next((top for top in (0.02, 0.1) if greatest <= top), 1.0)


def drawing_of(points: Sequence[Mapping[str, float | None]], days: Sequence[date], top: float = 1.0) -> Drawing:
    """Draw points of at least two days from 0 to ``top``, spaced as in the calendar, without unknown ones."""
    first, last = days[0].toordinal(), days[-1].toordinal()
    across = [WIDTH * (day.toordinal() - first) / (last - first) for day in days]

    def places(side: str) -> list[str]:
        known = [(x, point[side]) for x, point in zip(across, points, strict=True)]
        return [
            f"{x:.1f},{HEIGHT * (1 - min(1.0, max(0.0, number / top))):.1f}"
            for x, number in known
            if number is not None
        ]

    line = places("frequency")
    borders = [0.0, *((x + after) / 2 for x, after in pairwise(across)), WIDTH]
    slots = [_Slot(round(left, 1), round(right - left, 1)) for left, right in pairwise(borders)]
    dots = "".join(f"M{place}h0" for place in line)
    return Drawing(" ".join(line), " ".join([*places("high"), *places("low")[::-1]]), dots, slots)
