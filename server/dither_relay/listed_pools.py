"""The pools that the collector lists, fetched each hour, and sooner if a report names an unknown pool."""

import logging
import threading
from itertools import permutations
from typing import TYPE_CHECKING

from dither_serving.problems import Kind, Problem, StoreError
from dither_shared.seal_key import SUITES
from dither_shared.sealed import Pool

from .collector import CollectorClient, RejectedError, TroubleError
from .store import RelayStore

if TYPE_CHECKING:
    from collections.abc import Mapping


_log = logging.getLogger(__name__)

_REFRESH = 3600.0
"""Seconds after which the collector is asked again."""

_AT_MOST = 60.0
"""Minimum seconds between two requests to the collector, whatever unknown pools strangers name."""

_OTHER_SUITE = frozenset(one.overhead - other.overhead for one, other in permutations(SUITES.values(), 2))
"""By how many bytes a row is longer if it is sealed for a key of another kind."""


class Pools:
    """The pools, by digest and length of a sealed row. Only the collector adds pools."""

    def __init__(self, store: RelayStore, collector: CollectorClient) -> None:
        self._store = store
        self._collector = collector
        self._known: Mapping[str, Mapping[int, int]] = {}
        self._wanted = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dither-pools", daemon=True)
        self.trouble = ""
        self._read()

    def start(self) -> None:
        """Start the thread that asks the collector."""
        self._thread.start()

    def close(self) -> None:
        """End the thread, without waiting for a request in progress."""
        self._ended.set()
        self._wanted.set()

    @property
    def is_known(self) -> bool:
        """Whether any pool is known."""
        return bool(self._known)

    def number(self, pool: Pool, length: int) -> int:
        """Return the number of a pool whose reports have this length; raise Problem if there is none."""
        lengths = self._known.get(pool.digest)
        if lengths is not None and length in lengths:
            return lengths[length]
        self._wanted.set()
        if self.trouble or not self._known:
            raise Problem(Kind.UNAVAILABLE, "the list of pools is not known now", int(_AT_MOST))
        if lengths is None:
            raise Problem(
                Kind.UNKNOWN_POOL, "pool: the collector lists no pool of this name; the relay will ask again soon"
            )
        # a new key: with 400, devices would drop the report
        if any(length - listed in _OTHER_SUITE for listed in lengths):
            raise Problem(
                Kind.UNKNOWN_POOL, "sealed: the collector lists no key of this kind; the relay will ask again soon"
            )
        right = " or ".join(map(str, sorted(lengths)))
        raise Problem(Kind.MALFORMED, f"sealed: {length} bytes; a sealed row of this pool has {right}")

    def refresh(self) -> None:
        """Ask the collector now.

        Raises TroubleError, RejectedError or StoreError, and then keeps the old list; RejectedError also if none is
        listed.
        """
        self._store.list_pools(*self._collector.listing())
        self._read()
        if not self._known:
            raise RejectedError("it lists no pool: nothing in its metrics.toml is sealed, or its key file is elsewhere")

    def _read(self) -> None:
        self._known = self._store.pools()

    def _run(self) -> None:
        while not self._ended.is_set():
            self._wanted.clear()
            try:
                self.refresh()
                self.trouble = ""
            except (TroubleError, RejectedError, StoreError) as error:
                self.trouble = str(error)
                _log.warning("the list of pools could not be fetched: %s", error)
            except Exception:
                self.trouble = "the list of pools could not be fetched; the log says why"
                _log.exception("the list of pools could not be fetched")
            self._rest()

    def _rest(self) -> None:
        """Wait a minute in any case, and if all is well until an unknown pool is asked for, or for an hour."""
        self._ended.wait(_AT_MOST)
        if not self.trouble and not self._ended.is_set():
            self._wanted.wait(_REFRESH - _AT_MOST)
