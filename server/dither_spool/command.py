"""The command ``fold``, which counts what collectors have spooled."""

import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

import click

from dither_server.cli.options import Found, required, settings_options, workers_options
from dither_server.cli.terminal_tables import printable
from dither_server.config.sources import COLLECTOR
from dither_serving.settings import RETRY_DAYS
from dither_shared import DitherError, ParameterError
from dither_shared.counted import counted

if TYPE_CHECKING:
    from .blobs import BlobStore
    from .fold import FoldReport
    from .manifest import Skipped

_INTERVAL = re.compile(r"([1-9][0-9]{0,5})([smh])")
_SECONDS = {"s": 1, "m": 60, "h": 3600}


@click.command()
@settings_options("db", "spool", "spool_open", "horizon", "lock_wait")
@workers_options()
@click.option(
    "--skip", metavar="NAME", multiple=True, help="Skip the unreadable parts of this damaged segment. Repeatable."
)
@click.option("--every", metavar="INTERVAL", help="Fold again after each interval, such as 10m, 30s or 1h.")
@click.option("--dry-run", is_flag=True, help="Show what would be counted, and change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each run.")
def fold(
    found: Found,
    jobs: int,
    scheduler: str | None,
    skip: tuple[str, ...],
    every: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Count what collectors have spooled, each batch once.

    Collectors may keep running. Safe to interrupt: the next fold resumes, with the same result. If another fold runs
    on the database, this one waits up to lock_wait seconds. Exit status 1 if the other takes longer, or if
    the database, the spool or the workers fail. With --every, later failures are only printed, and the next fold tries
    again.
    """
    fold_once = partial(_fold_once, found, jobs, scheduler, dry_run=dry_run, as_json=as_json)
    pause = None if every is None else _seconds(every)
    for name, value in (("--every", every), ("--skip", skip)):
        if dry_run and value:
            raise ParameterError(name, "cannot be used with --dry-run, which changes nothing")
    with _ended_by_signals():
        begun = time.monotonic()
        fold_once(skip)
        while pause is not None:
            time.sleep(max(0.0, begun + pause - time.monotonic()))
            begun = time.monotonic()
            try:
                fold_once(())
            except DitherError as error:
                click.echo(printable(f"dither-server: {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC: {error}"), err=True)


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """End at once at a signal, without cleaning up: a fold may be killed anywhere, and its workers end with it."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda number, _: os._exit(128 + number)) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _fold_once(
    found: Found, jobs: int, scheduler: str | None, skip: tuple[str, ...], *, dry_run: bool, as_json: bool
) -> None:
    """Skip the damage of some segments, fold what there is, and print a line for each run."""
    from dither_server.store import Store

    from .fold import Folding
    from .manifest import skip_damage
    from .workers import workers

    horizon, wait = _horizon(found), float(str(_value(found, "lock_wait")))
    url = required(found, "db")
    with closing(Store(url, create=False, lock_wait=wait, read_only=dry_run)) as store, ExitStack() as stack:
        blobs = _blobs(found, store.identity(), dry_run=dry_run)
        spread = stack.enter_context(workers(jobs, scheduler, _print_line))
        for skipped in skip_damage(store, blobs, skip, wait) if skip else ():
            _print_skipped(skipped)
        folding = Folding(store, blobs, horizon, spread, progress=_progress())
        for report in [folding.plan()] if dry_run else folding.fold(wait):
            _print_report(report, dry_run=dry_run, as_json=as_json)


def _blobs(found: Found, database: str, *, dry_run: bool) -> "BlobStore":
    """Return where the segments are; unless it is a dry run, seal the journals that dead collectors left here first.

    Raises ParameterError if no collector has made a spool there yet, or if it belongs to another database.
    """
    from .blobs import blob_store_at
    from .layout import SpoolLayout, require_owner

    where, journals = str(_value(found, "spool")), str(_value(found, "spool_open"))
    if not where:
        raise COLLECTOR.missing("spool")
    blobs = blob_store_at(where)
    require_owner(blobs, database)
    if not dry_run and (journals or blobs.folder is not None):
        SpoolLayout.at(where, journals).close_abandoned()
    return blobs


def _horizon(found: Found) -> timedelta:
    days = int(str(_value(found, "horizon")))
    if days <= RETRY_DAYS:
        raise ParameterError("horizon", f"{days} is not above {RETRY_DAYS}, the days for which devices retry")
    return timedelta(days=days)


def _value(found: Found, name: str) -> object:
    """Return a setting that has a default."""
    setting = found[name]
    return None if setting is None else setting.value


def _seconds(interval: str) -> int:
    match = _INTERVAL.fullmatch(interval)
    if match is None:
        raise ParameterError("--every", f"invalid interval {interval!r}; examples: 30s, 10m, 1h")
    return int(match[1]) * _SECONDS[match[2]]


def _print_report(report: "FoldReport", *, dry_run: bool, as_json: bool) -> None:
    """Print what a run did, or would do."""
    sums = report.sums
    if as_json:
        run = {"run": report.run or None, "dry_run": dry_run, "resumed": report.resumed}
        until = {"folded_up_to": report.begun.isoformat().replace("+00:00", "Z"), "segments": report.segments}
        click.echo(json.dumps({**run, **until, **sums._asdict()}))
    else:
        resumed = ", begun before and ended now" if report.resumed else ""
        begun = f"{report.begun:%Y-%m-%d %H:%M} UTC"
        verb = f"as of {begun} would count" if dry_run else f"fold of {begun}{resumed}:"
        batches, rows = counted(sums.batches, "batch", "batches"), counted(sums.rows, "report")
        others = f"{sums.repeated:,} repeated, {sums.conflicts:,} in conflict"
        click.echo(f"{verb} {batches} of {rows} from {counted(report.segments, 'file')}; {others}")
    if sums.damaged:
        held = counted(sums.damaged, "batch", "batches")
        click.echo(f"dither-server: {held} held reports that no device could have sent, not counted", err=True)


def _print_skipped(skipped: "Skipped") -> None:
    lost = "all of it"
    if skipped.lost is not None and skipped.size is not None:
        lost = f"{skipped.lost:,} of {counted(skipped.size, 'byte')}"
    click.echo(f"dither-server: {skipped.segment} is damaged: skipped {lost}", err=True)


def _print_line(text: str) -> None:
    click.echo(f"dither-server: {text}", nl=False, err=True)


def _progress() -> Callable[[int], None]:
    """Return a function that shows on a terminal how many buckets are done."""
    if not sys.stderr.isatty():
        return lambda _: None
    from .records import BUCKETS

    done = 0

    def progress(more: int) -> None:
        nonlocal done
        done = done % BUCKETS + more
        click.echo(f"\rfolding: {done} of {BUCKETS} parts" if done < BUCKETS else "\r\033[K", nl=False, err=True)

    return progress
