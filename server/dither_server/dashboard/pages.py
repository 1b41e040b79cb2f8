"""The pages for people: one of all metrics, and one per metric with its days. They only read."""

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from flask import Blueprint, Request, Response, render_template, request, url_for

from dither_serving.problems import SAFE_HEADERS, Kind, Problem
from dither_shared import Metric
from dither_shared.counted import counted

from ..access.gatekeeper import Gatekeeper
from ..access.tokens import Role
from ..analysis.estimate_table import shortened
from ..analysis.population import who_answered
from ..analysis.retention import has_retention
from ..api.routing import COSTLY, HTML, begin, collector_here, declared, metric_named, version_named
from ..reading.activity import active
from ..reading.analysis_limiter import effort
from ..reading.exports import FORMATS
from ..reading.query import ActiveQuery, RetentionQuery
from ..reading.summaries.view import PageRequest, Steps, TimeSeries, markers_of, page_of
from .card import IndexCard, MetricCard, card_of, question_of, sealed_words, time_series, weeks_of
from .panels import VALUES, devices_of, panels_within, refused_in, retention_of
from .view import MANY, NO_TIER, DaysView, MetricView, View, by_tier, tier_of

pages = Blueprint("pages", __name__)

_METRICS, _VALUES, _WEEKS = 12, 5, 12
"""Maximum metrics on an index page, values shown of each metric, and weeks over which these are plotted."""

_WORK = 4_000
"""Cost budget for the drawing of one metric on an index."""

_DAILY = 42
"""Maximum days that a page plots day by day; longer spans are plotted week by week."""

_TOKEN = "token"  # noqa: S105 — a parameter's name


@pages.app_context_processor
def _surroundings() -> dict[str, object]:
    """Return the template variables that every page needs, such as whether anyone may read."""
    public = Role.READ in collector_here().config.open
    return {"public": public, "title": collector_here().config.title, "no_tier": NO_TIER, "many": MANY}


pages.add_app_template_filter(shortened, "short")
pages.add_app_template_filter(counted, "counted")
pages.add_app_template_filter(tier_of, "tier")


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
    collector = collector_here()
    with begin() as analysis, analysis.computing():
        cards = []
        for metric in found.shown:
            card = _card(metric, View(view.query), _VALUES)
            cards.append(IndexCard(card, url_for("pages.show_page", name=metric.name), _weekly(card)))
        refused = refused_in(collector.store, collector.config.today(), view.query)
        names = {tier: [(metric.name, question_of(metric)) for metric in group] for tier, group in groups.items()}
        shown = {"view": view, "found": found, "total": total, "cards": cards, "grouped": total > MANY}
        shown |= {"names": names, "former": collector.former(), "refused": refused, "folded": _folded()}
        shown["ranges"] = _ranges(view)
        return render_template("dashboard.html", **shown)


@pages.get("/m/<name>")
@declared(role=Role.READ, reads=MetricView, answers=HTML, problems=(Kind.UNKNOWN_METRIC, Kind.UNKNOWN_VERSION, *COSTLY))
def show_page(view: MetricView, name: str) -> str:
    """Show a metric as a page."""
    metric = version_named(metric_named(name), view.query.version)
    collector = collector_here()
    with begin() as analysis, analysis.computing():
        card = _card(metric, view, view.limit or VALUES)
        over = Steps("day", [(bar.day, bar.day) for bar in card.days])
        if len(card.days) > _DAILY:
            over = weeks_of(card, collector.reader)
        drawn, panels = time_series(card, collector.reader, over), panels_within(card, collector.reader)
        versions = collector.store.definitions.versions(name)
        refused = refused_in(collector.store, collector.config.today(), view.query, name)
        about: dict[str, object] = {"card": card, "time_series": drawn, "panels": panels, "versions": versions}
        about |= {"formats": list(FORMATS), "refused": refused, "folded": _folded()}
        releases = collector.config.releases.listed
        about |= {"who": _who_answered(card), "markers": markers_of(releases, drawn.over.starts) if drawn else []}
        about |= {"sealed": sealed_words(card, collector.store), "ranges": _ranges(view), "links": _links()}
        return render_template("metric.html", **about)


@pages.get("/active")
@declared(role=Role.READ, reads=DaysView, answers=HTML, problems=COSTLY)
def show_active(view: DaysView) -> str:
    """Show how many devices reported, as a page."""
    here = collector_here()
    with begin() as analysis, analysis.computing():
        query = ActiveQuery(since=view.query.since, until=view.query.until)
        found = devices_of(here.metrics, active(here.store, here.metrics.values(), query, here.config.today()))
        return render_template("active.html", found=found, **_surroundings_of(view))


@pages.get("/retention")
@declared(role=Role.READ, reads=DaysView, answers=HTML, problems=COSTLY)
def show_retention(view: DaysView) -> str:
    """Show the retention of every metric that asks for it, as a page."""
    here = collector_here()
    query = RetentionQuery(since=view.query.since, until=view.query.until, confidence=view.query.confidence)
    with begin() as analysis, analysis.computing():
        asked = [metric for metric in here.metrics.values() if has_retention(metric)]
        found = [retention_of(metric, here.reader.retention(metric, query, here.config.today())) for metric in asked]
        return render_template("retention.html", found=found, **_surroundings_of(view))


def _surroundings_of(view: DaysView) -> dict[str, object]:
    """Return the template variables that both pages about devices need, besides their plots."""
    return {"view": view, "query": view.query, "formats": list(FORMATS), "ranges": _ranges(view), "links": _links()}


def _who_answered(card: MetricCard) -> list[tuple[str, list[tuple[str, float, float]]]]:
    """Return who answered, by each attribute whose margin is known; nothing if the page shows some strata only."""
    collector, query, strata = collector_here(), card.view.query, card.metric.strata
    if collector.population is None or strata is None or card.part.label:
        return []
    counts = collector.store.history(card.metric, query.since, query.until).strata()
    return who_answered(
        collector.population,
        card.metric,
        lambda name, value: sum(counts[place] for place in strata.places({name: value})),
    )


def _weekly(card: MetricCard) -> TimeSeries | None:
    """Return the lines of an index over the last weeks."""
    reader, most = collector_here().reader, min(_WEEKS, _WORK // effort(card.metric))
    return time_series(card, reader, weeks_of(card, reader).last(most)) if card.known else None


def _ranges(view: View) -> list[tuple[str, str, bool]]:
    """Return ranges of days to choose from: a name, its address, and whether it is what the page shows."""
    today, query = collector_here().config.today(), view.query
    ranges = [("Last week", today - timedelta(days=6)), ("4 weeks", today - timedelta(days=27)), ("All", None)]
    places: dict[str, Any] = request.view_args or {}
    return [
        (
            name,
            url_for(str(request.endpoint), **(places | view.arguments(since=since, until=None, page=None))),
            (query.since, query.until) == (since, None),
        )
        for name, since in ranges
    ]


def _links() -> list[tuple[str, str]]:
    """Return the address of each question's page, and the question."""
    metrics = collector_here().metrics.values()
    return [(url_for("pages.show_page", name=metric.name), question_of(metric)) for metric in metrics]


def _folded() -> str:
    """Return when the last fold of the spool began, in words; nothing if collectors count reports themselves."""
    collector = collector_here()
    if collector.spool is None:
        return ""
    up_to = collector.store.folds.up_to()
    if up_to is None:
        return "Reports are counted by dither-server fold, which has not run yet."
    began, seconds = f"The last fold began at {up_to:%Y-%m-%d %H:%M} UTC", collector.config.spool_seconds
    return f"{began}; reports received less than {seconds:g} seconds before it are not counted yet."


def _card(metric: Metric, view: View, most: int) -> MetricCard:
    collector = collector_here()
    return card_of(metric, view, most, collector.store, collector.reader)


def entered(asked: Request, gatekeeper: Gatekeeper) -> Response | None:
    """Redirect a request that carries a token to the same page without it; return None if it carries none.

    The browser gets a cookie in place of the token. Raises Problem if a token is needed, and this is not the one that
    this process printed.
    """
    if _TOKEN not in asked.args:
        return None
    local = gatekeeper.enters_with(asked.args[_TOKEN])
    if local is None and gatekeeper.asks_for_token(asked.environ, Role.READ):
        raise Problem(
            Kind.UNAUTHORIZED,
            "token: not the one that this collector printed at its start; open the address that it printed",
        )
    answer = Response(status=303, headers=[*SAFE_HEADERS, ("Location", _without_token(asked))])
    if local is not None:
        answer.set_cookie(local.name, local.cookie, httponly=True, samesite="Strict", secure=_is_https(asked), path="/")
    return answer


def _without_token(asked: Request) -> str:
    """Return the page's path on this host with the other arguments. It cannot lead to another host."""
    path = "/" + url_for(str(asked.endpoint), **(asked.view_args or {})).lstrip("/")
    rest = [(name, value) for name, value in asked.args.items(multi=True) if name != _TOKEN]
    return f"{path}?{urlencode(rest)}" if rest else path


def _is_https(asked: Request) -> bool:
    """Return whether the browser or a proxy says that it uses https. A false claim harms only its own cookie."""
    proxied = asked.headers.get("Forwarded", "") + ";proto=" + asked.headers.get("X-Forwarded-Proto", "")
    return asked.is_secure or "proto=https" in proxied.lower()
