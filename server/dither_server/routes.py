"""The HTTP routes: each reads its request, asks the collector, and writes the answer."""

from collections.abc import Callable
from typing import cast

from flask import Blueprint, Response, current_app, jsonify, render_template, request

from dither_shared import Metric, ParameterError

from .answers import Answer, Row, odds_of, told_privacy
from .collector import Collector, told
from .combine import combined
from .dashboard import courses, days_of, in_words
from .exports import chosen
from .gauges import CONTENT_TYPE
from .ingest import PATH
from .openapi import openapi
from .problems import Kind, Problem
from .query import Query
from .store import StoreError

__all__ = ["EXTENSION", "routes"]

EXTENSION = "dither"
"""Where an app keeps its ``Collector``, in ``app.extensions``."""

routes = Blueprint("dither", __name__)


def _collector() -> Collector:
    return cast("Collector", current_app.extensions[EXTENSION])


def _metric(name: str) -> Metric:
    metric = _collector().metrics.get(name)
    if metric is None:
        raise Problem(Kind.UNKNOWN_METRIC, "no metric of this name; GET /v1/metrics lists them")
    return metric


def _described(metric: Metric) -> dict[str, object]:
    return {
        "metric": metric.name,
        "version": metric.version,
        "description": metric.description,
        "type": metric.kind,
        "mechanism": metric.mechanism.name,
        **told_privacy(metric),
        "odds": odds_of(metric),
        "period": metric.period,
        "values": list(metric.labels),
    }


@routes.post(PATH)
def post_reports() -> Response:
    """Count a batch of reports."""
    status, headers, body = _collector().ingest.respond(request.environ)
    return Response(body, status, headers)


@routes.get("/v1/metrics")
def list_metrics() -> dict[str, object]:
    """List the metrics."""
    return {"metrics": [_described(metric) for metric in _collector().metrics.values()]}


@routes.get("/v1/metrics/<name>")
def show_metric(name: str) -> dict[str, object]:
    """Show a metric, with every version of it that has been collected here."""
    metric = _metric(name)
    return _described(metric) | {"versions": _collector().store.versions(name)}


@routes.get("/v1/metrics/<name>/estimate")
def estimate_metric(name: str) -> Response:
    """Estimate a metric's frequencies, in the format that ``format`` names or else Accept prefers."""
    query = Query.read(request.args)
    form = chosen(query.format, request.accept_mimetypes)
    metric = _version(_metric(name), query.version)
    if not metric.labels:
        raise Problem(Kind.NO_CANDIDATES, "the metric takes any string; list candidates in its definition")
    estimates = told(
        _collector().store,
        metric,
        query.since,
        query.until,
        query.confidence,
        simultaneous=query.simultaneous,
        forged=query.forged,
    )
    return jsonify(estimates) if form.name == "json" else Response(form.write([estimates]), mimetype=form.media_type)


@routes.get("/v1/metrics/<name>/combined")
def combine_versions(name: str) -> Response:
    """Combine the estimates of every version of a metric, which is right if the truth was the same under all."""
    query, metric, store = Query.read(request.args), _metric(name), _collector().store
    if query.version or query.format or query.simultaneous:
        raise Problem(
            Kind.PARAMETER, "version, format, simultaneous: not for a combination, which is of all versions, as JSON"
        )
    versions = [_version(metric, version) for version in store.versions(name)]
    answers = [told(store, one, query.since, query.until, query.confidence) for one in versions if one.labels]
    return jsonify(combined(name, answers, query.confidence))


@routes.get("/")
def show_dashboard() -> str:
    """Show every metric that lists its answers as a chart and a table."""
    collector = _collector()
    shown = []
    for metric in collector.metrics.values():
        estimates = told(collector.store, metric) if metric.labels else None
        shown.append((_described(metric), estimates, _words(metric, estimates)))
    return render_template("dashboard.html", shown=shown)


@routes.get("/m/<name>")
def show_page(name: str) -> str:
    """Show one metric with its course over days."""
    metric, store = _metric(name), _collector().store
    estimates = told(store, metric) if metric.labels else None
    days, by_day = days_of(store, metric) if estimates else ([], [])
    return render_template(
        "metric.html",
        metric=_described(metric),
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


@routes.get("/healthz")
def healthz() -> dict[str, str]:
    """Say that the process answers."""
    return {"status": "ok"}


@routes.get("/readyz")
def readyz() -> dict[str, str]:
    """Say whether the database answers too."""
    _collector().store.ping()
    return {"status": "ready"}


@routes.get("/metrics")
def show_gauges() -> Response:
    """Show how the collector fares, in Prometheus' text format."""
    return Response(_collector().gauges.text(), content_type=CONTENT_TYPE)


@routes.get("/openapi.json")
def show_openapi() -> dict[str, object]:
    """Show this API's description, OpenAPI 3.1."""
    return openapi()


@routes.errorhandler(ParameterError)
def _parameter(error: ParameterError) -> Response:
    return _answered(Problem(Kind.PARAMETER, str(error)))


@routes.errorhandler(StoreError)
def _unavailable(error: StoreError) -> Response:
    current_app.logger.warning("%s", error)
    return _answered(Problem(Kind.UNAVAILABLE, "the database cannot be read now", 10))


@routes.errorhandler(Problem)
def _answered(problem: Problem) -> Response:
    status, headers, body = problem.answer()
    return Response(body, status, headers)


def _version(metric: Metric, version: str | None) -> Metric:
    """Return the metric as it was in ``version``; the current one if none is asked for."""
    if version is None or version == metric.version:
        return metric
    older = _collector().store.metric(metric.name, version)
    if older is None:
        raise Problem(Kind.UNKNOWN_VERSION, f"version: not collected here; GET /v1/metrics/{metric.name} lists them")
    return older
