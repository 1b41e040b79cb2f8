"""Parts of pages: a small panel per stratum, what was refused, active devices, and retention."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Any, NamedTuple

from dither_serving.problems import Kind
from dither_shared import Metric
from dither_shared.counted import counted
from dither_shared.metrics.period import STEPS

from ..analysis.columns import Table
from ..reading.analysis_limiter import effort
from ..reading.estimates import EstimateReader
from ..reading.query import Query
from ..reading.sources import Subgroup, parts_by
from ..reading.summaries.view import (
    Drawing,
    PageRequest,
    PointEstimate,
    ReportBar,
    bars_of_days,
    drawing_of,
    percent_ticks,
    scale_top,
)
from ..store import Store
from .card import MetricCard, question_of

VALUES = 50
"""Maximum values of a metric on its own page."""

_WORK = 20_000
"""Cost budget for the estimates of all panels, so that a page takes about a second."""


class _Panel(NamedTuple):
    """A stratum: its reports, the values that select it, and its estimates."""

    label: str
    values: Mapping[str, str]
    reports: int
    points: Sequence[PointEstimate]


class Panels(NamedTuple):
    """The strata with reports, largest first, and the labels of those without."""

    by: Sequence[str]
    panels: Sequence[_Panel]
    empty: Sequence[str]


def panels_within(card: MetricCard, reader: EstimateReader) -> Panels | None:
    """Return one panel per stratum of the page's subgroup; None if that is a single stratum, or nothing is known.

    If computing the estimates of all panels costs too much, the panels have no estimates.
    """
    metric, part, estimates = card.metric, card.part, card.estimates
    query = replace(card.view.query, weighted=False)
    by = [name for name, value in part.values if value is None]
    if not by or estimates is None or not card.known:
        return None
    parts = reader.counted(metric, (query.since, query.until), parts_by(metric, part, by))
    names = [point.name for point in estimates.points()]
    counted = sorted(((part, reports) for part, reports in parts if reports), key=lambda one: -one[1])
    points: list[Sequence[PointEstimate]] = [() for _ in counted]
    if names and effort(metric) * len(counted) <= _WORK:
        request = PageRequest("", 1, VALUES)
        points = [reader.estimate_view(metric, query, one, request).points(names) for one, _ in counted]
    panels = [_Panel(*_named(one, by), reports, some) for (one, reports), some in zip(counted, points, strict=True)]
    return Panels(by, panels, [_named(one, by)[0] for one, reports in parts if not reports])


def _named(part: Subgroup, by: Sequence[str]) -> tuple[str, dict[str, str]]:
    values = {name: value for name, value in part.values if name in by and value is not None}
    return " / ".join(values.values()), values


_DAYS = timedelta(days=6)
"""Days before today that are shown by default, so that today completes a week."""

_MOST = 10
"""Maximum rows of a page; the others are added up."""

TITLES = {kind.slug: kind.title for kind in Kind}
"""The title of each reason."""


class _RefusalCount(NamedTuple):
    """How much was refused for one reason; ``is_ours`` is None if no version is known."""

    reason: str
    title: str
    metric: str
    version: str
    is_ours: bool | None
    number: int

    @property
    def words(self) -> str:
        """The number, with its unit."""
        return refused_words(self.reason, self.number)


class _Refused(NamedTuple):
    """The largest counts of some days, and the sum of all others in words."""

    since: date
    until: date
    lines: Sequence[_RefusalCount]
    others: str


def refused_words(reason: str, number: int) -> str:
    """Return how many batches were refused for a reason; for sealed ones, how many reports did not open."""
    return counted(number, "report") if reason == Kind.SEALED.slug else counted(number, "batch", "batches")


def refused_in(store: Store, today: date, query: Query, metric: str | None = None) -> _Refused:
    """Read what was refused on the days that are asked for, or in the last week."""
    until = query.until or today
    since = query.since or until - _DAYS
    sums: Counter[tuple[str, str, str]] = Counter()
    for one, number in store.refusals.read(metric, since, until).items():
        sums[one.kind, one.metric, one.version] += number
    ours = {version for _, version in store.definitions.registered()} if sums else set()
    lines = [
        _RefusalCount(kind, TITLES.get(kind, kind), name, version, version in ours if version else None, number)
        for (kind, name, version), number in sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    ]
    return _Refused(since, until, lines[:_MOST], _in_all(lines[_MOST:]))


def _in_all(lines: Sequence[_RefusalCount]) -> str:
    """Return the sums of batches and of sealed reports in words."""
    sealed = sum(line.number for line in lines if line.reason == Kind.SEALED.slug)
    batches = sum(line.number for line in lines) - sealed
    counts = {counted(batches, "batch", "batches"): batches, counted(sealed, "sealed report"): sealed}
    return " and ".join(words for words, number in counts.items() if number)


FEW = 6
"""Maximum metrics plotted per length of period; the others are only in the table."""

_DRAWN = 100
"""Maximum periods plotted of a metric: the last ones."""

_WIDTH = {"day": 1, "week": 7, "month": 28}
"""Days that a bar is wide."""


class _Devices(NamedTuple):
    """The devices that reported a metric: a bar per period, and how many in the last one that is over, if any is."""

    metric: Metric
    question: str
    bars: Sequence[ReportBar]
    last: Mapping[str, Any] | None
    running: Mapping[str, Any] | None


class RetentionView(NamedTuple):
    """The retention of a metric: its table's rows, and a curve over the weeks that are known."""

    metric: Metric
    question: str
    about: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    curve: Drawing | None
    known: Sequence[Mapping[str, Any]]
    ticks: Sequence[str]


def devices_of(metrics: Mapping[str, Metric], table: Table) -> dict[str, list[_Devices]]:
    """Return the plots for days, weeks and months: the metrics with the most reports in the last complete period."""
    found: dict[str, list[_Devices]] = {}
    for period in STEPS:
        rows = [row for row in table.rows() if row["period"] == period]
        names = dict.fromkeys(row["metric"] for row in rows)
        drawn = [_devices(metrics[name], [row for row in rows if row["metric"] == name], period) for name in names]
        drawn.sort(key=lambda one: -one.last["devices"] if one.last else 0)
        if drawn:
            found[period] = drawn[:FEW]
    return found


def _devices(metric: Metric, rows: Sequence[Mapping[str, Any]], period: str) -> _Devices:
    bars = bars_of_days({_day(row["since"]): row["devices"] for row in rows[-_DRAWN:]}, _WIDTH[period])
    whole = [row for row in rows if row["complete"]]
    running = None if rows[-1]["complete"] else rows[-1]
    return _Devices(metric, question_of(metric), bars, whole[-1] if whole else None, running)


def retention_of(metric: Metric, table: Table) -> RetentionView:
    """Return the table and the curve of a metric's retention."""
    rows = table.rows()
    known = [row for row in rows if row["retention"] is not None]
    top = scale_top(max((row["high"] for row in known[1:]), default=1.0))
    curve = None
    if len(known) > 1:
        points = [row | {"frequency": row["retention"]} for row in known]
        curve = drawing_of(points, [date.fromordinal(1 + row["week"]) for row in known], top)
    return RetentionView(metric, question_of(metric), table.about, rows, curve, known, percent_ticks(2, top))


def _day(text: str) -> date:
    return date.fromisoformat(text)
