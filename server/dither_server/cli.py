"""The command line: run a collector, and read estimates from its database."""

import ipaddress
import json
from collections.abc import Callable
from contextlib import closing
from functools import wraps
from pathlib import Path
from typing import ParamSpec

import click

from dither_shared import DitherError, Metric, ParameterError, load_metrics

from .answers import odds_of
from .app import collector_of, create_app
from .collector import told
from .config import DB_VARIABLE, METRICS_VARIABLE, Config
from .query import Query, confidence_of, day_of
from .serve import listen, serve
from .store import Store
from .table import as_table, printable

__all__ = ["cli"]

P = ParamSpec("P")


class _Refusal(click.ClickException):
    """One line on stderr, for a mistake in what was asked."""

    exit_code = 2

    def show(self, file: object = None) -> None:
        """Print the line."""
        click.echo(f"dither-server: {printable(self.message)}", err=True)


class _Denial(_Refusal):
    """The same for what the machine denies, such as a port in use."""

    exit_code = 1


def _refusing(command: Callable[P, None]) -> Callable[P, None]:
    """Turn our errors into one line each."""

    @wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except DitherError as error:
            raise _Refusal(str(error)) from None

    return wrapped


_metrics_option = click.option(
    "--metrics",
    required=True,
    envvar=METRICS_VARIABLE,
    show_envvar=True,
    metavar="FILE",
    help="The app's metrics.toml.",
)
_db_option = click.option(
    "--db", required=True, envvar=DB_VARIABLE, show_envvar=True, metavar="URL", help="For example sqlite:///dither.db."
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dither")
def cli() -> None:
    """Collect reports under local differential privacy, and estimate what they say."""


@cli.command()
@_metrics_option
@_db_option
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="0 takes any free port.")
@click.option("--threads", default=64, show_default=True, type=click.IntRange(1, 1024), help="Requests at a time.")
@click.option("--allow-anyone", is_flag=True, help="Serve a network: whoever reaches the port may report and read.")
@_refusing
def run(metrics: str, db: str, host: str, port: int, threads: int, allow_anyone: bool) -> None:
    """Run a collector. The first line on stdout is its URL."""
    if not allow_anyone and not _is_loopback(host):
        raise ParameterError(
            f"--host {host}",
            "not loopback, and whoever reaches it could report and read; "
            "put a proxy that knows its users in front, or give --allow-anyone",
        )
    app = create_app(Config(metrics=metrics, db=db))
    with closing(collector_of(app)) as collector:
        try:
            listener = listen(host, port)
        except ParameterError as error:
            raise _Denial(str(error)) from None
        for metric in collector.metrics.values():
            click.echo(printable(_introduced(metric)), err=True)
        serve(app, listener, threads, click.echo)


@cli.command()
@click.argument("metric")
@_metrics_option
@_db_option
@click.option("--since", metavar="DAY", help="First UTC day, as 2026-11-01.")
@click.option("--until", metavar="DAY", help="Last UTC day, included.")
@click.option("--confidence", default="0.95", show_default=True, help="Of the intervals.")
@click.option("--candidates", metavar="FILE", help="Strings to look for, one a line, in a metric of any string.")
@click.option("--json", "as_json", is_flag=True, help="Print the API's JSON.")
@_refusing
def estimate(
    metric: str,
    metrics: str,
    db: str,
    since: str | None,
    until: str | None,
    confidence: str,
    candidates: str | None,
    as_json: bool,
) -> None:
    """Estimate how often each value of METRIC is the true one, from the database."""
    known = load_metrics(metrics)
    if metric not in known:
        raise ParameterError(metric, f"no such metric; {metrics} has {', '.join(known)}")
    query = Query(
        since=None if since is None else day_of(since, "--since"),
        until=None if until is None else day_of(until, "--until"),
        confidence=confidence_of(confidence),
    )
    strings = None if candidates is None else _strings(candidates)
    with closing(Store(db, create=False)) as store:
        answer = told(store, known[metric], query.since, query.until, query.confidence, strings)
    click.echo(json.dumps(answer, indent=2, allow_nan=False) if as_json else as_table(answer))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _introduced(metric: Metric) -> str:
    mechanism = metric.mechanism
    return f"{metric.name}: {mechanism.name}, epsilon {mechanism.epsilon:.4g}; {odds_of(metric)}"


def _strings(path: str) -> tuple[str, ...]:
    """Read candidate strings, one a line; empty lines and repetitions are left out."""
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise ParameterError(path, f"cannot be read: {reason}") from None
    strings = tuple(dict.fromkeys(line.removesuffix("\r") for line in lines if line.strip()))
    if not strings:
        raise ParameterError(path, "holds no strings; one a line is right")
    return strings
