"""The command ``fold``, which counts what collectors have spooled."""

import re
import time
from contextlib import closing
from dataclasses import replace
from typing import NamedTuple

import click

from dither_shared import DitherError, ParameterError

from .options import Found, refusing, required, settings_options
from .terminal_tables import printable

__all__ = ["fold"]

_SPAN = re.compile(r"([1-9][0-9]{0,5})([smh])")
_SECONDS = {"s": 1, "m": 60, "h": 3600}


class _Asked(NamedTuple):
    """What the command line asks for."""

    found: Found
    spool: str
    jobs: int
    scheduler: str | None
    dry_run: bool
    as_json: bool


@click.command()
@click.option("--spool", metavar="DIR|URL", required=True, help="The folder or URL that the collectors spool to.")
@settings_options("db", "horizon", "lock_wait")
@click.option("--jobs", type=click.IntRange(0, 4096), default=1, show_default=True,
              help="Share the work among so many processes; 0 for one a processor.")  # fmt: skip
@click.option("--scheduler", metavar="ADDRESS", help="Share it among the workers of a Dask cluster, tcp://HOST:PORT.")
@click.option("--every", metavar="SPAN", help="Fold again and again, each 10m, 30s or 1h.")
@click.option("--dry-run", is_flag=True, help="Say what would be counted, and change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each run.")
@refusing
def fold(
    found: Found,
    spool: str,
    jobs: int,
    scheduler: str | None,
    every: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Count what collectors have spooled, each batch once.

    Collectors may run meanwhile. Kill it where you like: the next fold goes on, and the result is the same. Of two at a
    time on one database the second waits, for as long as lock_wait says, and then exits with 1, as it does where the
    database, the spool or the workers fail. With --every a failure is told, and the next fold tries again.
    """
    asked = _Asked(found, spool, jobs, scheduler, dry_run, as_json)
    pause = None if every is None else _seconds(every)
    if pause is not None and dry_run:
        raise ParameterError("--every", "not with --dry-run, which changes nothing")
    with _denying():
        begun = time.monotonic()
        _once(asked)
        while pause is not None:
            time.sleep(max(0.0, begun + pause - time.monotonic()))
            begun = time.monotonic()
            try:
                _once(asked)
            except DitherError as error:
                click.echo(printable(f"dither-server: {error}"), err=True)


def _once(asked: _Asked) -> None:
    """Fold what there is, and print a line for each run."""
    from ..ingest.folding.run import Folding
    from ..ingest.folding.workers import workers
    from ..store import Store

    wait = float(str(_value(asked.found, "lock_wait")))
    url = required(asked.found, "db")
    place, horizon = _place(asked.spool), _horizon(asked.found)
    with closing(Store(url, create=False, lock_wait=wait, read_only=asked.dry_run)) as store:
        folding = Folding(store, place, horizon=horizon, progress=_progress())
        with workers(asked.jobs, asked.scheduler) as spread:
            folding = replace(folding, spread=spread)
            for report in [folding.plan()] if asked.dry_run else folding.fold(wait):
                _tell(report, asked)
