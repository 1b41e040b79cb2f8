"""Find the collector, metric and version that a request names."""

from typing import cast

from flask import current_app

from dither_serving.problems import Kind, Problem
from dither_shared import Metric

from ..analysis.answers import privacy_fields, privacy_statement
from ..collector import Collector
from ..reading.query import ListQuery

EXTENSION = "dither"
"""The key in ``app.extensions`` under which an app keeps its ``Collector``."""


def collector_here() -> Collector:
    """Return the collector of the app that answers this request."""
    return cast("Collector", current_app.extensions[EXTENSION])


def metric_named(name: str) -> Metric:
    """Return the metric of that name as it is now, or as it last was if it is no longer asked.

    Raises Problem if there is none.
    """
    here = collector_here()
    metric = here.metrics.get(name) or here.store.definitions.last_reported(name)
    if metric is None:
        raise Problem(Kind.UNKNOWN_METRIC, "no metric has this name; GET /v1/metrics lists all")
    return metric


def version_named(metric: Metric, version: str | None) -> Metric:
    """Return the metric as it was in ``version``, or as it is if that is None.

    Raises Problem if there is no such version.
    """
    if version is None or version == metric.version:
        return metric
    older = collector_here().store.definitions.read(metric.name, version)
    if older is None:
        raise Problem(Kind.UNKNOWN_VERSION, f"version: not collected here; GET /v1/metrics/{metric.name} lists all")
    return older


def listing(metric: Metric) -> Metric:
    """Return the metric; raise Problem if it lists no values to estimate."""
    if not metric.question.estimable:
        raise Problem(
            Kind.NO_CANDIDATES, "the metric takes any string; list candidates in metrics.toml to estimate them"
        )
    return metric


def described(metric: Metric, part: ListQuery = ListQuery()) -> dict[str, object]:  # noqa: B008  # it is frozen
    """Return what a metric asks and promises, as JSON, with some of its values."""
    return {
        "metric": metric.name,
        "version": metric.version,
        "description": metric.description,
        "type": metric.question.kind,
        "mechanism": metric.mechanism.name,
        **privacy_fields(metric),
        "odds": privacy_statement(metric),
        "period": metric.period,
        "strata": {} if metric.strata is None else {name: list(values) for name, values in metric.strata.attributes},
        "size": len(metric.labels),
        "values": list(part.part(metric.labels)),
    }
