"""The command ``doctor``: examine a collector, or show its settings."""

import json
import shutil
import sys
import textwrap
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING

import click

from dither_shared import DitherError, Metric, ParameterError
from dither_shared.counted import counted

from ..config.settings import Config
from ..config.sources import COLLECTOR, describe
from .options import Found, json_option, settings_options
from .terminal_tables import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .examination.findings import CheckResult
    from .examination.running import Peer

_INDENT = " " * 9


@click.command()
@settings_options(
    "metrics", "db", "host", "port", "open", "origins", "proxies", "trust_loopback", "local_token", "spool",
    "spool_open", "seal_keys", "population",
)  # fmt: skip
@click.option("--settings", is_flag=True, help="Show each setting and where its value comes from; examine nothing.")
@click.option(
    "--before-start", is_flag=True, help="Check only what a start needs; warnings do not change the exit status."
)
@click.option("--url", metavar="URL", help="Also ask the running collector at this address, the one that apps use.")
@click.option(
    "--token",
    envvar="DITHER_TOKEN",
    metavar="TOKEN",
    help="A token of the role admin: the collector then reports which proxies it sees. [DITHER_TOKEN]",
)
@click.option("--thorough", is_flag=True, help="Check even a database above 1 GB completely for damage.")
@json_option
def doctor(
    found: Found, settings: bool, before_start: bool, url: str | None, token: str | None, thorough: bool, as_json: bool
) -> None:
    """Examine the collector: settings, database, spool, disk, clocks, proxies, and incoming reports.

    Run it on the collector's machine, with the collector's settings, whether the collector runs or not. It modifies
    nothing. It prints one line for each finding: ok, warning or problem, and what to do. Exit status 0 if all is well,
    1 after a warning, 2 after a problem; with --before-start, 2 if a collector could not run or could not open sealed
    reports, otherwise 0.
    """
    if settings:
        _show_settings(describe(found), as_json=as_json)
        return
    from .examination.configuration import in_configuration
    from .examination.running import Peer

    config, peer = COLLECTOR.configured(found), None if url is None else Peer(url, token)
    findings: list[CheckResult] = []
    for finding in in_configuration(config) if before_start else _examined(config, peer, thorough=thorough):
        findings.append(finding)
        if not as_json:
            click.echo(_shown(str(finding)))
    worst = max(finding.level.value for finding in findings)
    status = 0 if before_start and worst == 1 else worst
    if as_json:
        shown = [{**finding._asdict(), "level": finding.level.name.lower()} for finding in findings]
        click.echo(json.dumps({"findings": shown, "status": status}, indent=2))
    else:
        click.echo(_summary(findings), err=True)
    raise SystemExit(status)


def _show_settings(described: "Mapping[str, Mapping[str, object]]", *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(described, indent=2))
        return
    width = max(map(len, described))
    for name, one in described.items():
        click.echo(printable(f"{name:{width}}  {json.dumps(one['value'])}  ({one['source']})"))
        click.echo(f"    {one['about']}")


def _shown(line: str) -> str:
    """Return a line: for programs, or for people, fitted to the width of their terminal."""
    line = printable(line)
    if not sys.stdout.isatty():
        return line
    width = max(40, shutil.get_terminal_size().columns)
    return textwrap.fill(line, width, subsequent_indent=_INDENT, break_on_hyphens=False)


def _summary(findings: "Sequence[CheckResult]") -> str:
    levels = Counter(finding.level.name.lower() for finding in findings)
    return ", ".join(counted(levels[name], name) for name in ("problem", "warning"))


def _examined(config: Config, peer: "Peer | None", *, thorough: bool) -> "Iterator[CheckResult]":
    """Examine a configuration, and the collector that runs at ``peer``; checks follow those that they depend on.

    With ``thorough`` a large database is read completely, to check whether it is damaged.
    """
    from ..store import Store, database_file
    from ..store.sink import spool_package
    from .examination.configuration import in_configuration
    from .examination.database import in_database, in_field, on_machine
    from .examination.findings import ok
    from .examination.running import of_running

    yield from in_configuration(config)
    try:
        with closing(Store(config.db, create=False, lock_wait=config.lock_wait, read_only=True)) as store:
            yield from in_database(store, thorough)
            yield from in_field(store, config.today(), config.seal_alarm)
            if config.spool:
                yield from spool_package().findings_of_folds(config, store)
    except DitherError:  # which is found in the configuration
        pass
    path = database_file(config.db)
    if path is not None:
        yield from on_machine(path.parent)
    if config.spool:
        yield from spool_package().findings(config)
    if peer is None:
        yield ok("collector", "not asked; --url https://... asks it as devices do, and also checks proxies and clock")
    else:
        yield from of_running(peer, config, _metrics(config))


def _metrics(config: Config) -> dict[str, Metric]:
    try:
        return config.load()
    except ParameterError:  # which is found in the configuration
        return {}
