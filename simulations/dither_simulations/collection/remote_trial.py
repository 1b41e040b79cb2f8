"""Run a trial with real clients: each user reports over HTTP to a real collector, which estimates.

The collector must collect the very metric, in the version that these clients have. ``definitions`` writes the
``metrics.toml`` to start it with; ``collector_of_its_own`` starts one.
"""

import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import numpy as np

from dither_shared import Mechanism, Metric, ParameterError, parse_metrics
from dither_shared.counted import counted

from ..output.files import write_bytes
from ..users.populations import Floats, Population
from .collector_process import (
    Access,
    CollectorError,
    UnknownThereError,
    ended_by_sigterm,
    fetch,
    fetch_estimate,
    running_collector,
)
from .fleet import send_all

Survey = tuple[Mechanism, Population, float]
"""A mechanism over a population, and the ε that it was asked for."""

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


def definitions(surveys: Iterable[Survey]) -> str:
    """Return a ``metrics.toml`` that asks for each mechanism, at the ε that it was asked for, over a population."""
    return "\n".join(dict.fromkeys(_definition(*survey) for survey in surveys))


def metric_of(mechanism: Mechanism, population: Population, epsilon: float) -> Metric:
    """Return the metric that ``definitions`` defines for a survey."""
    (metric,) = parse_metrics(_definition(mechanism, population, epsilon)).values()
    return metric


def metrics_of(surveys: Iterable[Survey]) -> list[Metric]:
    """Return the metric of each survey. Raises ParameterError if two are the same: a trial begins with no reports."""
    metrics = {}
    for survey in surveys:
        metric = metric_of(*survey)
        if metric.name in metrics:
            again = f"would ask {metric.name} twice, but a trial must begin without reports"
            raise ParameterError("--collector", f"{again}; give only one number of users, and each mechanism once")
        metrics[metric.name] = metric
    return list(metrics.values())


def require_known(address: str, metrics: Sequence[Metric]) -> None:
    """Raise CollectorError that names the metrics which the collector at ``address`` does not have, and what to do."""
    collector = Access.at(address)
    lacking = [metric for metric in metrics if not _is_known(collector, metric)]
    if not lacking:
        return
    listed = [
        f"  {metric.name}: {metric.mechanism.name}, {counted(len(metric.labels), 'value')}, version {metric.version}"
        for metric in lacking[:_NAMED]
    ]
    listed += [f"  and {len(lacking) - _NAMED:,} more"] if len(lacking) > _NAMED else []
    raise CollectorError(
        f"the collector at {collector.url} does not collect {len(lacking)} of {counted(len(metrics), 'metric')} "
        "asked for, or in another version:\n" + "\n".join(listed) + "\nRun this again with --definitions lab.toml in "
        "place of --collector, and start a collector with that file; or give --collector auto."
    )


_NAMED = 5
"""The most missing metrics that an error names."""


def _is_known(collector: Access, metric: Metric) -> bool:
    try:
        there = fetch(collector, f"/v1/metrics/{quote(metric.name, safe='')}?limit=1")
    except UnknownThereError:
        return False
    return bool(there["version"] == metric.version)


@contextmanager
def collector_of_its_own(surveys: Sequence[Survey]) -> Iterator[str]:
    """Run a collector that knows some surveys, and yield its address; it ends with the context, or by SIGTERM."""
    with ended_by_sigterm(), tempfile.TemporaryDirectory(prefix="dither-lab-") as folder:
        lab = Path(folder, "lab.toml")
        write_bytes(lab, definitions(surveys).encode("utf-8"))
        with running_collector(lab, Path(folder)) as collector:
            yield f"{collector.url}/?token={collector.token}"


def collected(
    mechanism: Mechanism, population: Population, epsilon: float, address: str, confidence: float
) -> Collected:
    """Let one client for each user report to the collector at ``address``, and return its estimate.

    Raises CollectorError if it does not collect the metric (``require_known`` says what to do), has reports of it
    already, or does not count all.
    """
    metric = metric_of(mechanism, population, epsilon)
    url = (collector := Access.at(address)).url
    before = fetch_estimate(collector, metric.name)
    if before["reports"]:
        raise CollectorError(
            f"{metric.name} at {url} has {counted(before['reports'], 'report')}; a trial must begin with none"
        )
    people = (
        {metric.name: label}
        for label, count in zip(population.labels, population.counts.tolist(), strict=True)
        for _ in range(count)
    )
    delivered = send_all({metric.name: metric}, url, people)
    answer = fetch_estimate(collector, metric.name, confidence)
    if not delivered or answer["reports"] != population.users:
        raise CollectorError(f"{counted(answer['reports'], 'report')} of {population.users:,} came to {url}")
    columns = {name: np.array([row[name] for row in answer["values"]], dtype=np.float64) for name in _COLUMNS}
    return Collected(*columns.values())


def _definition(mechanism: Mechanism, population: Population, epsilon: float) -> str:
    listed = not mechanism.items.open
    return _DEFINITION.format(
        name=f"lab-{mechanism.name}-{len(population.labels)}-{epsilon:g}",
        kind='"choice"' if listed else '"string"',
        answers="values" if listed else "candidates",
        labels=json.dumps(population.labels, ensure_ascii=False).replace("\x7f", "\\u007f"),
        other=f"other = {json.dumps(population.labels[-1])}\n" if listed else "",
        mechanism=json.dumps(mechanism.name),
        epsilon=epsilon,
    )
