"""The HTTP routes of the API. Each has a declaration (``routing``), asks the collector and writes the answer."""

from collections.abc import Callable, Iterator, Sequence

from flask import Blueprint, Response, current_app, request

from dither_serving.addresses import Proxies, is_loopback, signs_of_another
from dither_serving.problems import Kind, Problem
from dither_serving.prometheus import CONTENT_TYPE
from dither_shared import VERSION

from ..access.tokens import OPEN, Role
from ..analysis.columns import Column, Table
from ..analysis.retention import RETAINED
from ..ingest.ingest import PATH, SEALED_PATH
from ..reading.activity import ACTIVE, active
from ..reading.exports import FORMATS, Listed, answered, attributes_of, chosen, json_object
from ..reading.query import ActiveQuery, Combination, Comparison, ListQuery, Query, RetentionQuery, TrendQuery
from ..reading.schemas import Json, Schema
from ..reading.sources import folded
from ..reading.summaries import summary_of
from . import schemas
from .routing import (
    COSTLY,
    Success,
    as_json,
    collector_here,
    declared,
    described,
    listing,
    metric_named,
    openapi,
    streamed,
    version_named,
)

routes = Blueprint("dither", __name__)

_FEW = 100
"""The number of values of each metric that a list of metrics shows."""

_TABLES: Json = {one.media_type: {} for one in FORMATS.values() if one.name != "json"}
_ESTIMATES = Success(
    {"application/json": {"schema": {"oneOf": [schemas.ESTIMATE, {"type": "array", "items": schemas.ESTIMATE}]}}}
    | _TABLES
)


def _listing(schema: Schema) -> Success:
    """Return the answer of a route whose table comes in any format."""
    return Success({"application/json": {"schema": schema}} | _TABLES)


_ESTIMABLE = (Kind.NO_CANDIDATES, Kind.UNKNOWN_METRIC, Kind.UNKNOWN_VERSION, *COSTLY)
"""Problems of an analysis of one version's values."""


@routes.post(PATH)
@declared(
    role=Role.REPORT,
    takes=schemas.BATCH,
    answers=as_json(schemas.ACCEPTED, 202, "Counted, durably."),
    problems=(
        Kind.MALFORMED, Kind.UNKNOWN_METRIC, Kind.VERSION_CONFLICT, Kind.DISABLED,
        Kind.LENGTH_REQUIRED, Kind.TOO_LARGE, Kind.MEDIA_TYPE, Kind.OVERLOADED, Kind.ORIGIN,
    ),
    admits=True,
)  # fmt: skip
def post_reports() -> Response:
    """Count a batch of reports: once, however often it is sent."""
    status, headers, body = collector_here().ingest.respond(request.environ)
    return Response(body, status, headers)


@routes.get(PATH)
@declared(role=Role.REPORT, answers=as_json(schemas.RECEPTION))
def may_report() -> dict[str, str]:
    """Say that a report with this token would be accepted.

    Callers without the role do not get here. So a developer can try a collector without sending anyone's report.
    """
    needed = collector_here().gatekeeper.asks_for_token(request.environ, Role.REPORT)
    return {"collector": "dither", "reports": "accepted", "token": "needed" if needed else "not-needed"}


@routes.post(SEALED_PATH)
@declared(
    role=Role.REPORT,
    takes=schemas.SEALED_BATCH,
    answers=as_json(schemas.OPENED, 202, "Counted, durably."),
    problems=(
        Kind.MALFORMED, Kind.SEALED, Kind.UNKNOWN_METRIC, Kind.UNKNOWN_POOL, Kind.VERSION_CONFLICT,
        Kind.DISABLED, Kind.LENGTH_REQUIRED, Kind.TOO_LARGE, Kind.MEDIA_TYPE, Kind.OVERLOADED, Kind.ORIGIN,
    ),
    admits=True,
)  # fmt: skip
def post_sealed() -> Response:
    """Open and count a batch of sealed reports that a relay has gathered: once, however often it is sent."""
    status, headers, body = collector_here().sealed.respond(request.environ)
    return Response(body, status, headers)


@routes.get(SEALED_PATH)
@declared(role=Role.REPORT, answers=as_json(schemas.POOLS))
def list_pools() -> dict[str, object]:
    """List the pools whose reports may come sealed, for relays: one for each stratum of a metric version.

    Each is named by a digest, so that nobody learns a name from the list. Devices send the names to their relay.
    """
    return collector_here().pools()


@routes.get("/v1/metrics")
@declared(role=Role.READ, reads=ListQuery, answers=as_json(schemas.METRICS))
def list_metrics(query: ListQuery) -> dict[str, object]:
    """List the metrics, each with its first 100 values.

    ``former`` names metrics that are no longer asked, but can be read; ``folded_up_to``
    says how far the last fold of a spool has come, if one ever ran.
    """
    here = collector_here()
    metrics = list(here.metrics.values())
    shown = [described(metric, ListQuery(limit=_FEW)) for metric in query.part(metrics)]
    return {"metrics": shown, "size": len(metrics), "former": here.former(), **folded(here.store.folds.up_to())}


@routes.get("/v1/metrics/<name>")
@declared(role=Role.READ, reads=ListQuery, answers=as_json(schemas.METRIC), problems=(Kind.UNKNOWN_METRIC,))
def show_metric(query: ListQuery, name: str) -> dict[str, object]:
    """Show a metric with its values and versions."""
    metric = metric_named(name)
    definitions = collector_here().store.definitions
    versions, disabled = definitions.versions(name), definitions.disabled()
    known = {"versions": versions, "disabled": [one for one in versions if one in disabled]}
    return described(metric, query) | known


@routes.get("/v1/metrics/<name>/versions/<version>")
@declared(role=OPEN, answers=as_json(schemas.VERSION), problems=(Kind.UNKNOWN_VERSION,))
def show_version(name: str, version: str) -> dict[str, str]:
    """Say whether reports of a metric version are counted, to anyone who knows its name and version.

    Every copy of the app knows them. An unknown name and an unknown version get the same answer, so that nobody can
    guess names.
    """
    collector = collector_here()
    if version not in collector.ingest.metrics.get(name, {}):
        raise Problem(Kind.UNKNOWN_VERSION, "this collector does not count this version of the metric")
    disabled = version in collector.store.definitions.disabled()
    return {"metric": name, "version": version, "reports": "disabled" if disabled else "accepted"}


@routes.get("/v1/metrics/<name>/estimate")
@declared(role=Role.READ, reads=Query, answers=_ESTIMATES, problems=(*_ESTIMABLE, Kind.NOT_ACCEPTABLE))
def estimate_metric(query: Query, name: str) -> Response:
    """Estimate a metric's frequencies.

    The answer is in the format that ``format`` names, or else in the one that Accept prefers.
    """
    form = chosen(query.format, request.accept_mimetypes)
    metric = listing(version_named(metric_named(name), query.version))
    reader = collector_here().reader
    if query.by_day or query.by or form.name != "json":

        def written() -> Iterator[bytes]:
            answers = answered(metric, reader.tables(metric, query))
            return form.write(answers, [summary_of(metric)], attributes_of([metric]))

        return streamed(written, form.media_type)
    return streamed(lambda: json_object(reader.table(metric, query)))


@routes.get("/v1/metrics/<name>/combined")
@declared(role=Role.READ, reads=Combination, answers=as_json(schemas.COMBINED), problems=(Kind.UNKNOWN_METRIC, *COSTLY))
def combine_versions(query: Combination, name: str) -> Response:
    """Combine the estimates of all versions of a metric, each weighted by the inverse of its variance.

    This is right if the true frequencies were the same under all versions. With same_question, only versions that
    differ in nothing but their noise are combined; of a number, their means.
    """
    metric, collector = metric_named(name), collector_here()
    versions = [version_named(metric, version) for version in collector.store.definitions.versions(name)]
    listed = [one for one in versions if one.question.estimable]
    return streamed(lambda: json_object(collector.reader.combine(metric, listed, query)))


@routes.get("/v1/metrics/<name>/compare")
@declared(role=Role.READ, reads=Comparison, answers=as_json(schemas.COMPARISON), problems=_ESTIMABLE)
def compare_estimates(query: Comparison, name: str) -> Response:
    """Compare a metric with itself on other days (by default its last two weeks) or strata, or with another."""
    reader = collector_here().reader
    first = listing(version_named(metric_named(name), query.version))
    second = listing(version_named(metric_named(query.other or name), query.other_version))
    return streamed(lambda: json_object(reader.compare(first, second, query)))


@routes.get("/v1/metrics/<name>/trend")
@declared(role=Role.READ, reads=TrendQuery, answers=as_json(schemas.TREND), problems=_ESTIMABLE)
def trend_of_estimates(query: TrendQuery, name: str) -> Response:
    """Show a metric over days or weeks, and which values drift."""
    reader = collector_here().reader
    metric = listing(version_named(metric_named(name), query.version))
    return streamed(lambda: json_object(reader.trend(metric, query)))


@routes.get("/v1/metrics/<name>/retention")
@declared(
    role=Role.READ,
    reads=RetentionQuery,
    answers=_listing(schemas.RETENTION),
    problems=(Kind.UNKNOWN_METRIC, Kind.UNKNOWN_VERSION, Kind.NOT_ACCEPTABLE, *COSTLY),
)
def estimate_retention(query: RetentionQuery, name: str) -> Response:
    """Estimate the share of devices that are in use again some weeks after their first use."""
    metric, collector = version_named(metric_named(name), query.version), collector_here()
    return _table(
        query.format,
        RETAINED,
        lambda: collector.reader.retention(metric, query, collector.config.today()),
        attributes_of([metric]),
    )


@routes.get("/v1/active")
@declared(
    role=Role.READ,
    reads=ActiveQuery,
    answers=_listing(schemas.ACTIVE_DEVICES),
    problems=(Kind.NOT_ACCEPTABLE, *COSTLY),
)
def count_active(query: ActiveQuery) -> Response:
    """Count the devices that reported in each day, week or month."""
    here = collector_here()
    return _table(query.format, ACTIVE, lambda: active(here.store, here.metrics.values(), query, here.config.today()))


def _table(
    name: str | None, columns: Sequence[Column], make: Callable[[], Table], attributes: Sequence[str] = ()
) -> Response:
    """Answer with a table in the format that has this name, or else in the one that Accept prefers."""
    form, kind = chosen(name, request.accept_mimetypes), Listed(columns)
    if form.name == "json":
        return streamed(lambda: json_object(make()))
    return streamed(lambda: form.write([(kind, make())], [kind], attributes), form.media_type)


@routes.get("/healthz")
@declared(role=OPEN, answers=as_json(schemas.STATUS))
def healthz() -> dict[str, str]:
    """Say that the process answers."""
    return {"status": "ok"}


@routes.get("/readyz")
@declared(role=OPEN, answers=as_json(schemas.STATUS))
def readyz() -> dict[str, str]:
    """Say that reports are taken: that the database or, if one is used, the spool can be written.

    At least 4 MB must be free on the disk of a SQLite database; after a failed write, a test write must succeed.

    A collector that spools takes reports without its database.
    """
    collector_here().ready()
    return {"status": "ready"}


@routes.get("/metrics")
@declared(role=Role.READ, answers=Success({"text/plain": {}}))
def show_gauges() -> Response:
    """Show counters and timings of the collector in Prometheus' text format."""
    collector = collector_here()
    return Response(collector.prometheus.text(collector.gauges()), content_type=CONTENT_TYPE)


@routes.get("/v1/diagnosis")
@declared(role=Role.ADMIN, answers=as_json(schemas.DIAGNOSIS))
def show_diagnosis() -> dict[str, object]:
    """Show what the collector sees of this request, and which program it is."""
    collector, environ = collector_here(), request.environ
    address = str(environ.get("REMOTE_ADDR") or "")
    proxies = Proxies(collector.config.proxies)
    seen = {
        "address": address,
        "loopback": is_loopback(address),
        "proxy": address in proxies,
        "forwarded_for": proxies.forwarded(environ.get("HTTP_X_FORWARDED_FOR", "")) or None,
        "signs": signs_of_another(environ),
        "local": collector.config.here.is_source_of(environ),
    }
    return {"version": VERSION, "seen": seen}


@routes.get("/openapi.json")
@declared(role=OPEN, answers=Success({"application/json": {}}))
def show_openapi() -> dict[str, object]:
    """Show this document."""
    return openapi(current_app)
