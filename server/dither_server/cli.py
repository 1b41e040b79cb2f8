"""The command line: run a collector, and read estimates from its database."""

import json
from contextlib import closing
from dataclasses import replace

import click

from dither_shared import Metric, ParameterError, load_metrics
from dither_shared.privacy import losses

from .analysis.answers import odds_of
from .app import collector_of, create_app
from .collector import told
from .commands.admin import check, show_config, token
from .commands.analysis import compare, show_trend
from .commands.export import export, refresh_estimates
from .commands.metric import metric as metric_commands
from .commands.options import Denial, Found, refusing, required, settings_options, strings_of
from .commands.rappor import rappor_decode, rappor_export
from .commands.starting import greeting, unable
from .commands.table import as_table, printable
from .logs import log_json
from .query import Query, confidence_of, day_of, share_of
from .serve import listen, serve, url_of
from .settings import SETTINGS, configured
from .store import Store

__all__ = ["cli"]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dither")
def cli() -> None:
    """Collect reports under local differential privacy, and estimate what they say."""


cli.add_command(token)
cli.add_command(metric_commands)
cli.add_command(show_config)
cli.add_command(check)
cli.add_command(compare)
cli.add_command(show_trend)
cli.add_command(export)
cli.add_command(refresh_estimates)
cli.add_command(rappor_decode)
cli.add_command(rappor_export)


@cli.command()
@settings_options(*SETTINGS)
@refusing
def run(found: Found) -> None:
    """Run a collector. The first line on stdout is its URL.

    The second is the address of its pages, with a token that reads until the collector ends. The token is kept in
    memory only. Where stdout is kept as a log, give --no-local-token. Others read with a token that you create.
    """
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
            click.echo(printable(_introduced(metric)), err=True)
        for text in unable(config, collector.store.tokens()):
            click.echo(text, err=True)
        token = collector.gatekeeper.draw_local_token(listener.getsockname()[1]) if config.local_token else None
        serve(app, listener, lambda url: click.echo(greeting(url, token)))


@cli.command()
@click.argument("metric")
@settings_options("metrics", "db")
@click.option("--since", metavar="DAY", help="First UTC day, as 2026-11-01.")
@click.option("--until", metavar="DAY", help="Last UTC day, included.")
@click.option("--confidence", default="0.95", show_default=True, help="Of the intervals.")
@click.option("--simultaneous", is_flag=True, help="Widen the intervals so that all hold together.")
@click.option("--forged", default="0.01", show_default=True, help="The share of reports assumed forged.")
@click.option("--candidates", metavar="FILE", help="Strings to look for, one a line, in a metric of any string.")
@click.option("--json", "as_json", is_flag=True, help="Print the API's JSON.")
@refusing
def estimate(
    found: Found,
    metric: str,
    since: str | None,
    until: str | None,
    confidence: str,
    simultaneous: bool,
    forged: str,
    candidates: str | None,
    as_json: bool,
) -> None:
    """Estimate how often each value of METRIC is the true one, from the database."""
    metrics, db = required(found, "metrics"), required(found, "db")
    known = load_metrics(metrics)
    if metric not in known:
        raise ParameterError(metric, f"no such metric; {metrics} has {', '.join(known)}")
    query = Query(
        since=None if since is None else day_of(since, "--since"),
        until=None if until is None else day_of(until, "--until"),
        confidence=confidence_of(confidence),
        simultaneous=simultaneous,
        forged=share_of(forged, "--forged"),
    )
    strings = None if candidates is None else strings_of(candidates)
    with closing(Store(db, create=False)) as store:
        answer = told(
            store,
            known[metric],
            query.since,
            query.until,
            query.confidence,
            strings,
            simultaneous=query.simultaneous,
            forged=query.forged,
        )
    click.echo(json.dumps(answer, indent=2, allow_nan=False) if as_json else as_table(answer))


def _introduced(metric: Metric) -> str:
    mechanism = metric.mechanism
    return f"{metric.name}: {mechanism.name}, {losses(mechanism)}; {odds_of(metric)}"
