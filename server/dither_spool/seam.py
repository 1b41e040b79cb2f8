"""The functions of the spool that the collector and its commands call, declared in ``dither_server.store.sink``."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from dither_server.cli.examination.database import FORGETS, NETWORKS, durability, file_system_of
from dither_server.cli.examination.findings import CheckResult, ok, problem, warning
from dither_server.config.settings import Config
from dither_server.store import Store, StoreError, UnmadeError
from dither_server.store.sink import Sink
from dither_shared import DitherError
from dither_shared.counted import counted

from .blobs import SpoolError
from .layout import NEARLY_FULL, SpoolLayout, claim, require_owner
from .segment import DAMAGED
from .sink import DatabaseLink, SpoolSink

_ABOUT = "configuration"

_SMALL = 1_000_000
"""Bytes of a small segment: with many of these, a fold would spend most of its time opening files."""

_LATE = timedelta(days=1)

_PAUSES = 2
"""Searches for abandoned journals after which a journal counts as permanently abandoned."""


def check(config: Config) -> None:
    """Raise ParameterError if there can be no spool at the configured place."""
    _layout(config)


def open_sink(config: Config, store: Store) -> Sink:
    """Return the sink of a collector. Raises ParameterError if the spool is of another database."""
    layout = _layout(config)
    claim(layout.blobs, store.identity())
    database = DatabaseLink(store.definitions.disabled, store.add_refusals)
    return SpoolSink(database, layout, config.spool_bytes, config.spool_seconds, store.folds.up_to)


def describe(config: Config) -> str:
    """Return a sentence on where the spool is, which a collector prints at its start."""
    layout = _layout(config)
    return f"reports are appended to {layout.blobs} by way of {layout.journals}; dither-server fold counts them"


def findings_of_configuration(config: Config, database: str | None) -> Iterator[CheckResult]:
    """Yield findings about the owner of the spool, and about its free space."""
    layout = _layout(config)
    try:
        require_owner(layout.blobs, database)
    except DitherError as error:
        yield (warning if isinstance(error, UnmadeError) else problem)(_ABOUT, str(error), "")
        return
    try:
        backlog = layout.backlog()
    except SpoolError as error:
        yield problem(_ABOUT, str(error), "")
        return
    segments = counted(backlog.segments, "segment waits", "segments wait")
    waiting = f"{segments} for dither-server fold, {counted(backlog.open_bytes, 'byte')} open"
    yield ok(
        _ABOUT, f"spool: {waiting}; below 2,000 requests a second the database alone is simpler, and counts at once"
    )
    try:
        layout.require_room(config.spool_bytes, layout.needed(), NEARLY_FULL)
    except SpoolError as error:
        yield problem(_ABOUT, str(error), "")
    if backlog.damaged:
        where = f"{layout.journals} or {layout.blobs}/{DAMAGED}"
        files = counted(backlog.damaged, "damaged file, or notice of one,", "damaged files, or notices of them,")
        message = f"{files} in {where}; what could be read was taken"
        yield warning(_ABOUT, f"spool: {message}", "Check the disk, then delete these files")
    if config.spool_bytes < _SMALL:
        yield warning(_ABOUT, f"spool_bytes: {config.spool_bytes:,} make many files, below 1 MB; a fold opens each", "")


def findings_of_folds(config: Config, store: Store, now: datetime | None = None) -> Iterator[CheckResult]:
    """Yield findings about the last fold, and about segments that wait too long for the next. Raises StoreError."""
    up_to, waiting = store.folds.up_to(), _segments(config)
    age = None if up_to is None else (now or datetime.now(UTC)) - up_to
    last = "none has ended yet" if up_to is None else f"the last began {up_to:%Y-%m-%d %H:%M} UTC"
    if waiting and (age is None or age > _LATE):
        advice = "Run dither-server fold every hour or day; until then estimates do not change, and the disk fills up"
        yield warning("fold", f"{last}, and {counted(waiting, 'segment waits', 'segments wait')}", advice)
    else:
        yield ok("fold", last)


def findings(config: Config) -> Iterator[CheckResult]:
    """Yield findings about the folder of journals."""
    layout = _layout(config)
    if not layout.journals.is_dir():
        yield ok("spool", f"{layout.journals} is made when a collector starts")
        return
    kind = file_system_of(layout.journals)
    if kind in FORGETS | NETWORKS:
        why = "memory, which loses acknowledged reports" if kind in FORGETS else "a network, which loses their locks"
        advice = "Set spool_open to a folder on a disk of this machine"
        yield problem("spool", f"journals are in {layout.journals}: {kind} is {why}", advice)
    yield durability(layout.journals)
    left = layout.idle(_PAUSES * config.spool_seconds)
    if left:
        advice = "Start a collector here, or run dither-server fold here: either one reads them"
        yield warning("spool", f"{left} of the journals in {layout.journals} belong to no running process", advice)
    else:
        yield ok("spool", "every journal belongs to a running process")


def _layout(config: Config) -> SpoolLayout:
    return SpoolLayout.at(config.spool, config.spool_open)


def _segments(config: Config) -> int:
    try:
        return _layout(config).backlog().segments
    except StoreError:  # which is found in the configuration
        return 0
