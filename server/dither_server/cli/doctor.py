"""The command that examines a collector."""

import json
import shutil
import sys
import textwrap
from collections import Counter
from typing import TYPE_CHECKING

import click

from dither_shared.counted import counted

from ..config.sources import configured
from .options import Found, refusing, settings_options
from .terminal_tables import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .examination.findings import Finding

__all__ = ["doctor"]

_INDENT = " " * 9


@click.command()
@settings_options("metrics", "db", "spool", "spool_open", "proxies", "trust_loopback", "seal_keys")
@click.option("--url", metavar="URL", help="Ask the collector that runs there: the address that apps have.")
@click.option(
    "--token",
    envvar="DITHER_TOKEN",
    metavar="TOKEN",
    help="One of the role admin: the collector then tells what it sees of proxies. [DITHER_TOKEN]",
)
@click.option("--thorough", is_flag=True, help="Read a database above 1 GB whole, to see whether it is damaged.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@refusing
def doctor(found: Found, url: str | None, token: str | None, thorough: bool, as_json: bool) -> None:
    """Examine the collector: settings, database, spool, disk, clocks, proxies, and what comes in.

    Run it on the collector's machine, with its settings, while it runs or not. It modifies nothing. One line for each
    finding: ok, warning or problem, and what to do. Exits with 0 if all is well, 1 after a warning, 2 after a problem.
    """
    from .examination.examine import examine
    from .examination.peer import Peer

    peer = None if url is None else Peer(url, token)
    findings: list[Finding] = []
    for finding in examine(configured(found), peer, thorough=thorough):
        findings.append(finding)
        if not as_json:
            click.echo(_shown(str(finding)))
    worst = max(finding.level.value for finding in findings)
    if as_json:
        shown = [{**finding._asdict(), "level": finding.level.name.lower()} for finding in findings]
        click.echo(json.dumps({"findings": shown, "status": worst}, indent=2))
    else:
        click.echo(_summary(findings), err=True)
    raise SystemExit(worst)


def _shown(line: str) -> str:
    """Return a line for programs, or for people, whose terminal is as wide as it is."""
    line = printable(line)
    if not sys.stdout.isatty():
        return line
    width = max(40, shutil.get_terminal_size().columns)
    return textwrap.fill(line, width, subsequent_indent=_INDENT, break_on_hyphens=False)


def _summary(findings: "Sequence[Finding]") -> str:
    levels = Counter(finding.level.name.lower() for finding in findings)
    return ", ".join(counted(levels[name], name) for name in ("problem", "warning"))
