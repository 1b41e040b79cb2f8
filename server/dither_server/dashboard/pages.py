"""The pages for people: every metric, and one with its course over days. They only read."""

from flask import Blueprint, Response, render_template

from dither_serving.problems import Kind, Problem
from dither_shared import Metric
from dither_shared.counted import counted

from ..access.roles import Role
from ..analysis.labels import shortened
from ..api.lookup import collector_here, metric_named, version_named
from ..api.routing import HTML, Success, declared
from ..api.streaming import COSTLY, begin
from ..reading.exports import FORMATS
from ..reading.sealing import about_sealed, words_of_sealed
from ..reading.summaries import summary_of
from ..reading.summaries.shares.page import FEW, SHAPES
from ..reading.summaries.summary import Steps
from ..reading.summaries.window import Look, window
from .card import Card, card_of
from .metric_groups import MANY, NO_TIER, by_tier
from .panels import VALUES, panels_within
from .plotly import bundle
from .refused import refused_in
from .view import MetricView, View

__all__ = ["pages"]

pages = Blueprint("pages", __name__)

_METRICS = 12
"""On a page."""


@pages.app_context_processor
def _surroundings() -> dict[str, object]:
    """Return what every page knows: Plotly's bundle, and whether anyone may read."""
    public = Role.READ in collector_here().config.open
    return {"plotly": bundle(), "public": public, "shapes": SHAPES, "no_tier": NO_TIER}


@pages.app_template_filter("short")
def _short(text: str) -> str:
    return shortened(text)


@pages.app_template_filter("counted")
def _counted(number: int, one: str, more: str = "") -> str:
    return counted(number, one, more)


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
    found = window(
        metrics,
        lambda metric: f"{metric.name} {metric.description}",
        Look(view.find, view.page, view.limit or _METRICS),
    )
    with begin() as work:
        cards = []
        for metric in found.shown:
            with work.step():
                cards.append(_card(metric, View(view.query), FEW))
        with work.step():
            collector = collector_here()
            refused = refused_in(collector.store, collector.config.today(), view.query)
            names = {tier: [metric.name for metric in group] for tier, group in groups.items()}
            shown = {"view": view, "found": found, "total": total, "cards": cards, "grouped": total > MANY}
            shown |= {"names": names, "former": collector.former(), "refused": refused, "folded": _folded()}
            return render_template("dashboard.html", **shown)


@pages.get("/m/<name>")
@declared(role=Role.READ, reads=MetricView, answers=HTML, problems=(Kind.UNKNOWN_METRIC, Kind.UNKNOWN_VERSION, *COSTLY))
def show_page(view: MetricView, name: str) -> str:
    """Show a metric as a page."""
    metric = version_named(metric_named(name), view.query.version)
    collector = collector_here()
    with begin() as work:
        card = work.once(lambda: _card(metric, view, view.limit or VALUES))
        drawn = panels = None
        if card.exhibit is not None:
            over = Steps("day", [(bar.day, bar.day) for bar in card.days])
            estimate = collector.reader.estimates(metric, view.query.confidence, card.part)
            drawn = work.run(summary_of(metric).courses(metric, card.exhibit, over, estimate, view.query))
            panels = work.run(panels_within(collector.reader, metric, card.view.query, card.part, card.exhibit))
        versions = collector.store.versions(name)
        with work.step():
            refused = refused_in(collector.store, collector.config.today(), view.query, name)
            span = (view.query.since, view.query.until)
            came = collector.store.sealed(metric, *span, card.part.places)
            told = about_sealed(came, metric, (card.told or {}).get("periods", 1))
            sealed = list(words_of_sealed(told["sealed"])) if told else []
            about = {"card": card, "courses": drawn, "panels": panels, "versions": versions, "formats": list(FORMATS)}
            return render_template("metric.html", **about, refused=refused, folded=_folded(), sealed=sealed)


@pages.get("/plotly.js")
@declared(role=Role.READ, answers=Success({"text/javascript": {}}), problems=(Kind.NOT_FOUND,))
def show_plotly() -> Response:
    """Serve Plotly's script."""
    plotly = bundle()
    if plotly is None:
        raise Problem(Kind.NOT_FOUND, "plotly is not installed: pip install 'dither[charts]'")
    headers = {"Content-Encoding": "gzip", "Cache-Control": "private, max-age=31536000, immutable"}
    return Response(plotly.compressed, mimetype="text/javascript", headers=headers)


def _folded() -> str:
    """Return what is told of the fold that counts what collectors spool, nothing where they count it themselves."""
    collector = collector_here()
    if collector.spool is None:
        return ""
    up_to = collector.store.folds.up_to()
    if up_to is None:
        return "Reports are counted by dither-server fold, which has not run yet."
    took = f"what collectors took in the {collector.config.spool_seconds:g} seconds before it, or since"
    return f"The last fold began {up_to:%Y-%m-%d %H:%M} UTC; {took}, is counted by a later one."


def _card(metric: Metric, view: View, most: int) -> Card:
    collector = collector_here()
    return card_of(metric, view, most, collector.store, collector.reader)
