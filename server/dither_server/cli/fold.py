"""The command ``fold``, which counts what collectors have spooled."""

import json
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from types import FrameType
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import click

from dither_shared import DitherError, ParameterError
from dither_shared.counted import counted

from ..config.common import RETRY_DAYS
from ..config.sources import missing
from .options import Found, denying, refusing, required, settings_options, workers_options
from .terminal_tables import printable

if TYPE_CHECKING:
    from ..ingest.folding.run import Report
    from ..ingest.folding.workers import Map
    from ..store.spool.places import Place

__all__ = ["fold"]

_T = TypeVar("_T")
_R = TypeVar("_R")

_SPAN = re.compile(r"([1-9][0-9]{0,5})([smh])")
_SECONDS = {"s": 1, "m": 60, "h": 3600}


class _Asked(NamedTuple):
    """What the command line asks for."""

    found: Found
    jobs: int
    scheduler: str | None
    dry_run: bool
    as_json: bool
    give_up: tuple[str, ...]
    ending: "_Ending"


class _Ending:
    """Ends a command that is asked to by a signal: between two steps, and at once where it waits.

    In the midst of a step it would be no less safe, but the database's library would complain of it.
    """

    def __init__(self) -> None:
        self._asked = 0
        self._waits = False

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Hear signals meanwhile."""
        before = {number: signal.signal(number, self._ask) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """End meanwhile wherever it is."""
        self._waits = True
        try:
            self.step()
            yield
        finally:
            self._waits = False

    def over(self, spread: "Map") -> "Map":
        """Return a map that may be ended while it waits for a result."""

        def spread_and_wait(function: Callable[[_T], _R], items: Sequence[_T], /) -> Iterator[_R]:
            results = spread(function, items)
            for _ in items:
                with self.waiting():
                    result = next(results)
                yield result

        return spread_and_wait

    def step(self, _done: object = None) -> None:
        """End here if that is asked."""
        if self._asked:
            raise SystemExit(128 + self._asked)

    def _ask(self, number: int, _frame: FrameType | None) -> None:
        self._asked = number
        if self._waits:
            self.step()


@click.command()
@settings_options("db", "spool", "spool_open", "horizon", "lock_wait")
@workers_options()
@click.option(
    "--give-up", metavar="NAME", multiple=True, help="Count what can be read of this damaged segment. Repeatable."
)
@click.option("--every", metavar="SPAN", help="Fold again and again, each 10m, 30s or 1h.")
@click.option("--dry-run", is_flag=True, help="Say what would be counted, and change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each run.")
@refusing
def fold(
    found: Found,
    jobs: int,
    scheduler: str | None,
    give_up: tuple[str, ...],
    every: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Count what collectors have spooled, each batch once.

    Collectors may run meanwhile. Kill it where you like: the next fold goes on, and the result is the same. Of two at a
    time on one database the second waits, for as long as lock_wait says. Exits with 1 where that was in vain, and where
    the database, the spool or the workers fail. With --every a later failure is told, and the next fold tries again.
    """
    ending = _Ending()
    asked = _Asked(found, jobs, scheduler, dry_run, as_json, give_up, ending)
    pause = None if every is None else _seconds(every)
    for name, given in (("--every", every), ("--give-up", give_up)):
        if dry_run and given:
            raise ParameterError(name, "not with --dry-run, which changes nothing")
    with denying(), ending.heard():
        begun = time.monotonic()
        _once(asked)
        asked = asked._replace(give_up=())
        while pause is not None:
            with ending.waiting():
                time.sleep(max(0.0, begun + pause - time.monotonic()))
            begun = time.monotonic()
            try:
                _once(asked)
            except DitherError as error:
                click.echo(printable(f"dither-server: {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC: {error}"), err=True)


def _once(asked: _Asked) -> None:
    """Fold what there is, and print a line for each run."""
    from ..ingest.folding.giving_up import give_up
    from ..ingest.folding.run import Folding
    from ..ingest.folding.workers import workers
    from ..store import Store

    horizon, wait = _horizon(asked.found), float(str(_value(asked.found, "lock_wait")))
    url = required(asked.found, "db")
    ending = asked.ending
    with closing(Store(url, create=False, lock_wait=wait, read_only=asked.dry_run)) as store, ExitStack() as stack:
        place = _place(asked, store.identity())
        spread = stack.enter_context(workers(asked.jobs, asked.scheduler, _say))
        if asked.give_up:
            give_up(store, place, asked.give_up, wait, datetime.now(UTC))
        folding = Folding(store, place, ending.over(spread), horizon, after=ending.step, progress=_progress())
        for report in [folding.plan()] if asked.dry_run else folding.fold(wait):
            _tell(report, asked)


def _place(asked: _Asked, database: str) -> "Place":
    """Return where the segments are, having made some of the journals of collectors that are gone from this machine.

    Raises ParameterError where no collector has made a spool yet, and for that of another database.
    """
    from ..store.spool.owner import require_owner
    from ..store.spool.places import place_at
    from ..store.spool.rooms import rooms_at

    where, journals = str(_value(asked.found, "spool")), str(_value(asked.found, "spool_open"))
    if not where:
        raise missing("spool")
    place = place_at(where)
    require_owner(place, database)
    if not asked.dry_run and (journals or place.local() is not None):
        rooms_at(where, journals).close_abandoned()
    return place


def _horizon(found: Found) -> timedelta:
    days = int(str(_value(found, "horizon")))
    if days <= RETRY_DAYS:
        raise ParameterError("horizon", f"{days} is not above {RETRY_DAYS}; devices retry for so many days")
    return timedelta(days=days)


def _value(found: Found, name: str) -> object:
    """Return a setting that has a default."""
    setting = found[name]
    return None if setting is None else setting.value


def _seconds(span: str) -> int:
    match = _SPAN.fullmatch(span)
    if match is None:
        raise ParameterError("--every", f"{span!r} is no span; 10m, 30s and 1h are")
    return int(match[1]) * _SECONDS[match[2]]


def _tell(report: "Report", asked: _Asked) -> None:
    """Print what a run did, or would do."""
    sums = report.sums
    if asked.as_json:
        about = {"run": report.run or None, "dry_run": asked.dry_run, "resumed": report.resumed}
        until = {"folded_up_to": report.begun.isoformat().replace("+00:00", "Z"), "segments": report.segments}
        given_up = [
            {"segment": one.segment, "parts": len(one.parts), "batches": one.batches, "lost": one.lost}
            for one in report.given_up
        ]
        click.echo(json.dumps({**about, **until, **sums._asdict(), "given_up": given_up}))
    else:
        resumed = ", begun before and ended now" if report.resumed else ""
        begun = f"{report.begun:%Y-%m-%d %H:%M} UTC"
        verb = f"as of {begun} would count" if asked.dry_run else f"fold of {begun}{resumed}:"
        batches, rows, files = (
            counted(*one)
            for one in ((sums.batches, "batch", "batches"), (sums.rows, "report"), (report.segments, "file"))
        )
        others = f"{sums.repeated:,} repeated, {sums.conflicts:,} in conflict"
        click.echo(f"{verb} {batches} of {rows} from {files}; {others}")
    if sums.damaged:
        held = counted(sums.damaged, "batch", "batches")
        what = f"{held} held reports that no device could have sent, not counted"
        click.echo(f"dither-server: {what}", err=True)
    for one in report.given_up:
        held = f"{len(one.parts)} of 256 parts"
        if one.lost is not None and one.batches is not None:
            held = f"{one.lost:,} of {counted(one.batches, 'batch', 'batches')}"
        click.echo(f"dither-server: {one.segment} is damaged, and given up: {held} are not counted", err=True)


def _say(text: str) -> None:
    click.echo(f"dither-server: {text}", nl=False, err=True)


def _progress() -> Callable[[int], None]:
    """Return what tells on a terminal how many buckets are done."""
    if not sys.stderr.isatty():
        return lambda _: None
    from ..store.spool.records import BUCKETS

    done = 0

    def progress(more: int) -> None:
        nonlocal done
        done = done % BUCKETS + more
        click.echo(f"\rfolding: {done} of {BUCKETS} parts" if done < BUCKETS else "\r\033[K", nl=False, err=True)

    return progress
