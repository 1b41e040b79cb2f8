"""The command line: run a collector, and read estimates from its database."""

from contextlib import closing
from dataclasses import replace

import click

from dither_shared import ParameterError

from ..config.sources import SETTINGS
from ..reading.query import Query
from .lazy import Later, LazyGroup
from .options import Denial, Found, refusing, settings_options, stored, strings_of
from .query_options import json_option, query_options

_HERE = "dither_server.cli"

_LATER = {
    "backup": Later(f"{_HERE}.backup:backup", "Copy the database to a file, while collectors run."),
    "compare": Later(f"{_HERE}.analysis:compare", "Compare days, versions or metrics."),
    "discover": Later(f"{_HERE}.discover:discover", "Find strings that nobody listed."),
    "doctor": Later(f"{_HERE}.doctor:doctor", "Examine a collector, or show its settings."),
    "export": Later(f"{_HERE}.export:export", "Write estimates as a table."),
    "fold": Later("dither_spool.command:fold", "Count what collectors have spooled."),
    "key": Later(f"{_HERE}.key:key", "Make, rotate and retire the keys of sealed reports."),
    "metric": Later(f"{_HERE}.metric:metric", "List and show metrics, disable and enable them."),
    "publish": Later(f"{_HERE}.publish:publish", "Write a site of the answers for everyone."),
    "purge": Later(f"{_HERE}.purge:purge", "Remove whole days, versions or metrics."),
    "rappor-decode": Later(f"{_HERE}.rappor:rappor_decode", "Decode the files of google/rappor."),
    "refresh": Later(f"{_HERE}.export:refresh_estimates", "Bring the view daily_estimates up to date."),
    "refusals": Later(f"{_HERE}.refusals:show_refusals", "Show which batches were refused, and why."),
    "restore": Later(f"{_HERE}.backup:restore", "Make the database what a backup holds."),
    "token": Later(f"{_HERE}.token:token", "Create, list and revoke tokens."),
    "trend": Later(f"{_HERE}.analysis:show_trend", "Show the course of a metric over days or weeks."),
}


@click.group("dither-server", cls=LazyGroup, later=_LATER, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dither")
def cli() -> None:
    """Collect reports under local differential privacy, and estimate what they say."""


@cli.command()
@settings_options(*SETTINGS)
@refusing
def run(found: Found) -> None:
    """Run a collector. The first line on stdout is its URL.

    The second is the address of its pages, with a token that reads until the collector ends. The token is kept in
    memory only. Where stdout is kept as a log, give --no-local-token. Others read with a token that you create.
    """
    from dither_serving.logs import log_json
    from dither_serving.server import listen, serve, url_of

    from ..analysis.answers import metric_summary
    from ..app import collector_of, create_app
    from ..config.sources import configured
    from .examination.configuration import seals
    from .examination.findings import Level
    from .startup import greeting, spooling, unable
    from .terminal_tables import printable

    config = configured(found)
    log_json(config.log_level)
    metrics = config.load()
    try:
        listener = listen(config.host, config.port)
    except ParameterError as error:
        raise Denial(str(error)) from None
    config = replace(config, metrics=metrics, local_address=url_of(listener).removeprefix("http://"))
    with listener, closing(collector_of(app := create_app(config))) as collector:
        for metric in collector.metrics.values():
            click.echo(printable(metric_summary(metric)), err=True)
        for text in spooling(config):
            click.echo(printable(text), err=True)
        for finding in seals(config, metrics):
            if finding.level is Level.PROBLEM:  # what devices seal for such a key nobody can open
                click.echo(printable(finding.text), err=True)
        for text in unable(config, collector.store.tokens.all()):
            click.echo(text, err=True)
        token = collector.gatekeeper.draw_local_token(listener.getsockname()[1]) if config.local_token else None
        serve(app, collector, listener, lambda url: click.echo(greeting(url, token)))


@cli.command(short_help="Estimate shares, or a mean and quantiles.")
@click.argument("metric")
@settings_options("metrics", "db")
@query_options(
    Query,
    "since",
    "until",
    "version",
    "confidence",
    "simultaneous",
    "forged",
    "top",
    "limit",
    "offset",
    "values",
    "strata",
    "by",
    "by_day",
    "quantile",
    "at",
)
@click.option(
    "--candidates", metavar="FILE", help="Look for the strings in this file, one per line, in a metric of any string."
)
@json_option
@refusing
def estimate(found: Found, query: Query, metric: str, candidates: str | None, as_json: bool) -> None:
    """Estimate the share of each value of METRIC or, where it asks for a number, its mean and quantiles."""
    from ..reading.estimates import EstimateReader
    from .metric_by_name import metric_asked
    from .terminal_tables import print_answers

    strings = None if candidates is None else strings_of(candidates)
    with stored(found) as store:
        chosen = metric_asked(found, store, metric, query.version)
        answers = [table.whole() for table in EstimateReader(store).tables(chosen, query, strings)]
    print_answers(chosen, answers, as_json=as_json, several=query.by_day or bool(query.by))
