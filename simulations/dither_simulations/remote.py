"""Trials in earnest: every user a real client that reports over HTTP to a real collector, which estimates.

The collector must collect the very metric, in the version that these clients have. ``definitions`` writes the
``metrics.toml`` to start it with.
"""

import json
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

import numpy as np

from dither_server.estimate import Estimate, Unlisted
from dither_shared import Mechanism, Metric, parse_metrics

from .collecting import CollectorError, fetch_estimate
from .fleet import send_all
from .populations import Population

__all__ = ["collected", "definitions", "metric_of"]

_DEFINITION = """\
[metrics."{name}"]
type = {kind}
{answers} = {labels}
{other}mechanism = {mechanism}
epsilon = {epsilon!r}
"""


def definitions(surveys: Iterable[tuple[Mechanism, Population, float]]) -> str:
    """Return a ``metrics.toml`` that asks for each mechanism, at the ε that it was asked for, over a population."""
    return "\n".join(dict.fromkeys(_definition(*survey) for survey in surveys))


def metric_of(mechanism: Mechanism, population: Population, epsilon: float) -> Metric:
    """Return the metric that ``definitions`` defines for a survey."""
    (metric,) = parse_metrics(_definition(mechanism, population, epsilon)).values()
    return metric


def collected(mechanism: Mechanism, population: Population, epsilon: float, url: str, confidence: float) -> Estimate:
    """Let one client a user report to the collector at ``url``, and return what that estimates.

    Raises CollectorError if it does not collect the metric, has reports of it already, or does not count all.
    """
    metric = metric_of(mechanism, population, epsilon)
    before = fetch_estimate(url, metric.name)
    if before["version"] != metric.version:
        raise CollectorError(f"{metric.name} at {url} is of another version; start it with --definitions of this sweep")
    if before["reports"]:
        raise CollectorError(f"{metric.name} at {url} has {before['reports']:,} reports; a trial begins with none")
    people = (
        {metric.name: label}
        for label, count in zip(population.labels, population.counts.tolist(), strict=True)
        for _ in range(count)
    )
    delivered = send_all({metric.name: metric}, url, people)
    told = fetch_estimate(url, metric.name, confidence)
    if not delivered or told["reports"] != population.users:
        raise CollectorError(f"{told['reports']:,} reports of {population.users:,} were counted at {url}")
    return _read(told)


def _definition(mechanism: Mechanism, population: Population, epsilon: float) -> str:
    listed = mechanism.size is not None
    return _DEFINITION.format(
        name=f"lab-{mechanism.name}-{len(population.labels)}-{epsilon:g}",
        kind='"choice"' if listed else '"string"',
        answers="values" if listed else "candidates",
        labels=json.dumps(population.labels, ensure_ascii=False).replace("\x7f", "\\u007f"),
        other=f"other = {json.dumps(population.labels[-1])}\n" if listed else "",
        mechanism=json.dumps(mechanism.name),
        epsilon=epsilon,
    )


def _read(told: dict[str, Any]) -> Estimate:
    rows = told["values"]
    numbers = [field.name for field in fields(Estimate) if field.name in rows[0]]
    columns = {name: np.array([row[name] for row in rows], dtype=np.float64) for name in numbers}
    return Estimate(
        labels=tuple(row["value"] for row in rows),
        reports=told["reports"],
        confidence=told["confidence"],
        simultaneous=told["simultaneous"],
        verdicts=tuple(row["verdict"] for row in rows),
        unlisted=told["unlisted"] and Unlisted(**told["unlisted"]),
        **columns,
    )
