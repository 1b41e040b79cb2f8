"""The command ``run``, and the lines that it prints first: where it listens, and who may read."""

from contextlib import closing
from dataclasses import replace
from urllib.parse import urlsplit

import click

from dither_shared import ParameterError

from ..access.tokens import LocalToken
from ..config.sources import COLLECTOR
from .options import CommandError, Found, settings_options
from .terminal_tables import printable

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 — nothing is bound here
"""Wildcard addresses to listen on, which browsers cannot open, each with one that they can."""


def greeting(url: str, token: LocalToken | None) -> str:
    """Return the first lines: the URL and, if a token was drawn, the address of the pages with the token."""
    if token is None:
        return url
    parts = urlsplit(url)
    page = f"{_EVERYWHERE[parts.hostname]}:{parts.port}" if parts.hostname in _EVERYWHERE else parts.netloc
    return f"{url}\nto read the answers: http://{page}/?token={token.token}"


@click.command()
@settings_options(*COLLECTOR.settings)
def run(found: Found) -> None:
    """Run a collector. The first line on stdout is its URL.

    The second line is the address of its pages with a read token, valid until the server stops and kept in memory only.
    If stdout is logged, add --no-local-token. Other people read with a token that you create.
    """
    from dither_serving.logs import log_json
    from dither_serving.server import listen, serve, url_of

    from ..analysis.estimate_table import metric_summary
    from ..app import collector_of, create_app
    from ..store.sink import spool_package
    from .examination.configuration import seals, unable
    from .examination.findings import Level

    config = COLLECTOR.configured(found)
    log_json(config.log_level)
    metrics = config.load()
    try:
        listener = listen(config.host, config.port)
    except ParameterError as error:
        raise CommandError(str(error), 1) from None
    config = replace(config, metrics=metrics, local_address=url_of(listener).removeprefix("http://"))
    with listener, closing(collector_of(app := create_app(config))) as collector:
        for metric in collector.metrics.values():
            click.echo(printable(metric_summary(metric)), err=True)
        if config.spool:
            click.echo(printable(spool_package().describe(config)), err=True)
        for finding in seals(config, metrics):
            if finding.level is Level.PROBLEM:  # nobody could open what devices seal for such a key
                click.echo(printable(finding.text), err=True)
        for text in unable(config, collector.store.tokens.all()):
            click.echo(text, err=True)
        token = collector.gatekeeper.draw_local_token(listener.getsockname()[1]) if config.local_token else None
        serve(app, collector, listener, lambda url: click.echo(greeting(url, token)))
