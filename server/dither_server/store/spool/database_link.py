"""What a collector that spools wants of its database, which may be gone for a while: appending goes on without it.

So no thread that takes reports waits for it, but one that does nothing else.
"""

import logging
import threading
from collections import Counter
from collections.abc import Collection, Mapping
from datetime import date
from typing import Protocol

from ..errors import StoreError
from ..tables.refusals import Refusal

__all__ = ["DatabaseLink"]

_log = logging.getLogger(__name__)

_BEAT = 3.0
"""Seconds between two looks at which versions are disabled."""

_PATIENCE = 10.0
"""Seconds to wait at the end for what is still to be written."""


class _Database(Protocol):
    def disabled(self) -> Mapping[str, date]: ...
    def add_refusals(self, refused: Mapping[Refusal, int], shard: bytes) -> None: ...


class DatabaseLink:
    """Knows which versions are disabled, as last read, and keeps counts of refused batches until they are written.

    These are few: ``Refusals`` names no more than some kinds of each metric a day.
    """

    def __init__(self, store: _Database, beat: float = _BEAT) -> None:
        self._store = store
        self._beat = beat
        self._disabled: Collection[str] | None = None
        self._refused: Counter[Refusal] = Counter()
        self._shard = b""
        self._lock = threading.Lock()
        self._due = threading.Event()
        self._ended = False
        self._failed = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread, which is to be done once in each process."""
        self._thread = threading.Thread(target=self._run, name="dither-spool-database", daemon=True)
        self._thread.start()

    def disabled(self) -> Collection[str]:
        """Return the versions that are disabled, as last known. Raises StoreError if they could never be read."""
        if self._disabled is None:
            self._disabled = self._store.disabled()
        return self._disabled

    def add_refusals(self, refused: Mapping[Refusal, int], shard: bytes) -> None:
        """Add to the counts of refused batches, soon: nobody waits for that."""
        with self._lock:
            self._refused.update(refused)
            self._shard = shard
        self._due.set()

    def close(self) -> None:
        """Write what is to be written, if the database takes it in some seconds, and end the thread."""
        self._ended = True
        self._due.set()
        if self._thread is None:
            self.tell()
            return
        self._thread.join(_PATIENCE)
        if self._refused:
            _log.warning("counts of %d refused batches are lost: the database is gone", self._refused.total())

    def tell(self) -> None:
        """Write what is to be written, and read what is disabled. What fails is logged once until it succeeds."""
        with self._lock:
            refused = self._refused.copy()
        try:
            if refused:
                self._store.add_refusals(refused, self._shard)
                with self._lock:
                    self._refused -= refused
            self._disabled = self._store.disabled()
        except Exception as error:
            if not self._failed:
                fault = None if isinstance(error, StoreError) else error
                _log.warning("the database is gone, and reports are appended without it: %s", error, exc_info=fault)
            self._failed = True
        else:
            if self._failed:
                _log.warning("the database is back")
            self._failed = False

    def _run(self) -> None:
        while not self._ended:
            self.tell()
            self._due.wait(self._beat)
            self._due.clear()
        self.tell()
