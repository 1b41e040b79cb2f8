"""The commands ``metric list``, ``show``, ``disable`` and ``enable``, and how commands find the metric that they name.

It is in metrics.toml, or in the database if it is no longer asked.
"""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from dither_shared import Metric, ParameterError, load_metrics
from dither_shared.errors import did_you_mean
from dither_shared.metrics.period import utc_today

from .options import Found, settings_options, stored
from .terminal_tables import printable

if TYPE_CHECKING:
    from ..analysis.population import KnownPopulation
    from ..store import Store


def known_metrics(found: Found) -> dict[str, Metric]:
    """Return the metrics of metrics.toml; none without such a file, because the database knows them, too."""
    setting = found["metrics"]
    return {} if setting is None else load_metrics(str(setting.value))


def metric_asked(found: Found, store: "Store", name: str, version: str | None = None) -> Metric:
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


def population_of(found: Found, metrics: Iterable[Metric]) -> "KnownPopulation | None":
    """Return the population that is configured, if any. Raises ParameterError if it is wrong, or fits no metric."""
    from ..analysis.population import KnownPopulation

    setting = found["population"]
    known = {metric.version: metric for metric in (*known_metrics(found).values(), *metrics)}
    return None if setting is None or not setting.value else KnownPopulation.load(str(setting.value), known)


def listing(metric: Metric) -> Metric:
    """Return the metric; raise ParameterError if it lists no values to estimate."""
    if not metric.question.estimable:
        raise ParameterError(metric.name, "takes any string; list candidates in its definition")
    return metric


_VERSION = click.option("--version", metavar="V", help="Choose this version only.  [default: all registered versions]")


@click.group()
def metric() -> None:
    """List and show metrics, and disable or enable their collection."""


@metric.command("list")
@settings_options("metrics", "db")
def list_metrics(found: Found) -> None:
    """List every version that was ever registered: its state, its days with reports, its metric."""
    known = known_metrics(found)
    with stored(found) as store:
        disabled, days = store.definitions.disabled(), store.days.by_version()
        for name, version in store.definitions.registered():
            state = "enabled" if name in known or not known else "no longer asked"
            if version in disabled:
                state = f"disabled since {disabled[version]}"
            reported = "{} to {}".format(*days[version]) if version in days else "no reports"
            click.echo(printable(f"{version}  {state:25}  {reported:24}  {name}"))


@metric.command("show")
@click.argument("name")
@click.option("--version", metavar="DIGITS", help="Show this version, not the current one.")
@settings_options("metrics", "db")
@click.option("--json", "as_json", is_flag=True, help="Print the API's JSON.")
def show_metric(found: Found, name: str, version: str | None, as_json: bool) -> None:
    """Show what metric NAME asks and promises, even if metrics.toml no longer has it."""
    from ..api.routing import described

    with stored(found) as store:
        versions = store.definitions.versions(name)
        description = described(metric_asked(found, store, name, version)) | {"versions": versions}
    if as_json:
        click.echo(json.dumps(description, indent=2))
        return
    width = max(map(len, description))
    for key, value in description.items():
        click.echo(printable(f"{key:{width}}  {_text(value)}").rstrip())


def _text(value: object) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name}: {_text(one)}" for name, one in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


@metric.command("disable")
@click.argument("name")
@_VERSION
@settings_options("db")
def disable_metric(found: Found, name: str, version: str | None) -> None:
    """Count no more reports of metric NAME, from the next commit of any collector on.

    They are refused with 410, and a device that gets this answer stops reporting that version for a month. Reports
    already counted are kept. A version that is registered later is a new question, and enabled.
    """
    with stored(found) as store:
        chosen = _known(store, name, version)
        store.definitions.disable(name, version, utc_today())
        for one in chosen:
            click.echo(printable(f"{one}  disabled  {name}"))


@metric.command("enable")
@click.argument("name")
@_VERSION
@settings_options("db")
def enable_metric(found: Found, name: str, version: str | None) -> None:
    """Count reports of metric NAME again. Devices that had stopped reporting it resume within a month."""
    with stored(found) as store:
        chosen = _known(store, name, version)
        store.definitions.enable(name, version)
        for one in chosen:
            click.echo(printable(f"{one}  enabled  {name}"))


def _known(store: "Store", name: str, version: str | None) -> list[str]:
    """Return the selected versions; raise ParameterError if there are none."""
    versions = store.definitions.versions(name)
    chosen = [one for one in versions if version in {None, one}]
    if not chosen:
        if versions:
            raise ParameterError("--version", f"{version!r} of {name} is not registered; known: {', '.join(versions)}")
        meant = did_you_mean(name, sorted({one for one, _ in store.definitions.registered()}))
        raise ParameterError("NAME", f"{name!r} is not registered{meant}; dither-server metric list")
    return chosen
