"""What a request names, found: the collector behind the app, metrics, their versions."""

from typing import cast

from flask import current_app

from dither_shared import Metric

from .analysis.answers import odds_of, told_privacy
from .collector import Collector
from .problems import Kind, Problem
from .query import ListQuery

__all__ = ["EXTENSION", "collector_here", "described", "listing", "metric_named", "version_named"]

EXTENSION = "dither"
"""Where an app keeps its ``Collector``, in ``app.extensions``."""


def collector_here() -> Collector:
    """Return the collector of the app that answers this request."""
    return cast("Collector", current_app.extensions[EXTENSION])


def metric_named(name: str) -> Metric:
    """Return the metric of that name as it is asked now, or as it was reported last if it is asked no more.

    Raises Problem if there is none.
    """
    here = collector_here()
    metric = here.metrics.get(name) or here.store.former(name)
    if metric is None:
        raise Problem(Kind.UNKNOWN_METRIC, "no metric of this name; GET /v1/metrics lists them")
    return metric


def version_named(metric: Metric, version: str | None) -> Metric:
    """Return the metric as it was in ``version``; the current one if none is asked for."""
    if version is None or version == metric.version:
        return metric
    older = collector_here().store.metric(metric.name, version)
    if older is None:
        raise Problem(Kind.UNKNOWN_VERSION, f"version: not collected here; GET /v1/metrics/{metric.name} lists them")
    return older


def listing(metric: Metric) -> Metric:
    """Return the metric; raise Problem if it lists no values to estimate."""
    if not metric.labels:
        raise Problem(Kind.NO_CANDIDATES, "the metric takes any string; list candidates in its definition")
    return metric


def described(metric: Metric, part: ListQuery = ListQuery()) -> dict[str, object]:  # noqa: B008  # it is frozen
    """Return what a metric asks and what it promises, with a part of its values."""
    return {
        "metric": metric.name,
        "version": metric.version,
        "description": metric.description,
        "type": metric.kind,
        "mechanism": metric.mechanism.name,
        **told_privacy(metric),
        "odds": odds_of(metric),
        "period": metric.period,
        "size": len(metric.labels),
        "values": list(part.part(metric.labels)),
    }
