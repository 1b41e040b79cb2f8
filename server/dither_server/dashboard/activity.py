"""What the pages of active devices and of retention draw."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple

from dither_shared import Metric
from dither_shared.metrics.period import STEPS

from ..analysis.columns import Table
from ..reading.summaries.view import Drawing, ReportBar, bars_of_days, drawing_of, percent_ticks, scale_top
from .card import question_of

FEW = 6
"""Metrics that are drawn for each length of a period; the others are in the table."""

_DRAWN = 100
"""Periods that are drawn of a metric, the last ones."""

_WIDTH = {"day": 1, "week": 7, "month": 28}
"""Days that a bar is wide."""


class Devices(NamedTuple):
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


def devices_of(metrics: Mapping[str, Metric], table: Table) -> dict[str, list[Devices]]:
    """Return what is drawn for days, weeks and months: the metrics with the most reports in the last whole one."""
    found: dict[str, list[Devices]] = {}
    for period in STEPS:
        rows = [row for row in table.rows() if row["period"] == period]
        names = dict.fromkeys(row["metric"] for row in rows)
        drawn = [_devices(metrics[name], [row for row in rows if row["metric"] == name], period) for name in names]
        drawn.sort(key=lambda one: -one.last["devices"] if one.last else 0)
        if drawn:
            found[period] = drawn[:FEW]
    return found


def _devices(metric: Metric, rows: Sequence[Mapping[str, Any]], period: str) -> Devices:
    bars = bars_of_days({_day(row["since"]): row["devices"] for row in rows[-_DRAWN:]}, _WIDTH[period])
    whole = [row for row in rows if row["complete"]]
    running = None if rows[-1]["complete"] else rows[-1]
    return Devices(metric, question_of(metric), bars, whole[-1] if whole else None, running)


def retention_of(metric: Metric, read: Callable[[Metric], Table]) -> RetentionView:
    """Return what is drawn of a metric's retention."""
    table = read(metric)
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
