"""The command ``run``, and the lines that it prints first: where it listens, who may read, which roles lack a token."""

from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from dither_serving.addresses import is_loopback
from dither_shared import ParameterError

from ..access.tokens import LocalToken, Role
from ..config.settings import Config
from ..config.sources import COLLECTOR
from .options import CommandError, Found, settings_options
from .terminal_tables import printable

if TYPE_CHECKING:
    from ..store import StoredToken

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 — nothing is bound here
"""Wildcard addresses to listen on, which browsers cannot open, each with one that they can."""


def greeting(url: str, token: LocalToken | None) -> str:
    """Return the first lines: the URL and, if a token was drawn, the address of the pages with the token."""
    if token is None:
        return url
    parts = urlsplit(url)
    page = f"{_EVERYWHERE[parts.hostname]}:{parts.port}" if parts.hostname in _EVERYWHERE else parts.netloc
    return f"{url}\nto read the answers: http://{page}/?token={token.token}"


def roles_of(tokens: "Collection[StoredToken]", today: date) -> frozenset[Role]:
    """Return the roles of the tokens that are valid today."""
    return frozenset(Role(one.role) for one in tokens if one.expires is None or one.expires > today)


def unable(config: Config, tokens: "Collection[StoredToken]") -> Iterator[str]:
    """Yield the roles that nobody has yet, and how to grant them."""
    for role, near in shut_out(config, roles_of(tokens, config.today())):
        if near is None:
            yield f"nobody may {role.value} yet: dither-server token create --role {role.value}"
    if (why := mute_pages(config)) is not None:
        yield why


def mute_pages(config: Config) -> str | None:
    """Return why pages of listed origins cannot report, and how to change that; None if they can.

    A page of another origin cannot send a token: browsers would ask for permission first, which no collector gives.
    """
    if not config.origins.listed or any(one.covers(Role.REPORT) for one in config.open):
        return None
    return f'origins: pages of {config.origins} send no token, and are answered 401; set open = ["report"]'


def shut_out(config: Config, roles: frozenset[Role]) -> Iterator[tuple[Role, str | None]]:
    """Yield each role that requires a token but has none, with who may still act in that role."""
    reports_here = bool(config.here.hosts) or (config.trust_loopback and is_loopback(config.host))
    near = {
        Role.REPORT: "only this machine" if reports_here else None,
        Role.READ: "only people with the address that is printed at the start" if config.local_token else None,
    }
    for role, who in near.items():
        if not any(one.covers(role) for one in config.open | roles):
            yield role, who


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
    from .examination.configuration import seals
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
