"""The HTTP routes: each reads its request, asks the collector, and writes the answer."""

from flask import Blueprint, Response, request

from .answering import streamed
from .auth import Role
from .diagnosis import diagnosis
from .exports import chosen, json_object
from .gauges import CONTENT_TYPE
from .ingest import PATH
from .lookup import collector_here, described, listing, metric_named, version_named
from .openapi import openapi
from .problems import Kind, Problem
from .query import Comparison, ListQuery, Query, TrendQuery

__all__ = ["routes"]

routes = Blueprint("dither", __name__)

_FEW = 100
"""Values of each metric that a list of metrics shows."""


@routes.post(PATH)
def post_reports() -> Response:
    """Count a batch of reports."""
    status, headers, body = collector_here().ingest.respond(request.environ)
    return Response(body, status, headers)


@routes.get(PATH)
def may_report() -> dict[str, str]:
    """Say that a report sent from here, with this token, would be let in; the policy of the route has refused others.

    So a developer tries a collector without sending a report of anyone.
    """
    needed = collector_here().gatekeeper.asks_for_token(request.environ, Role.REPORT)
    return {"collector": "dither", "reports": "accepted", "token": "needed" if needed else "not-needed"}


@routes.get("/v1/metrics")
def list_metrics() -> dict[str, object]:
    """List the metrics, each with its first values, and the names of those that are asked no more but can be read."""
    here = collector_here()
    metrics = list(here.metrics.values())
    shown = [described(metric, ListQuery(limit=_FEW)) for metric in ListQuery.read(request.args).part(metrics)]
    return {"metrics": shown, "size": len(metrics), "former": here.former()}


@routes.get("/v1/metrics/<name>")
def show_metric(name: str) -> dict[str, object]:
    """Show a metric with its values, and with every version of it that has been collected here."""
    part, metric = ListQuery.read(request.args), metric_named(name)
    versions, disabled = collector_here().store.versions(name), collector_here().store.disabled()
    known = {"versions": versions, "disabled": [one for one in versions if one in disabled]}
    return described(metric, part) | known


@routes.get("/v1/metrics/<name>/versions/<version>")
def show_version(name: str, version: str) -> dict[str, str]:
    """Say whether reports of a metric version are counted, to whoever knows its name and version, as every app does.

    The answer is the same for a name that is not known here as for a version, so that nobody can guess names.
    """
    collector = collector_here()
    if version not in collector.ingest.metrics.get(name, {}):
        raise Problem(Kind.UNKNOWN_VERSION, "no metric of this name is counted here in this version")
    disabled = version in collector.store.disabled()
    return {"metric": name, "version": version, "reports": "disabled" if disabled else "accepted"}


@routes.get("/v1/metrics/<name>/estimate")
def estimate_metric(name: str) -> Response:
    """Estimate a metric's frequencies, in the format that ``format`` names or else Accept prefers."""
    query = Query.read(request.args)
    form = chosen(query.format, request.accept_mimetypes)
    metric = listing(version_named(metric_named(name), query.version))
    reader = collector_here().reader
    if query.by_day or form.name != "json":
        return streamed(lambda _: form.write(reader.tables(metric, query)), form.media_type)
    return streamed(lambda work: json_object(work.once(lambda: reader.table(metric, query))))


@routes.get("/v1/metrics/<name>/combined")
def combine_versions(name: str) -> Response:
    """Combine the estimates of every version of a metric, which is right if the truth was the same under all."""
    query, metric, collector = Query.read(request.args), metric_named(name), collector_here()
    if query.version or query.format or query.simultaneous or query.by_day:
        wrong = "version, format, simultaneous, by_day: not for a combination, which is of all versions, as JSON"
        raise Problem(Kind.PARAMETER, wrong)
    versions = [version_named(metric, version) for version in collector.store.versions(name)]
    listed = [one for one in versions if one.labels]
    return streamed(lambda work: json_object(work.once(lambda: collector.reader.combine(name, listed, query))))


@routes.get("/v1/metrics/<name>/compare")
def compare_estimates(name: str) -> Response:
    """Compare a metric with itself on other days or in another version, or with another metric."""
    asked, reader = Comparison.read(request.args), collector_here().reader
    first = listing(version_named(metric_named(name), asked.version))
    second = listing(version_named(metric_named(asked.other or name), asked.other_version))
    return streamed(lambda work: json_object(work.once(lambda: reader.compare(first, second, asked))))


@routes.get("/v1/metrics/<name>/trend")
def trend_of_estimates(name: str) -> Response:
    """Show a metric's course over days or weeks, and which values drift."""
    asked, reader = TrendQuery.read(request.args), collector_here().reader
    metric = listing(version_named(metric_named(name), asked.version))
    return streamed(lambda work: json_object(work.run(reader.trend(metric, asked))))


@routes.get("/healthz")
def healthz() -> dict[str, str]:
    """Say that the process answers."""
    return {"status": "ok"}


@routes.get("/readyz")
def readyz() -> dict[str, str]:
    """Say whether the database answers too."""
    collector_here().store.ping()
    return {"status": "ready"}


@routes.get("/metrics")
def show_gauges() -> Response:
    """Show how the collector fares, in Prometheus' text format."""
    collector = collector_here()
    return Response(collector.gauges.text(collector.vitals.families()), content_type=CONTENT_TYPE)


@routes.get("/v1/diagnosis")
def show_diagnosis() -> dict[str, object]:
    """Show what the collector sees of this request, and which program it is."""
    return diagnosis(collector_here(), request.environ)


@routes.get("/openapi.json")
def show_openapi() -> dict[str, object]:
    """Show this API's description, OpenAPI 3.1."""
    return openapi()
