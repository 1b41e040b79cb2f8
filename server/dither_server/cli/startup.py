"""The lines that a collector prints when it starts: where it listens, who may read, and which roles have no token."""

from collections.abc import Collection, Iterator
from datetime import date
from urllib.parse import urlsplit

from dither_serving.addresses import is_loopback

from ..access.gatekeeper import Role
from ..access.tokens import LocalToken
from ..config.settings import Config
from ..store import StoredToken
from ..store.sink import spool_package

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 — nothing is bound here
"""Wildcard addresses to listen on, which browsers cannot open, each with one that they can."""


def greeting(url: str, token: LocalToken | None) -> str:
    """Return the first lines: the URL and, if a token was drawn, the address of the pages with the token."""
    if token is None:
        return url
    parts = urlsplit(url)
    page = f"{_EVERYWHERE[parts.hostname]}:{parts.port}" if parts.hostname in _EVERYWHERE else parts.netloc
    return f"{url}\nto read the answers: http://{page}/?token={token.token}"


def spooling(config: Config) -> Iterator[str]:
    """Yield where reports are appended, if a spool is used."""
    if config.spool:
        yield spool_package().describe(config)


def roles_of(tokens: Collection[StoredToken], today: date) -> frozenset[Role]:
    """Return the roles of the tokens that are valid today."""
    return frozenset(Role(one.role) for one in tokens if one.expires is None or one.expires > today)


def unable(config: Config, tokens: Collection[StoredToken]) -> Iterator[str]:
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
