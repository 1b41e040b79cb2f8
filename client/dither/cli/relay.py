"""Relays: say in words what an answer to ``GET /v1/sealed`` tells, and what a relay does not tell.

A collector has that path, too, for its relays. An app must not have it as its endpoint: it would see addresses.
"""

from collections.abc import Iterable
from typing import Literal

from dither_shared.metrics.metric import Metric

from ..reporting.bodies.sealing import SealError, sealer
from .http_get import Reply

__all__ = ["PATH", "is_relay", "pool_words", "relay_words", "sealing_words"]

PATH = "/v1/sealed"


def is_relay(reply: Reply) -> bool:
    """Return whether an answer to ``GET /v1/sealed`` is a relay's."""
    return bool(reply.document.get("relay") == "dither")


def relay_words(reply: Reply, url: str) -> tuple[Literal["ok", "failed"], str]:
    """Return whether a relay at ``url`` gave an answer, and in words what did if not."""
    if is_relay(reply) or reply.problem == "method-not-allowed":
        return "ok", f"a dither relay answers at {url}; it asks no app for a token"
    if "pools" in reply.document or reply.problem in {"unauthorized", "forbidden"}:
        return "failed", (
            "a collector answers, and no relay: it would see addresses, and takes no sealed report from a device; the"
            " endpoint of an app that seals its reports is a relay's"
        )
    return "failed", f"something answers (HTTP {reply.status}), but no dither relay; is the endpoint right?"


def sealing_words(metrics: Iterable[Metric]) -> tuple[Literal["ok", "failed"], str]:
    """Return whether this Python can seal reports of the metrics, without which an app is off, and in words why not."""
    keys = {metric.seal for metric in metrics if metric.seal is not None}
    try:
        for key in keys:
            sealer(key)
    except SealError as error:
        return "failed", error.problem
    return "ok", f"reports are sealed here for {', '.join(sorted(key.fingerprint for key in keys))}"


def pool_words(metric: Metric) -> str:
    """Return where to look whether sealed reports of a metric are counted, for nothing at a relay tells."""
    asked = f"its collector does, at /v1/metrics/{metric.name}/versions/{metric.version}"
    return f"a relay does not say whether version {metric.version} is counted; {asked}"
