"""Run a trial with real clients: each user reports over HTTP to a real collector, which estimates.

The collector must collect the same version of the metric as these clients. ``definitions`` writes the
``metrics.toml`` to start it with.
"""

import json
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from dither_shared import Mechanism, Metric, parse_metrics

from .collecting import Access, CollectorError, fetch_estimate
from .fleet import send_all
from .populations import Floats, Population

__all__ = ["Collected", "collected", "definitions", "metric_of"]

_DEFINITION = """\
[metrics."{name}"]
type = {kind}
{answers} = {labels}
{other}mechanism = {mechanism}
epsilon = {epsilon!r}
"""


_COLUMNS = ("frequency", "noise_low", "noise_high", "consistent")


class Collected(NamedTuple):
    """A collector's estimate of each value: frequencies, intervals from noise alone, and consistent frequencies."""

    frequency: Floats
    low: Floats
    high: Floats
    consistent: Floats


def definitions(surveys: Iterable[tuple[Mechanism, Population, float]]) -> str:
    """Return a ``metrics.toml`` that asks for each mechanism, at the ε that it was asked for, over a population."""
    return "\n".join(dict.fromkeys(_definition(*survey) for survey in surveys))


def metric_of(mechanism: Mechanism, population: Population, epsilon: float) -> Metric:
    """Return the metric that ``definitions`` defines for a survey."""
    (metric,) = parse_metrics(_definition(mechanism, population, epsilon)).values()
    return metric


def collected(
    mechanism: Mechanism, population: Population, epsilon: float, address: str, confidence: float
) -> Collected:
    """Let one client for each user report to the collector at ``address``, and return its estimate.

    Raises CollectorError if it does not collect the metric, has reports of it already, or does not count all.
    """
    metric = metric_of(mechanism, population, epsilon)
    url = (collector := Access.at(address)).url
    before = fetch_estimate(collector, metric.name)
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
    told = fetch_estimate(collector, metric.name, confidence)
    if not delivered or told["reports"] != population.users:
        raise CollectorError(f"{told['reports']:,} reports of {population.users:,} were counted at {url}")
    columns = {name: np.array([row[name] for row in told["values"]], dtype=np.float64) for name in _COLUMNS}
    return Collected(*columns.values())


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
