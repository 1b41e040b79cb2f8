"""The commands ``backup`` and ``restore``."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import click

from .options import Found, required, settings_options
from .terminal_tables import printable

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
