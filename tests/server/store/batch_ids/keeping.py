"""What the tests of batch ids share: a store, its work in between, and how many ids it keeps."""

from dither_server.store import Store
from server.collecting import METRICS
from server.database import execute


def opened(url: str) -> Store:
    store = Store(url)
    store.register(METRICS.values())
    return store


def tend(store: Store) -> None:
    while store.tend():
        pass


def kept(url: str) -> int:
    """How many ids there are, wherever."""
    ((settled,),) = execute(url, "SELECT count(*) FROM batches")
    ((waiting,),) = execute(url, "SELECT coalesce(sum(length(ids)), 0) / 32 FROM batch_journal")
    return int(settled) + int(waiting)
