"""Runs over a spool that may be killed at each step."""

from collections.abc import Callable
from datetime import UTC, datetime

from dither_server.ingest.folding.run import Folding, Report, Step
from dither_server.store import Store
from dither_server.store.spool.places import Folder, Place
from server.ingest.folding.spooling import ALL

NOW = datetime(2026, 11, 21, 14, 5, 9, tzinfo=UTC)
PATIENCE = 60.0


class KilledError(Exception):
    """Stands for the end of the process."""


def opened(url: str) -> Store:
    store = Store(url, lock_wait=PATIENCE)
    store.register(ALL)
    return store


def folding(store: Store, place: Place, **changed: object) -> Folding:
    return Folding(store, place, **{"now": lambda: NOW, **changed})  # type: ignore[arg-type]  # a test names what differs


def at(step: Step, time: int) -> Callable[[Step], None]:
    """What is called after each step, and raises KilledError at the given time of one of them."""
    left = time

    def after(done: Step) -> None:
        nonlocal left
        left -= done is step
        if done is step and left == 0:
            raise KilledError

    return after


def folded(folding: Folding) -> list[Report]:
    return list(folding.fold(PATIENCE))


def emptied(place: Folder) -> bool:
    return place.names("segments") == place.names("runs") == []
