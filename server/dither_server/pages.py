"""The pages for people: every metric, and one with its course over days."""

from collections.abc import Callable

from flask import Blueprint, render_template

from dither_shared import Metric

from .answers import Answer, Row
from .collector import told
from .dashboard import courses, days_of, in_words
from .lookup import collector_here, described, metric_named

__all__ = ["pages"]

pages = Blueprint("pages", __name__)


@pages.get("/")
def show_dashboard() -> str:
    """Show every metric that lists its answers as a chart and a table."""
    collector = collector_here()
    shown = []
    for metric in collector.metrics.values():
        estimates = told(collector.store, metric) if metric.labels else None
        shown.append((described(metric), estimates, _words(metric, estimates)))
    return render_template("dashboard.html", shown=shown)


@pages.get("/m/<name>")
def show_page(name: str) -> str:
    """Show one metric with its course over days."""
    metric, store = metric_named(name), collector_here().store
    estimates = told(store, metric) if metric.labels else None
    days, by_day = days_of(store, metric) if estimates else ([], [])
    return render_template(
        "metric.html",
        metric=described(metric),
        told=estimates,
        words=_words(metric, estimates),
        days=days,
        courses=courses(estimates, by_day) if estimates else [],
    )


def _words(metric: Metric, estimates: Answer | None) -> Callable[[Row], str]:
    """Return what tells the verdict of a row in words."""
    if estimates is None:
        return lambda _: ""
    return lambda row: in_words(row, metric, estimates["reports"], estimates["confidence"])
