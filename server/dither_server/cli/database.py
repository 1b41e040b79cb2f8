"""The commands ``backup``, ``restore`` and ``purge``."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click

from dither_shared import ParameterError
from dither_shared.metrics.period import utc_today

from .options import Found, required, settings_options, stored
from .terminal_tables import aligned, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..store import Store
    from ..store.removal import Removal

_FILE = click.Path(path_type=Path)
_overwrite = click.option("--overwrite", is_flag=True, help="Overwrite what already exists.")


@click.command()
@click.argument("file", type=_FILE)
@settings_options("db")
@_overwrite
def backup(found: Found, file: Path, overwrite: bool) -> None:
    """Copy the SQLite database to FILE, while collectors run.

    The copy holds everything that was acknowledged before it began. FILE appears only when the copy is complete. Exit
    status 1 if it fails. For a PostgreSQL database, this command prints the pg_dump command to use.
    """
    from ..store import back_up

    with ending_tidily():
        size = back_up(required(found, "db"), file, overwrite=overwrite)
    click.echo(printable(f"{file}: {size:,} bytes"), err=True)


@click.command()
@click.argument("file", type=_FILE)
@settings_options("db")
@_overwrite
def restore(found: Found, file: Path, overwrite: bool) -> None:
    """Replace the database with FILE, which ``backup`` wrote.

    Stop all collectors first. Every page of FILE is checked before anything is replaced; if anything fails, the
    database stays as it was.
    """
    from ..store import restore as bring_back

    with ending_tidily():
        schema = bring_back(required(found, "db"), file, overwrite=overwrite)
    click.echo(printable(f"{file} is restored; its schema is {schema}"), err=True)


@contextmanager
def ending_tidily() -> Iterator[None]:
    """End by an exception on SIGTERM, so that nothing half done is left behind."""
    before = signal.signal(signal.SIGTERM, _stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _stop(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


@click.command()
@click.option("--metric", "metrics", metavar="NAME", multiple=True, help="Remove this metric only; repeatable.")
@click.option("--version", metavar="DIGITS", help="Remove this version of it only.")
@click.option("--before", metavar="DAY", help="Remove only the UTC days before this one, such as 2026-01-01.")
@settings_options("db")
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and remove nothing.")
@click.option("--yes", is_flag=True, help="Remove without asking.")
def purge(
    found: Found, metrics: tuple[str, ...], version: str | None, before: str | None, dry_run: bool, yes: bool
) -> None:
    """Remove collected data for good: whole days, and the estimates made from them.

    Name days, metrics or both. Collectors may keep running. Definitions and batch ids are kept, so that removed reports
    cannot count again. The setting retention does the same every day. Exits with 1 if you do not confirm.
    """
    from ..reading.parameters import day_of
    from ..store.removal import removals

    first_kept = None if before is None else day_of(before, "--before")
    if version is not None and len(metrics) != 1:
        raise ParameterError("--version", "belongs to one metric; name it by --metric")
    if not metrics and first_kept is None:
        raise ParameterError("purge", "name what to remove: --metric, --before or both")
    if first_kept is not None and first_kept > utc_today():
        raise ParameterError("--before", "later than today, whose reports are still arriving")
    with stored(found) as store:
        names = _named(store, metrics, version)
        planned = [one for name in names for one in removals(store, name, version, first_kept)]
        click.echo(_as_table(planned) if planned else "nothing to remove")
        if dry_run or not planned:
            return
        if not yes:
            click.confirm("Remove all this for good?", abort=True, err=True)
        for removal in planned:
            removal.carry_out(store)
        click.echo("removed", err=True)


def _named(store: "Store", metrics: tuple[str, ...], version: str | None) -> list[str]:
    """Return the names of the selected metrics; raise ParameterError for one that was never registered."""
    known = dict.fromkeys(name for name, _ in store.definitions.registered())
    for name in metrics:
        if name not in known:
            raise ParameterError(name, f"no metric has this name; known: {', '.join(known) or 'none'}")
        versions = store.definitions.versions(name)
        if version not in {None, *versions}:
            raise ParameterError("--version", f"not collected here; known: {', '.join(versions)}")
    return list(dict.fromkeys(metrics)) or ["", *known]


def _as_table(planned: "Sequence[Removal]") -> str:
    """Return a line for each version with its days, reports and rows, and one for all together."""
    table: list[tuple[str, ...]] = [("metric", "version", "days", "reports", "rows", "")]
    for one in planned:
        days = f"{one.days[0]} to {one.days[-1]}" if one.days else "counts of refused batches"
        reports = "unknown" if one.reports is None else f"{one.reports:,}"
        name = printable(one.metric) or "(no metric)"
        table.append((name, one.version or "", str(len(one.days)), reports, f"{one.rows:,}", days))
    counts = [(len(one.days), one.reports or 0, one.rows) for one in planned]
    table.append(("in all", "", *(f"{sum(column):,}" for column in zip(*counts, strict=True)), ""))
    return "\n".join(aligned(table))
