"""The commands ``token create``, ``list``, ``rotate`` and ``revoke``."""

import json
from datetime import date, timedelta
from typing import TYPE_CHECKING

import click

from dither_shared import ParameterError
from dither_shared.metrics.period import utc_today

from ..access.tokens import Role
from .options import Found, settings_options, stored
from .terminal_tables import printable

if TYPE_CHECKING:
    from ..store import Store, StoredToken

_YEARS = timedelta(days=36_500)
"""The longest lifetime of a token."""


@click.group()
def token() -> None:
    """Create, list, rotate and revoke tokens."""


@token.command("create")
@settings_options("db")
@click.option("--role", required=True, type=click.Choice([role.value for role in Role]), help="Allow this.")
@click.option("--note", default="", metavar="TEXT", help="Note saying who it is for, up to 64 characters.")
@click.option(
    "--expires", metavar="WHEN", help="When it ends: after some days (90d), or on a UTC day such as 2027-01-01."
)
def create_token(found: Found, role: str, note: str, expires: str | None) -> None:
    """Create a token and print it. It cannot be shown again: the database keeps only its digest."""
    from ..access.tokens import digest_of, draw_token
    from ..store import StoredToken

    if len(note) > 64:
        raise ParameterError("--note", "longer than 64 characters")
    end = None if expires is None else _day_to_come(expires, "--expires")
    drawn = draw_token(Role(role))
    with stored(found, create=True) as store:
        store.tokens.add(StoredToken(digest_of(drawn), role, note, utc_today(), end))
    click.echo(drawn)


@token.command("list")
@settings_options("db")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_tokens(found: Found, as_json: bool) -> None:
    """List tokens: id, role, days of creation, expiry and last use, note."""
    with stored(found) as store:
        tokens = store.tokens.all()
    if as_json:
        click.echo(json.dumps([_described(one) for one in tokens], indent=2))
        return
    for one in tokens:
        ends = "never expires" if one.expires is None else f"{_ends(one)} {one.expires}"
        used = "never used" if one.used is None else f"used {one.used}"
        line = f"{one.identifier}  {one.role:6}  made {one.day}  {ends:18}  {used:15}  {printable(one.note)}"
        click.echo(line.rstrip())


@token.command("rotate")
@click.argument("identifier", metavar="ID")
@settings_options("db")
@click.option("--grace", default="7d", show_default=True, metavar="WHEN", help="Keep the old one valid for this long.")
@click.option("--expires", metavar="WHEN", help="When the new token ends. [default: valid for as long as the old one]")
def rotate_token(found: Found, identifier: str, grace: str, expires: str | None) -> None:
    """Create a token with the role and note of the token that ``list`` shows under ID, and print it.

    The old token stays valid for some days while its users change over; with --grace 0d it ends now.
    """
    from ..access.tokens import digest_of, draw_token
    from ..store import StoredToken

    today = utc_today()
    end = today if grace == "0d" else _day_to_come(grace, "--grace")
    with stored(found, create=True) as store:
        old = _named(store, identifier)
        until = None if old.expires is None else today + max(old.expires - old.day, timedelta(days=1))
        if expires is not None:
            until = _day_to_come(expires, "--expires")
        drawn = draw_token(Role(old.role))
        store.tokens.rotate(old.digest, StoredToken(digest_of(drawn), old.role, old.note, today, until), end)
    click.echo(drawn)


@token.command("revoke")
@click.argument("identifier", metavar="ID")
@settings_options("db")
def revoke_token(found: Found, identifier: str) -> None:
    """Revoke the token that ``list`` shows under ID. Running collectors refuse it within seconds."""
    with stored(found) as store:
        store.tokens.delete(_named(store, identifier).digest)


def _named(store: "Store", identifier: str) -> "StoredToken":
    named = [one for one in store.tokens.all() if one.identifier == identifier]
    if len(named) != 1:
        raise ParameterError("ID", "names no token; dither-server token list shows them")
    return named[0]


def _ends(one: "StoredToken") -> str:
    return "expired" if one.expires is not None and one.expires <= utc_today() else "expires"


def _described(one: "StoredToken") -> dict[str, object]:
    days = {name: day and day.isoformat() for name, day in (("expires", one.expires), ("used", one.used))}
    return {"id": one.identifier, "role": one.role, "made": one.day.isoformat(), **days, "note": one.note}


def _day_to_come(text: str, place: str) -> date:
    """Return the future day given as a number of days (``90d``) or as a date; raise ParameterError otherwise."""
    from ..reading.parameters import day_of

    today, days = utc_today(), text.removesuffix("d")
    ahead = len(days) < 6 and days.isascii() and days.isdigit() and text != days
    day = today + timedelta(days=int(days)) if ahead else day_of(text, place, "90d or 2027-01-01")
    if not today < day <= today + _YEARS:
        raise ParameterError(place, "not a future day within a hundred years")
    return day
