"""The pages for people: every metric, and one with its course over days. They only read."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Literal, NamedTuple, cast

import numpy as np
from flask import Blueprint, Response, render_template

from dither_shared import Metric

from ..access.roles import Role
from ..analysis.answers import About, Row
from ..analysis.columns import Table
from ..analysis.labels import shortened
from ..api.lookup import collector_here, described, metric_named, version_named
from ..api.routing import HTML, Success, declared
from ..api.streaming import COSTLY, begin
from ..protocol.problems import Kind, Problem
from ..reading.exports import FORMATS
from .metric_groups import MANY, NO_TIER, by_tier, tier_of
from .plotly import bundle
from .refused import refused_in
from .svg import Bar, bars_of_days
from .verdict_words import POINTS, SHAPES, courses, days_of, denominator, in_words, lacking, listed, rule_of
from .view import MetricView, View, Window, window

__all__ = ["pages"]

pages = Blueprint("pages", __name__)

_METRICS = 12
_FEW_VALUES = 8
_VALUES = 50
"""On a page: metrics, values of each of these, values of one."""

_ENDS: Sequence[Literal["frequency", "high"]] = ("frequency", "high")


class Card(NamedTuple):
    """A metric on a page; without ``told`` it lists nothing to look for."""

    asked: Metric
    view: View
    days: list[Bar]
    disabled: date | None
    table: Table | None = None
    found: Window[Row] | None = None

    @property
    def told(self) -> About | None:
        """What is told of its estimates beside the values."""
        return None if self.table is None else cast("About", self.table.about)

    @property
    def values(self) -> int:
        """How many values it has."""
        return 0 if self.table is None else len(self.table)

    def most(self, column: str, over: str | None = None) -> float | None:
        """Return the largest number of a column, or of its ratios to another; None where there is none."""
        if self.table is None:
            return None
        numbers = np.asarray(self.table.columns[column], dtype=np.float64)
        if over is not None:
            below = np.asarray(self.table.columns[over], dtype=np.float64)
            numbers = numbers[below > 0] / below[below > 0]
        known = numbers[np.isfinite(numbers)]
        return float(known.max()) if len(known) else None

    @property
    def metric(self) -> dict[str, object]:
        """What the metric asks and promises."""
        return described(self.asked)

    def words(self, row: Row) -> str:
        """Return the verdict of one of its rows in words."""
        return "" if self.told is None else in_words(row, self.asked, self.told["reports"], self.told["confidence"])

    @property
    def tier(self) -> str:
        """The group that it is in."""
        return tier_of(self.asked)

    @property
    def among(self) -> str:
        """Which reports its shares are of."""
        return "" if self.told is None else denominator(self.told, self.asked.period)

    @property
    def selected(self) -> bool:
        """Whether some of many candidates are found, and the others are not."""
        return self.table is not None and any(one is not None for one in self.table.columns["found"][:1])

    @property
    def rule(self) -> str:
        """What its verdicts go by."""
        return rule_of(self.selected)

    @property
    def needs(self) -> str:
        """How many reports it takes, in words, where there are none."""
        if self.table is None:
            return ""
        first = cast("Row", self.table.rows(0, 1)[0])
        reports = lacking(first, self.asked, 0, self.table.about["confidence"])
        return f"{reports:,} for ±{POINTS:g} points"

    @property
    def top(self) -> float:
        """The greatest share that the bars have to show."""
        shown = self.found.shown if self.found else []
        return min(1.0, max([0.01, *(row[end] or 0.0 for row in shown for end in _ENDS)]))


@pages.app_context_processor
def _surroundings() -> dict[str, object]:
    """Return what every page knows: Plotly's bundle, and whether anyone may read."""
    public = Role.READ in collector_here().config.open
    return {"plotly": bundle(), "public": public, "shapes": SHAPES, "no_tier": NO_TIER}


@pages.app_template_filter("short")
def _short(text: str) -> str:
    return shortened(text)


@pages.get("/")
@declared(role=Role.READ, reads=View, answers=HTML, problems=COSTLY)
def show_dashboard(view: View) -> str:
    """Show every metric as a page."""
    metrics = list(collector_here().metrics.values())
    groups, total = by_tier(metrics), len(metrics)
    if total > MANY:
        metrics = [metric for group in groups.values() for metric in group]
    if view.tier:
        metrics = groups.get(view.tier, [])
    found = window(metrics, lambda metric: f"{metric.name} {metric.description}", view, view.limit or _METRICS)
    with begin() as work:
        cards = []
        for metric in found.shown:
            with work.step():
                cards.append(_card(metric, View(view.query), _FEW_VALUES))
        with work.step():
            collector = collector_here()
            refused = refused_in(collector.store, collector.config.today(), view.query)
            names = {tier: [metric.name for metric in group] for tier, group in groups.items()}
            shown = {"view": view, "found": found, "total": total, "cards": cards, "grouped": total > MANY}
            shown |= {"names": names, "former": collector.former(), "refused": refused}
            return render_template("dashboard.html", **shown)


@pages.get("/m/<name>")
@declared(role=Role.READ, reads=MetricView, answers=HTML, problems=(Kind.UNKNOWN_METRIC, Kind.UNKNOWN_VERSION, *COSTLY))
def show_page(view: MetricView, name: str) -> str:
    """Show a metric as a page."""
    metric = version_named(metric_named(name), view.query.version)
    collector = collector_here()
    with begin() as work:
        card = work.once(lambda: _card(metric, view, view.limit or _VALUES))
        days, shown = [bar.day for bar in card.days], card.found.shown if card.found else []
        drawn = work.run(courses(collector.reader, metric, days, shown, view.query.confidence))
        versions = collector.store.versions(name)
        with work.step():
            refused = refused_in(collector.store, collector.config.today(), view.query, name)
            about = {"card": card, "courses": drawn, "versions": versions, "formats": list(FORMATS)}
            return render_template("metric.html", **about, refused=refused)


@pages.get("/plotly.js")
@declared(role=Role.READ, answers=Success({"text/javascript": {}}), problems=(Kind.NOT_FOUND,))
def show_plotly() -> Response:
    """Serve Plotly's script."""
    plotly = bundle()
    if plotly is None:
        raise Problem(Kind.NOT_FOUND, "plotly is not installed: pip install 'dither[charts]'")
    headers = {"Content-Encoding": "gzip", "Cache-Control": "private, max-age=31536000, immutable"}
    return Response(plotly.compressed, mimetype="text/javascript", headers=headers)


def _card(metric: Metric, view: View, most: int) -> Card:
    """Return what a page shows of a metric, with at most so many values.

    From many values one's eye picks those that stand out, and chance made some of them: there the intervals are to
    hold all together.
    """
    if len(metric.labels) > _FEW_VALUES:
        view = replace(view, query=replace(view.query, simultaneous=True))
    collector, query = collector_here(), view.query
    store = collector.store
    always = (metric, view, bars_of_days(days_of(store, metric, query)), store.disabled().get(metric.version))
    if not metric.labels:
        return Card(*always)
    table = collector.reader.table(metric, query)
    found = window(listed(table, most), lambda place: str(table.columns["value"][place]), view, most)
    rows = table.chosen(np.array(found.shown, dtype=np.intp)).rows()
    return Card(*always, table, Window(cast("list[Row]", rows), found.page, found.pages, found.match))
