"""The command line: run a relay, forward now, and show its status."""

import json
import time
from contextlib import closing

import click

from dither_server.cli.options import CommandError, Found, settings_options
from dither_server.config.sources import ResolvedSetting
from dither_shared import DitherError, ParameterError
from dither_shared.counted import counted

from .config import RELAY

_TRIES, _PAUSE = 5, 5.0
"""Tries of ``forward`` while the collector takes nothing, and the seconds between them."""


_UNASKED = ResolvedSetting("http://localhost", "default")
"""Placeholder for the collector's URL in commands that do not contact it."""


@click.group("dither-relay", context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dither")
def cli() -> None:
    """Take sealed reports from devices, and forward them to the collector in shuffled batches.

    The relay sees addresses but no report; the collector sees reports but no address.
    """


@cli.command()
@settings_options(*RELAY.settings, sources=RELAY)
def run(found: Found) -> None:
    """Run a relay. The first line on stdout is its URL.

    Every day at the set hour, each pool with enough reports is forwarded. A missed hour is made up for.
    """
    from dither_serving.collector_url import CollectorUrl
    from dither_serving.logs import log_json
    from dither_serving.server import listen, serve, url_of

    from .app import create_app
    from .relay import Relay

    config = RELAY.configured(found)
    log_json(config.log_level)
    try:
        listener = listen(config.host, config.port)
    except ParameterError as error:
        raise CommandError(str(error), 1) from None
    with listener:
        relay = Relay(config)
        if config.token and CollectorUrl.parse("collector", config.collector).is_exposed:
            click.echo("collector: without https, the token can be read in transit", err=True)
        app = create_app(relay, url_of(listener).removeprefix("http://"))
        serve(app, relay, listener, click.echo)


@cli.command()
@settings_options("db", "collector", "token", "batch", "grace", "max_age", sources=RELAY)
def forward(found: Found) -> None:
    """Forward now every pool whose period is over, with enough reports, as at the set hour. The relay may keep running.

    Exit status 1 if the collector did not take everything; what it did not take is kept.
    """
    from .collector import CollectorClient
    from .forwarding import ANOTHER_ROUND, Rounds
    from .store import RelayStore

    config = RELAY.configured(found)
    collector = CollectorClient(config.collector, config.token, config.collector_seconds)
    with closing(RelayStore(config.db, create=False, lock_wait=config.lock_wait)) as store:
        with store.exclusive_lock("round", ANOTHER_ROUND):
            rounds, reports = Rounds(config, store, collector), 0
            rounds.freeze()
            for tries in range(_TRIES):
                if tries:
                    time.sleep(_PAUSE)
                posted = rounds.post({})
                reports += posted.reports
                if posted.is_over:
                    break
            rounds.tidy()
        held = store.held()
        kept = f", {frozen:,} not taken" if (frozen := sum(pool.frozen for pool in held)) else ""
        waiting = counted(sum(pool.waiting for pool in held), "waits", "wait")
        click.echo(f"{counted(reports, 'report')} forwarded{kept}, {waiting}")
    if posted.trouble:
        raise DitherError(posted.trouble)


@cli.command()
@settings_options("db", "batch", "at", sources=RELAY)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status(found: Found, as_json: bool) -> None:
    """Show the waiting reports, the forwarded reports, and the failures."""
    from .status import as_lines, status_of
    from .store import RelayStore

    config = RELAY.configured({**found, "collector": found["collector"] or _UNASKED})
    with closing(RelayStore(config.db, create=False, read_only=True)) as store:
        shown = status_of(store, config.batch, config.hour(), config.now())
    click.echo(json.dumps(shown, indent=2) if as_json else "\n".join(as_lines(shown)))
