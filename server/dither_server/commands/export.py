"""The commands that hand answers to other programs."""

import sys
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

import click

from dither_shared import Metric, ParameterError, load_metrics

from ..exports import FORMATS
from ..query import Query, confidence_of, day_of
from ..reader import EstimateReader
from ..refresh import refresh
from ..store import Store
from .options import Found, refusing, required, settings_options
from .table import printable

__all__ = ["export", "refresh_estimates"]


@click.command()
@click.argument("asked", nargs=-1, metavar="[METRIC]...")
@settings_options("metrics", "db")
@click.option("--format", "form", type=click.Choice(list(FORMATS)), default="csv", show_default=True, help="To write.")
@click.option("--by-day", is_flag=True, help="An estimate of each day with reports, not one of all days together.")
@click.option("--since", metavar="DAY", help="First UTC day, as 2026-11-01.")
@click.option("--until", metavar="DAY", help="Last UTC day, included.")
@click.option("--confidence", default="0.95", show_default=True, help="Of the intervals.")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="A file, in place of stdout.")
@refusing
def export(
    found: Found,
    asked: tuple[str, ...],
    form: str,
    by_day: bool,
    since: str | None,
    until: str | None,
    confidence: str,
    output: str | None,
) -> None:
    """Write the estimates of each METRIC, or of all, as a table of one row a value."""
    if missing := FORMATS[form].missing:
        raise ParameterError("--format", missing)
    if form == "arrow" and output is None and sys.stdout.isatty():
        raise ParameterError("--format", "arrow is not text for a terminal; name a file with --output")
    query = Query(
        by_day=by_day,
        since=None if since is None else day_of(since, "--since"),
        until=None if until is None else day_of(until, "--until"),
        confidence=confidence_of(confidence),
    )
    chosen = _chosen(required(found, "metrics"), asked)
    with closing(Store(required(found, "db"), create=False)) as store:
        reader = EstimateReader(store)
        answers = (table for metric in chosen for table in reader.tables(metric, query))
        _write(FORMATS[form].write(answers), output)


def _chosen(path: str, asked: Sequence[str]) -> list[Metric]:
    """Return the metrics that are asked for; of all, those that list what to look for."""
    known = load_metrics(path)
    for name in asked:
        if name not in known:
            raise ParameterError(name, f"no such metric; {path} has {', '.join(known)}")
        if not known[name].labels:
            raise ParameterError(name, f"takes any string and lists none to look for; give it candidates in {path}")
    for name in known if not asked else ():
        if not known[name].labels:
            click.echo(printable(f"{name} is left out: it takes any string and lists no candidates"), err=True)
    return [metric for name, metric in known.items() if (name in asked if asked else metric.labels)]


def _write(pieces: Iterable[bytes], output: str | None) -> None:
    """Write to stdout, or to a file that is there only when it is whole."""
    if output is None:
        for piece in pieces:
            click.echo(piece, nl=False)
        return
    target = Path(output)
    device = target.exists() and not target.is_file()  # such as /dev/stdout, which nothing may replace
    part = target if device else Path(f"{output}.part")
    try:
        with part.open("wb") as file:
            file.writelines(pieces)
        if not device:
            part.replace(target)
    except OSError as error:
        raise ParameterError(output, f"cannot be written: {error.strerror}") from None
    finally:
        if not device:
            part.unlink(missing_ok=True)


@click.command("refresh")
@settings_options("db")
@click.option("--all", "everything", is_flag=True, help="Every day, not only those that changed.")
@refusing
def refresh_estimates(found: Found, everything: bool) -> None:
    """Bring the database's view daily_estimates up to date, for whoever reads it by SQL."""
    with closing(Store(required(found, "db"), create=False)) as store:
        for name, version in store.registered():
            try:
                metric = store.metric(name, version)
            except ParameterError as error:
                click.echo(printable(f"{name} is left out: {error}"), err=True)
                continue
            days = sum(1 for _ in refresh(store, metric, everything)) if metric else 0
            click.echo(f"{name} {version}: {days} {'day' if days == 1 else 'days'} written")
