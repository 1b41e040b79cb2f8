"""The commands of an operator: tokens, where each setting comes from, and whether it all fits."""

import json

import click

from dither_shared import ParameterError

from ..config import utc_today
from ..roles import Role
from ..settings import configured, describe
from .options import Found, refusing, settings_options, stored
from .table import printable

__all__ = ["check", "show_config", "token"]

_SHOWN = 12
"""Hexadecimal digits of a digest that name a token: enough to tell thousands apart."""


@click.group()
def token() -> None:
    """Create, list and revoke tokens."""


@token.command("create")
@settings_options("db")
@click.option("--role", required=True, type=click.Choice([role.value for role in Role]), help="What it is for.")
@click.option("--note", default="", metavar="TEXT", help="For whom, up to 64 characters.")
@refusing
def create_token(found: Found, role: str, note: str) -> None:
    """Draw a token and print it. It cannot be shown again: the database keeps its digest."""
    from ..auth import digest_of, draw_token
    from ..store import StoredToken

    if len(note) > 64:
        raise ParameterError("--note", "longer than 64 characters")
    drawn = draw_token(Role(role))
    with stored(found, create=True) as store:
        store.add_token(StoredToken(digest_of(drawn), role, note, utc_today()))
    click.echo(drawn)


@token.command("list")
@settings_options("db")
@refusing
def list_tokens(found: Found) -> None:
    """List tokens: id, role, day of creation, note."""
    with stored(found) as store:
        for one in store.tokens():
            click.echo(f"{one.digest.hex()[:_SHOWN]}  {one.role:6}  {one.day}  {printable(one.note)}".rstrip())


@token.command("revoke")
@click.argument("identifier", metavar="ID")
@settings_options("db")
@refusing
def revoke_token(found: Found, identifier: str) -> None:
    """Revoke the token that ``list`` shows under ID. Collectors that run refuse it within seconds."""
    with stored(found) as store:
        named = [one for one in store.tokens() if one.digest.hex()[:_SHOWN] == identifier]
        if len(named) != 1 or not store.drop_token(named[0].digest):
            raise ParameterError("ID", "names no token; dither-server token list shows them")


@click.command("config")
@settings_options("metrics", "db", "host", "port", "open")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@refusing
def show_config(found: Found, as_json: bool) -> None:
    """Show each setting, and where its value comes from."""
    described = describe(found)
    if as_json:
        click.echo(json.dumps(described, indent=2))
        return
    width = max(map(len, described))
    for name, one in described.items():
        click.echo(printable(f"{name:{width}}  {json.dumps(one['value'])}  ({one['source']})"))


@click.command("check")
@settings_options("metrics", "db", "host", "port", "open")
@refusing
def check(found: Found) -> None:
    """Say what is wrong with the configuration, or unwise. Exits with 1 if a collector could not run on it."""
    from .linting import remarks

    worst = 0
    for remark in remarks(configured(found)):
        click.echo(printable(f"{remark.level}: {remark.text}"))
        worst = max(worst, int(remark.level == "error"))
    raise SystemExit(worst)
