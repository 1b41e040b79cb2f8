"""The pages for people: every metric, and one with its course over days. They only read."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from flask import Blueprint, Response, render_template, request

from dither_shared import Metric

from .answers import Answer, Row
from .auth import Role
from .charts import bundle
from .collector import told
from .dashboard import courses, days_of, in_words, listed
from .drawing import Bar, bars_of_days
from .exports import FORMATS
from .lookup import collector_here, described, metric_named, version_named
from .problems import Kind, Problem
from .view import View, Window, window

__all__ = ["pages"]

pages = Blueprint("pages", __name__)

_METRICS = 12
_FEW_VALUES = 8
_VALUES = 50
"""On a page: metrics, values of each of these, values of one."""

_ENDS: Sequence[Literal["frequency", "high"]] = ("frequency", "high")


class Card(NamedTuple):
    """A metric on a page; without ``told`` it lists nothing to look for."""

    metric: dict[str, object]
    view: View
    days: list[Bar]
    told: Answer | None = None
    found: Window[Row] | None = None
    words: Callable[[Row], str] | None = None

    @property
    def top(self) -> float:
        """The greatest share that the bars have to show."""
        shown = self.found.shown if self.found else []
        return min(1.0, max(0.01, *(row[end] or 0.0 for row in shown for end in _ENDS)))


@pages.app_context_processor
def _surroundings() -> dict[str, object]:
    """Return what every page knows: Plotly's bundle, and whether anyone may read."""
    return {"plotly": bundle(), "public": Role.READ in collector_here().config.open}


@pages.get("/")
def show_dashboard() -> str:
    """Show every metric with its most frequent values."""
    view = View.read(request.args)
    metrics = list(collector_here().metrics.values())
    found = window(metrics, lambda metric: f"{metric.name} {metric.description}", view, _METRICS)
    cards = [_card(metric, View(view.query), _FEW_VALUES) for metric in found.shown]
    return render_template("dashboard.html", view=view, found=found, total=len(metrics), cards=cards)


@pages.get("/m/<name>")
def show_page(name: str) -> str:
    """Show one metric with its course over days."""
    view = View.read(request.args)
    metric = version_named(metric_named(name), view.query.version)
    card = _card(metric, view, _VALUES)
    reports, shown = {bar.day: bar.reports for bar in card.days}, card.found.shown if card.found else []
    drawn = courses(collector_here().daily, metric, reports, shown, view.query.confidence)
    versions = collector_here().store.versions(name)
    return render_template("metric.html", card=card, courses=drawn, versions=versions, formats=list(FORMATS))


@pages.get("/plotly.js")
def show_plotly() -> Response:
    """Hand out Plotly, for as long as its version is the same."""
    plotly = bundle()
    if plotly is None:
        raise Problem(Kind.NOT_FOUND, "plotly is not installed: pip install 'dither[charts]'")
    headers = {"Content-Encoding": "gzip", "Cache-Control": "public, max-age=31536000, immutable"}
    return Response(plotly.compressed, mimetype="text/javascript", headers=headers)


def _card(metric: Metric, view: View, most: int) -> Card:
    """Return what a page shows of a metric, with at most so many values.

    From many values one's eye picks those that stand out, and chance made some of them: there the intervals are to
    hold all together.
    """
    if len(metric.labels) > _FEW_VALUES:
        view = replace(view, query=replace(view.query, simultaneous=True))
    store, query = collector_here().store, view.query
    days = bars_of_days(days_of(store, metric, query))
    if not metric.labels:
        return Card(described(metric), view, days)
    span = (query.since, query.until)
    answer = told(store, metric, *span, query.confidence, simultaneous=query.simultaneous, forged=query.forged)
    found = window(listed(answer, most), lambda row: row["value"], view, most)
    return Card(described(metric), view, days, answer, found, _words(metric, answer))


def _words(metric: Metric, answer: Answer) -> Callable[[Row], str]:
    """Return what tells the verdict of a row in words."""
    return lambda row: in_words(row, metric, answer["reports"], answer["confidence"])
