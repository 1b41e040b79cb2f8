"""The commands for seal keys, with which devices encrypt reports that go through a relay."""

import json
from typing import TYPE_CHECKING

import click

from dither_shared import ParameterError, load_metrics
from dither_shared.metrics.period import utc_today
from dither_shared.seal_key import SUITES, SealKey, Suite

from ..config.settings import seal_file
from .options import Found, settings_options
from .terminal_tables import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..ingest.seal_keys import KeyFile, SecretKey

_MOST = 2
"""Maximum keys of a suite: that of the apps in the field, and the next."""

_suite_option = click.option("--suite", type=click.Choice(list(SUITES)), help="Make it of this kind.")


@click.group()
def key() -> None:
    """Make, list, rotate and retire the keys that devices seal reports for."""


@key.command("create")
@settings_options("db", "seal_keys")
@_suite_option
def create_key(found: Found, suite: str | None) -> None:
    """Make the first key, and print the lines to add to metrics.toml. Keep a copy of the key file."""
    chosen = SUITES[suite or "x25519"]

    def create(keys: "list[SecretKey]") -> "Sequence[SecretKey]":
        if any(one.public.suite == chosen for one in keys):
            raise ParameterError("--suite", f"there is a key of {chosen.name}; dither-server key rotate makes the next")
        return [*keys, _drawn(chosen)]

    _made(_file(found), create)


@key.command("list")
@settings_options("db", "seal_keys")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_keys(found: Found, as_json: bool) -> None:
    """List keys, oldest first: fingerprint, kind, day on which it was made, public key."""
    keys = _file(found).read()
    if as_json:
        click.echo(json.dumps([_described(one) for one in keys], indent=2))
        return
    for secret in keys:
        public = secret.public
        click.echo(f"{public.fingerprint}  {public.suite.name:6}  made {secret.made}  {public}")


@key.command("rotate")
@settings_options("db", "seal_keys")
@_suite_option
def rotate_key(found: Found, suite: str | None) -> None:
    """Make the next key, and print the new lines for metrics.toml.

    The previous key opens reports until ``retire``: keep it as long as any app in use seals for it.
    """

    def rotate(keys: "list[SecretKey]") -> "Sequence[SecretKey]":
        chosen = keys[-1].public.suite if suite is None and keys else SUITES[suite or "x25519"]
        former = [one.public.fingerprint for one in keys if one.public.suite == chosen]
        if not former:
            raise ParameterError("--suite", f"there is no key of {chosen.name} yet; dither-server key create makes it")
        if len(former) >= _MOST:
            raise ParameterError(
                former[0], f"retire it first; at most {_MOST} keys of {chosen.name} can open reports at a time"
            )
        return [*keys, _drawn(chosen)]

    _made(_file(found), rotate)


@key.command("retire")
@click.argument("fingerprint")
@settings_options("metrics", "db", "seal_keys")
@click.option("--force", is_flag=True, help="Retire it even if metrics.toml names it.")
def retire_key(found: Found, fingerprint: str, force: bool) -> None:
    """Remove the key that ``list`` shows under FINGERPRINT. Reports sealed for it can never be opened again.

    Wait until none are left: a device keeps a report for 30 days, a relay for its max_age.
    """

    def retire(keys: "list[SecretKey]") -> "Sequence[SecretKey]":
        if fingerprint not in [one.public.fingerprint for one in keys]:
            raise ParameterError("FINGERPRINT", "names no key; dither-server key list shows them")
        if not force and fingerprint in {one.fingerprint for one in _named(found)}:
            raise ParameterError(fingerprint, "metrics.toml names it; rotate first, and release apps, or give --force")
        return [one for one in keys if one.public.fingerprint != fingerprint]

    _file(found).change(retire)
    click.echo(f"retired {printable(fingerprint)}", err=True)


def _made(file: "KeyFile", change: "Callable[[list[SecretKey]], Sequence[SecretKey]]") -> None:
    from ..ingest.hpke import require_cryptography

    require_cryptography()
    file.change(change)
    public = file.read()[-1].public
    click.echo(f'[seal]\nkey = "{public}"')
    click.echo(f"its private part is in {printable(str(file.path))}: back that up apart from the database", err=True)


def _drawn(suite: Suite) -> "SecretKey":
    from ..ingest.hpke import draw_key
    from ..ingest.seal_keys import SecretKey

    public, private = draw_key(suite)
    return SecretKey(public, utc_today(), private)


def _file(found: Found) -> "KeyFile":
    from ..ingest.seal_keys import KeyFile

    named, db = found["seal_keys"], found["db"]
    return KeyFile(seal_file(str(named.value) if named else "", str(db.value) if db else None))


def _named(found: Found) -> set[SealKey]:
    """Return the keys that metrics.toml names; none if there is no such file."""
    setting = found["metrics"]
    metrics = {} if setting is None else load_metrics(str(setting.value))
    return {metric.seal for metric in metrics.values() if metric.seal is not None}


def _described(one: "SecretKey") -> dict[str, str]:
    public = one.public
    described = {"fingerprint": public.fingerprint, "suite": public.suite.name, "made": one.made.isoformat()}
    return described | {"key": str(public)}
