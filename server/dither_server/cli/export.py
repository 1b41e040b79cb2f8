"""The commands ``export`` and ``refresh``, which hand answers to other programs."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dither_shared import ParameterError
from dither_shared.counted import counted

from ..reading.query import FORMAT_NAMES, Query
from .metric import known_metrics, listing, metric_asked, population_of
from .options import Found, query_options, settings_options, stored
from .terminal_tables import printable

if TYPE_CHECKING:
    from dither_shared import Metric

    from ..analysis.columns import Table
    from ..store import Store


@click.command()
@click.argument("names", nargs=-1, metavar="[METRIC]...")
@settings_options("metrics", "db", "population")
@click.option(
    "--format", "form", type=click.Choice(FORMAT_NAMES), default="csv", show_default=True, help="Write this format."
)
@query_options(Query, "by_day", "by", "strata", "since", "until", "confidence", "distinct", "weighted")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write to this file, not to stdout.")
def export(found: Found, query: Query, names: tuple[str, ...], form: str, output: str | None) -> None:
    """Write the estimates of each METRIC, or of all, as a table with one row per value and a column for each attribute.

    If all metrics are written, those without the attribute of --by are not split, and those without an attribute of the
    population are not weighted.
    """
    from ..reading.estimates import EstimateReader
    from ..reading.exports import FORMATS, answered, attributes_of
    from ..reading.summaries import summary_of
    from ..reading.weights import can_weigh

    _require_writable(form, output)
    with stored(found) as store:
        metrics = _chosen(found, store, names, query)
        population = population_of(found, metrics)
        reader = EstimateReader(store, population=population)
        kinds, attributes = list(dict.fromkeys(map(summary_of, metrics))), attributes_of(metrics)
        if not names and not set(query.by) <= set(attributes):
            raise ParameterError("--by", f"names an attribute of no metric; known: {', '.join(attributes) or 'none'}")

        def tables(metric: "Metric") -> "Iterator[Table]":
            parted = query.by if names else tuple(name for name in query.by if name in attributes_of([metric]))
            weighted = query.weighted and (bool(names) or can_weigh(population, metric))
            return reader.tables(metric, replace(query, by=parted, weighted=weighted))

        answers = (one for metric in metrics for one in answered(metric, tables(metric)))
        _write(FORMATS[form].write(answers, kinds, attributes), output)


def _require_writable(form: str, output: str | None) -> None:
    """Raise ParameterError if the format cannot be written, or not to this place."""
    from ..reading.exports import FORMATS

    if missing := FORMATS[form].missing:
        raise ParameterError("--format", missing)
    if form == "arrow" and output is None and sys.stdout.isatty():
        raise ParameterError("--format", "arrow is a binary format; name a file with --output")


def _chosen(found: Found, store: "Store", chosen: Sequence[str], query: Query) -> "list[Metric]":
    """Return the named metrics or, without names, all that list values to estimate and have the stratum."""
    from ..reading.sources import has_stratum, part_of, parts_by

    if chosen:
        named = [listing(metric_asked(found, store, name)) for name in dict.fromkeys(chosen)]
        for metric in named:
            parts_by(metric, part_of(metric, query.strata, query.names()), query.by)
        return named
    names = known_metrics(found) or dict.fromkeys(name for name, _ in store.definitions.registered())
    metrics = [metric_asked(found, store, name) for name in names]
    for metric in metrics:
        if not metric.question.estimable:
            click.echo(printable(f"{metric.name} is left out: it takes any string and lists no candidates"), err=True)
        elif not has_stratum(metric, query.strata):
            click.echo(printable(f"{metric.name} is left out: it has no such stratum"), err=True)
    return [metric for metric in metrics if metric.question.estimable and has_stratum(metric, query.strata)]


def _write(pieces: Iterable[bytes], output: str | None) -> None:
    """Write to stdout, or to a file that appears only when it is complete."""
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
        from ..store.engine import unwritten

        raise unwritten(output, error) from None
    finally:
        if not device:
            part.unlink(missing_ok=True)


@click.command("refresh")
@settings_options("db")
@click.option("--all", "everything", is_flag=True, help="Write every day, not only those that changed.")
def refresh_estimates(found: Found, everything: bool) -> None:
    """Bring the view daily_estimates of the database up to date, for programs that read it by SQL."""
    from ..reading.exports import refresh

    with stored(found) as store:
        for name, version in store.definitions.registered():
            try:
                metric = store.definitions.read(name, version)
            except ParameterError as error:
                click.echo(printable(f"{name} is left out: {error}"), err=True)
                continue
            days = sum(1 for _ in refresh(store, metric, everything)) if metric else 0
            click.echo(f"{name} {version}: {counted(days, 'day')} written")
