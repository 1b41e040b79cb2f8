"""Find the metric that a command names: in metrics.toml, or in the database if it is no longer asked."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from dither_shared import Metric, ParameterError, load_metrics

from ..store import Store
from .options import Found
from .terminal_tables import printable

if TYPE_CHECKING:
    from ..analysis.population import Population


def known_metrics(found: Found) -> dict[str, Metric]:
    """Return the metrics of metrics.toml; none without such a file, because the database knows them, too."""
    setting = found["metrics"]
    return {} if setting is None else load_metrics(str(setting.value))


def metric_asked(found: Found, store: Store, name: str, version: str | None = None) -> Metric:
    """Return a metric in a version: the current one, or the one reported last if metrics.toml does not hold it.

    Raises ParameterError if there is none.
    """
    known = known_metrics(found)
    if name in known and version in {None, known[name].version}:
        return known[name]
    metric = store.definitions.last_reported(name) if version is None else store.definitions.read(name, version)
    if metric is None and name not in known and not store.definitions.versions(name):
        there = sorted({*known, *(one for one, _ in store.definitions.registered())})
        raise ParameterError(name, f"no metric has this name; known: {', '.join(there) or 'none'}")
    if metric is None:
        versions = ", ".join(store.definitions.versions(name)) or "none"
        raise ParameterError("--version", f"not collected here; known: {versions}")
    if version is None and known:
        click.echo(printable(f"{name} is no longer asked; this is its version {metric.version}"), err=True)
    return metric


def population_of(found: Found, metrics: Iterable[Metric]) -> "Population | None":
    """Return the population that is configured, if any. Raises ParameterError if it is wrong, or fits no metric."""
    from ..analysis.population import Population

    setting = found["population"]
    known = {metric.version: metric for metric in (*known_metrics(found).values(), *metrics)}
    return None if setting is None or not setting.value else Population.load(str(setting.value), known)


def listing(metric: Metric) -> Metric:
    """Return the metric; raise ParameterError if it lists no values to estimate."""
    if not metric.question.estimable:
        raise ParameterError(metric.name, "takes any string; list candidates in its definition")
    return metric
