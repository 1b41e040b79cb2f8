"""The spool: whether its journals become segments, a fold counts these, and its disk is one for journals."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from dither_shared.counted import counted

from ...config.settings import Config
from ...store import Store, StoreError
from .findings import Finding, ok, problem, warning
from .machine import FORGETS, NETWORKS, durability, file_system_of

__all__ = ["in_spool", "of_folds"]

_LATE = timedelta(days=1)

_PAUSES = 2
"""A collector looks that often for journals of the dead before one of them is called left."""


def in_spool(config: Config) -> Iterator[Finding]:
    """Yield what is found in the folder of journals; how full the spool is, ``config_check`` tells."""
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
    except StoreError:  # what ``remarks`` tells
        return 0
