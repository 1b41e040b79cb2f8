"""The command ``run``."""

from contextlib import closing
from dataclasses import replace

import click

from dither_shared import ParameterError

from ..config.sources import SETTINGS
from .options import CommandError, Found, settings_options


@click.command()
@settings_options(*SETTINGS)
def run(found: Found) -> None:
    """Run a collector. The first line on stdout is its URL.

    The second line is the address of its pages with a read token, valid until the server stops and kept in memory only.
    If stdout is logged, add --no-local-token. Other people read with a token that you create.
    """
    from dither_serving.logs import log_json
    from dither_serving.server import listen, serve, url_of

    from ..analysis.estimate_table import metric_summary
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
        raise CommandError(str(error), 1) from None
    config = replace(config, metrics=metrics, local_address=url_of(listener).removeprefix("http://"))
    with listener, closing(collector_of(app := create_app(config))) as collector:
        for metric in collector.metrics.values():
            click.echo(printable(metric_summary(metric)), err=True)
        for text in spooling(config):
            click.echo(printable(text), err=True)
        for finding in seals(config, metrics):
            if finding.level is Level.PROBLEM:  # nobody could open what devices seal for such a key
                click.echo(printable(finding.text), err=True)
        for text in unable(config, collector.store.tokens.all()):
            click.echo(text, err=True)
        token = collector.gatekeeper.draw_local_token(listener.getsockname()[1]) if config.local_token else None
        serve(app, collector, listener, lambda url: click.echo(greeting(url, token)))
