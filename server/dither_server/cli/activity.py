"""The commands ``active`` and ``retention``."""

import json
from collections.abc import Mapping
from typing import Any

import click

from dither_shared import ParameterError
from dither_shared.counted import counted
from dither_shared.metrics.period import utc_today

from ..reading.query import ActiveQuery, RetentionQuery
from .options import Found, settings_options, stored
from .query_options import json_option, query_options
from .terminal_tables import aligned, as_text, printable


@click.command("active")
@click.argument("names", nargs=-1, metavar="[METRIC]...")
@settings_options("metrics", "db")
@query_options(ActiveQuery, "since", "until")
@json_option
def show_active(found: Found, query: ActiveQuery, names: tuple[str, ...], as_json: bool) -> None:
    """Count the devices that reported each METRIC, or any, in each of its days, weeks or months.

    These are exact counts, without noise: of devices that were in use and online, and whose user consented. A period
    that is not over yet is marked.
    """
    from ..reading.activity import active, counts_devices
    from .metric_by_name import known_metrics, metric_asked

    with stored(found) as store:
        listed = names or known_metrics(found) or dict.fromkeys(name for name, _ in store.definitions.registered())
        metrics = [metric_asked(found, store, name) for name in listed]
        table = active(store, metrics, query, utc_today())
    for metric in metrics:
        if names and not counts_devices(metric):
            why = "a device reports it only in some periods, or chooses among several metrics"
            raise ParameterError(metric.name, f"does not count devices: {why}")
    if as_json:
        click.echo(json.dumps(table.whole(), indent=2))
    elif len(table):
        rows = [
            (row["metric"], f"{row['devices']:,}", row["period"], row["since"] + " so far" * (not row["complete"]))
            for row in table.rows()
        ]
        click.echo("\n".join(aligned([("metric", "devices", "period", "from"), *rows])))
    else:
        click.echo("no reports that count devices")


@click.command("retention")
@click.argument("metric")
@settings_options("metrics", "db")
@query_options(RetentionQuery, "since", "until", "confidence", "version", "strata")
@json_option
def show_retention(found: Found, query: RetentionQuery, metric: str, as_json: bool) -> None:
    """Estimate the share of devices that are in use again some weeks after their first use, from METRIC.

    METRIC has of = "weeks-since-first-use". Complete calendar weeks are added up: from the first one that begins on
    --since, or later, to the last one that ends on --until.
    """
    from ..reading.estimates import EstimateReader
    from ..reading.summaries.terminal_text import TextTable
    from .metric_by_name import metric_asked

    with stored(found) as store:
        chosen = metric_asked(found, store, metric, query.version)
        answer = EstimateReader(store).retention(chosen, query, utc_today()).whole()
    if as_json:
        click.echo(json.dumps(answer, indent=2, allow_nan=False))
        return
    level = f"{100 * answer['confidence']:g}%"
    head = ("week", "retention", f"{level} interval", "devices", "of", "weeks added up")
    rows = [_row(row) for row in answer["weeks"]]
    lines = [printable(f"{metric}: {counted(answer['reports'], 'report')}") + _span(answer)]
    click.echo(as_text(TextTable(lines, [head, *rows], [])))


def _span(answer: Mapping[str, Any]) -> str:
    return f", {answer['since']} to {answer['until']}" if answer["since"] else ""


def _row(row: Mapping[str, Any]) -> tuple[str, ...]:
    week, weeks = str(row["week"]), str(row["weeks"])
    if row["retention"] is None:
        return week, "too few", "", "", "", weeks
    share, interval = f"{100 * row['retention']:.1f}%", f"{100 * row['low']:.1f} to {100 * row['high']:.1f}%"
    return week, share, interval, f"{row['devices']:,.0f}", f"{row['began']:,.0f}", weeks
