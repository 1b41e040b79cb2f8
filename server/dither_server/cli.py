"""The command line: run a collector, and read estimates from its database."""

import json
from contextlib import closing
from typing import cast

import click

from dither_shared import Metric, ParameterError, load_metrics
from dither_shared.privacy import losses

from .analysis.answers import Answer, odds_of
from .app import collector_of, create_app
from .auth import is_loopback
from .commands.admin import check, show_config, token
from .commands.analysis import compare, show_trend
from .commands.export import export, refresh_estimates
from .commands.metric import metric as metric_commands
from .commands.options import Denial, Found, refusing, required, settings_options, strings_of
from .commands.rappor import rappor_decode, rappor_export
from .commands.table import as_table, printable
from .logs import log_json
from .query import Query, confidence_of, day_of, share_of
from .reader import EstimateReader
from .serve import listen, serve
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
    """Run a collector. The first line on stdout is its URL."""
    config = configured(found)
    log_json(config.log_level)
    app = create_app(config)
    with closing(collector_of(app)) as collector:
        try:
            listener = listen(config.host, config.port)
        except ParameterError as error:
            raise Denial(str(error)) from None
        for metric in collector.metrics.values():
            click.echo(printable(_introduced(metric)), err=True)
        if not is_loopback(config.host) and not config.open and not collector.store.tokens():
            click.echo("nobody but loopback may report or read yet: dither-server token create", err=True)
        serve(app, listener, click.echo)


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
        answer = cast("Answer", EstimateReader(store).table(known[metric], query, strings).whole())
    click.echo(json.dumps(answer, indent=2, allow_nan=False) if as_json else as_table(answer))


def _introduced(metric: Metric) -> str:
    mechanism = metric.mechanism
    return f"{metric.name}: {mechanism.name}, {losses(mechanism)}; {odds_of(metric)}"
