"""The commands that stop and resume the collection of a metric, while collectors run."""

from contextlib import closing

import click

from dither_shared import ParameterError

from ..config import utc_today
from ..store import Store
from .options import Found, refusing, required, settings_options
from .table import printable

__all__ = ["metric"]

_VERSION = click.option("--version", metavar="V", help="Only this version; without it, all that are registered.")


@click.group()
def metric() -> None:
    """List metrics, and disable or enable their collection."""


@metric.command("list")
@settings_options("db")
@refusing
def list_metrics(found: Found) -> None:
    """List every registered version of every metric, and whether it is collected."""
    with closing(Store(required(found, "db"), create=False)) as store:
        disabled = store.disabled()
        for name, version in store.registered():
            state = f"disabled since {disabled[version]}" if version in disabled else "enabled"
            click.echo(printable(f"{version}  {state:25}  {name}"))


@metric.command("disable")
@click.argument("name")
@_VERSION
@settings_options("db")
@refusing
def disable_metric(found: Found, name: str, version: str | None) -> None:
    """Count no more reports of metric NAME, from the next commit of any collector on.

    They are answered 410, and a device that reads this is silent about that version for a month. What is counted
    stays. A version that is registered later is a new question, and enabled.
    """
    with closing(Store(required(found, "db"), create=False)) as store:
        asked = _known(store, name, version)
        store.disable(name, version, utc_today())
        for one in asked:
            click.echo(printable(f"{one}  disabled  {name}"))


@metric.command("enable")
@click.argument("name")
@_VERSION
@settings_options("db")
@refusing
def enable_metric(found: Found, name: str, version: str | None) -> None:
    """Count reports of metric NAME again. Devices that were told otherwise come back within a month."""
    with closing(Store(required(found, "db"), create=False)) as store:
        asked = _known(store, name, version)
        store.enable(name, version)
        for one in asked:
            click.echo(printable(f"{one}  enabled  {name}"))


def _known(store: Store, name: str, version: str | None) -> list[str]:
    """Return the versions that are meant; raise ParameterError if there are none."""
    versions = store.versions(name)
    asked = [one for one in versions if version in {None, one}]
    if not asked:
        raise ParameterError("--version" if versions else "NAME", "not registered; dither-server metric list")
    return asked
