"""The whole examination, in the order in which one thing depends on the other."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta

from dither_shared import DitherError, Metric, ParameterError
from dither_shared.counted import counted

from ...config.settings import Config
from ...store import Store, StoreError, database_file
from .configuration import in_configuration
from .database import in_database, in_field
from .findings import Finding, ok, problem, warning
from .machine import FORGETS, NETWORKS, durability, file_system_of, on_machine
from .peer import Peer
from .running import of_running

_LATE = timedelta(days=1)

_PAUSES = 2
"""A collector looks that often for journals of the dead before one of them is called left."""


def examine(config: Config, peer: Peer | None, *, thorough: bool = False) -> Iterator[Finding]:
    """Yield what is found of a configuration, and of the collector that runs at ``peer``.

    With ``thorough`` a large database is read whole, to see whether it is damaged.
    """
    yield from in_configuration(config)
    try:
        with closing(Store(config.db, create=False, lock_wait=config.lock_wait, read_only=True)) as store:
            yield from in_database(store, thorough)
            yield from in_field(store, config.today(), config.seal_alarm)
            if config.spool:
                yield from of_folds(config, store)
    except DitherError:  # which is found in the configuration
        pass
    path = database_file(config.db)
    if path is not None:
        yield from on_machine(path.parent)
    if config.spool:
        yield from in_spool(config)
    if peer is None:
        yield ok("collector", "not asked; --url https://... looks at it as devices do, proxies and clock included")
    else:
        yield from of_running(peer, config, _metrics(config))


def _metrics(config: Config) -> dict[str, Metric]:
    try:
        return config.load()
    except ParameterError:  # which is found in the configuration
        return {}


def in_spool(config: Config) -> Iterator[Finding]:
    """Yield what is found in the folder of journals; ``in_configuration`` says how full the spool is."""
    rooms = config.rooms()
    if not rooms.journals.is_dir():
        yield ok("spool", f"{rooms.journals} is made when a collector starts")
        return
    kind = file_system_of(rooms.journals)
    if kind in FORGETS | NETWORKS:
        why = "memory, and loses what was acknowledged" if kind in FORGETS else "a network's, and loses their locks"
        advice = "Set spool_open to a folder on a disk of this machine"
        yield problem("spool", f"journals are in {rooms.journals}: {kind} is {why}", advice)
    yield durability(rooms.journals)
    left = rooms.idle(_PAUSES * config.spool_seconds)
    if left:
        advice = "Start a collector here, or run dither-server fold here: either takes what is in them"
        yield warning("spool", f"no process closes {left} of the journals in {rooms.journals}", advice)
    else:
        yield ok("spool", "no journal is left of a process that is gone")


def of_folds(config: Config, store: Store, now: datetime | None = None) -> Iterator[Finding]:
    """Yield when the last fold began, and whether segments wait for one that is late. Raises StoreError."""
    up_to, waiting = store.folds.up_to(), _segments(config)
    age = None if up_to is None else (now or datetime.now(UTC)) - up_to
    last = "none has ended yet" if up_to is None else f"the last began {up_to:%Y-%m-%d %H:%M} UTC"
    if waiting and (age is None or age > _LATE):
        advice = "Run dither-server fold, and let it run each hour or day; estimates stand still, and the disk fills"
        yield warning("fold", f"{last}, and {counted(waiting, 'segment waits', 'segments wait')}", advice)
    else:
        yield ok("fold", last)


def _segments(config: Config) -> int:
    try:
        return config.rooms().backlog().segments
    except StoreError:  # which is found in the configuration
        return 0
