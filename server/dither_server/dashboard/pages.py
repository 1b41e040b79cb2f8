"""The pages for people: one of all metrics, and one per metric with its days. They only read."""

from urllib.parse import urlencode

from flask import Blueprint, Request, Response, render_template, url_for

from dither_serving.problems import SAFE_HEADERS, Kind, Problem
from dither_shared import Metric
from dither_shared.counted import counted

from ..access.gatekeeper import Gatekeeper
from ..access.roles import Role
from ..analysis.labels import shortened
from ..api.lookup import collector_here, metric_named, version_named
from ..api.routing import HTML, declared
from ..api.streaming import COSTLY, begin
from ..reading.exports import FORMATS
from ..reading.sealing import about_sealed, words_of_sealed
from ..reading.summaries import summary_of
from ..reading.summaries.paging import PageRequest, page_of
from ..reading.summaries.shares_view import FEW, SHAPES
from ..reading.summaries.summary import Steps
from .card import MetricCard, card_of
from .metric_groups import MANY, NO_TIER, by_tier
from .panels import VALUES, panels_within
from .refused import refused_in
from .view import MetricView, View

pages = Blueprint("pages", __name__)

_METRICS = 12
"""Metrics on a page."""

_TOKEN = "token"  # noqa: S105 — a parameter's name


@pages.app_context_processor
def _surroundings() -> dict[str, object]:
    """Return what every page knows, such as whether anyone may read."""
    public = Role.READ in collector_here().config.open
    return {"public": public, "shapes": SHAPES, "no_tier": NO_TIER}


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
    found = page_of(
        metrics,
        lambda metric: f"{metric.name} {metric.description}",
        PageRequest(view.find, view.page, view.limit or _METRICS),
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
        if card.estimates is not None:
            over = Steps("day", [(bar.day, bar.day) for bar in card.days])
            estimate = collector.reader.estimates(metric, view.query, card.part)
            drawn = work.run(summary_of(metric).time_series(metric, card.estimates, over, estimate, view.query))
            panels = work.run(panels_within(collector.reader, metric, card.view.query, card.part, card.estimates))
        versions = collector.store.definitions.versions(name)
        with work.step():
            refused = refused_in(collector.store, collector.config.today(), view.query, name)
            span = (view.query.since, view.query.until)
            came = collector.store.sealed(metric, *span, card.part.places)
            shuffled = about_sealed(came, metric, (card.answer or {}).get("periods", 1))
            sealed = list(words_of_sealed(shuffled["sealed"])) if shuffled else []
            about = {"card": card, "time_series": drawn, "panels": panels, "versions": versions, "sealed": sealed}
            about |= {"formats": list(FORMATS), "refused": refused, "folded": _folded()}
            return render_template("metric.html", **about)


def _folded() -> str:
    """Return when the last fold of the spool began, in words; nothing if collectors count reports themselves."""
    collector = collector_here()
    if collector.spool is None:
        return ""
    up_to = collector.store.folds.up_to()
    if up_to is None:
        return "Reports are counted by dither-server fold, which has not run yet."
    took = f"what collectors took in the {collector.config.spool_seconds:g} seconds before it, or since"
    return f"The last fold began {up_to:%Y-%m-%d %H:%M} UTC; {took}, is counted by a later one."


def _card(metric: Metric, view: View, most: int) -> MetricCard:
    collector = collector_here()
    return card_of(metric, view, most, collector.store, collector.reader)


def entered(request: Request, gatekeeper: Gatekeeper) -> Response | None:
    """Redirect a request that carries a token to the same page without it; return None if it carries none.

    The browser gets a cookie in place of the token. Raises Problem if a token is needed, and this is not the one that
    this process printed.
    """
    if _TOKEN not in request.args:
        return None
    local = gatekeeper.enters_with(request.args[_TOKEN])
    if local is None and gatekeeper.asks_for_token(request.environ, Role.READ):
        raise Problem(
            Kind.UNAUTHORIZED, "token: not the one that this collector drew at its start; open the address it printed"
        )
    answer = Response(status=303, headers=[*SAFE_HEADERS, ("Location", _without_token(request))])
    if local is not None:
        answer.set_cookie(
            local.name, local.cookie, httponly=True, samesite="Strict", secure=_is_https(request), path="/"
        )
    return answer


def _without_token(request: Request) -> str:
    """Return the page's path on this host with the other arguments. It cannot lead to another host."""
    path = "/" + url_for(str(request.endpoint), **(request.view_args or {})).lstrip("/")
    rest = [(name, value) for name, value in request.args.items(multi=True) if name != _TOKEN]
    return f"{path}?{urlencode(rest)}" if rest else path


def _is_https(request: Request) -> bool:
    """Return whether the browser or a proxy says so. One that lies harms only its own cookie."""
    proxied = request.headers.get("Forwarded", "") + ";proto=" + request.headers.get("X-Forwarded-Proto", "")
    return request.is_secure or "proto=https" in proxied.lower()
