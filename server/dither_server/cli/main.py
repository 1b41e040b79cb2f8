"""The command line: run a collector, and read estimates from its database."""

from contextlib import closing
from dataclasses import replace

import click

from dither_shared import ParameterError

from ..config.sources import SETTINGS
from .lazy import Later, LazyGroup
from .options import Denial, Found, refusing, settings_options, stored, strata_of, stratum_option, strings_of

__all__ = ["cli"]


_HERE = "dither_server.cli"

_LATER = {
    "backup": Later(f"{_HERE}.backup:backup", "Copy the database to a file, while collectors run."),
    "check": Later(f"{_HERE}.admin:check", "Say what is wrong with the configuration, or unwise."),
    "compare": Later(f"{_HERE}.analysis:compare", "Compare days, versions or metrics."),
    "config": Later(f"{_HERE}.admin:show_config", "Show each setting, and where its value comes from."),
    "discover": Later(f"{_HERE}.discover:discover", "Find strings that nobody listed."),
    "doctor": Later(f"{_HERE}.doctor:doctor", "Examine a collector, and say what to do."),
    "export": Later(f"{_HERE}.export:export", "Write estimates as a table."),
    "fold": Later(f"{_HERE}.fold:fold", "Count what collectors have spooled."),
    "key": Later(f"{_HERE}.key:key", "Make, rotate and retire the keys of sealed reports."),
    "metric": Later(f"{_HERE}.metric:metric", "List and show metrics, disable and enable them."),
    "publish": Later(f"{_HERE}.publish:publish", "Write a site of the answers for everyone."),
    "purge": Later(f"{_HERE}.purge:purge", "Remove whole days, versions or metrics."),
    "rappor-decode": Later(f"{_HERE}.rappor:rappor_decode", "Decode the files of google/rappor."),
    "refresh": Later(f"{_HERE}.export:refresh_estimates", "Bring the view daily_estimates up to date."),
    "refusals": Later(f"{_HERE}.refusals:show_refusals", "Show which batches were refused, and why."),
    "restore": Later(f"{_HERE}.backup:restore", "Make the database what a backup holds."),
    "token": Later(f"{_HERE}.admin:token", "Create, list and revoke tokens."),
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
    from ..analysis.answers import introduced
    from ..app import collector_of, create_app
    from ..config.sources import configured
    from ..observability.logs import log_json
    from ..serving.server import listen, serve, url_of
    from .config_check import seals
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
            click.echo(printable(introduced(metric)), err=True)
        for text in spooling(config):
            click.echo(printable(text), err=True)
        for remark in seals(config, metrics):
            if remark.level == "error":  # what devices seal for such a key nobody can open
                click.echo(printable(remark.text), err=True)
        for text in unable(config, collector.store.tokens()):
            click.echo(text, err=True)
        token = collector.gatekeeper.draw_local_token(listener.getsockname()[1]) if config.local_token else None
        serve(app, collector, listener, lambda url: click.echo(greeting(url, token)))


@cli.command(short_help="Estimate shares, or a mean and quantiles.")
@click.argument("metric")
@settings_options("metrics", "db")
@click.option("--since", metavar="DAY", help="First UTC day, such as 2026-11-01.")
@click.option("--until", metavar="DAY", help="Last UTC day, included.")
@click.option("--version", metavar="DIGITS", help="Read this version, not the current one.")
@click.option("--confidence", default="0.95", show_default=True, help="Confidence level of the intervals.")
@click.option("--simultaneous", is_flag=True, help="Widen the intervals so that all hold together.")
@click.option("--forged", default="0.01", show_default=True, help="Share of reports assumed forged.")
@click.option(
    "--candidates", metavar="FILE", help="Look for the strings in this file, one a line, in a metric of any string."
)
@click.option("--top", metavar="N", help="Show only the N most frequent values, in the order of their shares.")
@click.option("--value", "values", metavar="VALUE", multiple=True, help="Show only this value. Repeatable.")
@stratum_option()
@click.option("--by", metavar="NAME", multiple=True, help="Show each stratum by this attribute, then all. Repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Print the API's JSON.")
@refusing
def estimate(
    found: Found,
    metric: str,
    since: str | None,
    until: str | None,
    version: str | None,
    confidence: str,
    simultaneous: bool,
    forged: str,
    candidates: str | None,
    top: str | None,
    values: tuple[str, ...],
    stratum: tuple[str, ...],
    by: tuple[str, ...],
    as_json: bool,
) -> None:
    """Estimate the share of each value of METRIC or, where it asks for a number, its mean and quantiles."""
    from ..reading.estimates import EstimateReader
    from ..reading.parameters import confidence_of, count_of, day_of, share_of
    from ..reading.query import Query
    from .metric_by_name import metric_asked
    from .terminal_tables import print_answers

    query = Query(
        since=None if since is None else day_of(since, "--since"),
        until=None if until is None else day_of(until, "--until"),
        confidence=confidence_of(confidence),
        simultaneous=simultaneous,
        forged=share_of(forged, "--forged"),
        top=None if top is None else count_of(top, "--top"),
        values=values,
        strata=strata_of(stratum),
        by=by,
    )
    strings = None if candidates is None else strings_of(candidates)
    with stored(found) as store:
        chosen = metric_asked(found, store, metric, version)
        answers = [table.whole() for table in EstimateReader(store).tables(chosen, query, strings)]
    print_answers(chosen, answers, as_json=as_json, several=bool(by))
