"""Limit connections: their number, their number per address, the bytes held for them, and how long each waits.

A connection waits from its start, from the first byte of a request and from an answer on, until it has sent a complete
request; and it waits while its peer does not read the answer. If it has waited too long, it is closed. If all slots or
all bytes are taken, the connection that has waited longest gives way to the next, so that no number of slow or silent
peers keeps the others out.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Protocol

from .addresses import group_of, is_loopback
from .logs import OnceAMinute
from .prometheus import ServerNumbers

_log = logging.getLogger(__name__)

_YOUNG = 0.1
"""Seconds for which a connection is not closed for another: its request may have arrived without being read yet."""


class _Limited(Protocol):
    held: int
    """The bytes counted for this connection; only the limiter writes it."""

    @property
    def is_in_work(self) -> bool: ...
    def expire(self) -> None: ...
    def close(self) -> None: ...
    def abort(self) -> None: ...


class ConnectionLimiter:
    """The connections of one process. Every method is called in the loop's thread."""

    def __init__(
        self,
        limit: int,
        per_address: int,
        seconds: float,
        memory: int,
        prometheus: ServerNumbers,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Allow ``limit`` connections, ``per_address`` from each, that wait ``seconds`` and hold ``memory`` bytes."""
        self._limit = limit
        self._per_address = per_address
        self._seconds = seconds
        self._memory = memory
        self._prometheus = prometheus
        self._clock = clock
        self._open = 0
        self._addresses: Counter[str] = Counter()
        self._waiting: dict[_Limited, float] = {}  # in the order of its times
        self._closings = OnceAMinute(clock)
        self.held = 0
        """The bytes held for all connections."""
        self.is_ending = False
        """Whether no connection may wait any more."""

    def __len__(self) -> int:
        return self._open

    def add(self) -> None:
        """Count an accepted connection."""
        self._open += 1
        self._prometheus.connected(self._open)

    def remove(self, connection: _Limited | None) -> None:
        """Count a lost connection, or one that failed before it was established (None)."""
        if connection is not None:
            self._waiting.pop(connection, None)
            self.hold(connection, 0)
        self._open -= 1
        self._prometheus.connected(self._open)

    def acquire(self, address: str) -> str | None:
        """Acquire a slot for this address and return its group, or None if the limit is reached."""
        if is_loopback(address):
            return ""
        group = group_of(address)
        if self._addresses[group] >= self._per_address:
            self._count_closing("address")
            return None
        self._addresses[group] += 1
        return group

    def release(self, group: str | None) -> None:
        """Release a slot of a group."""
        if group:
            self._addresses[group] -= 1
            if not self._addresses[group]:
                del self._addresses[group]

    def start_waiting(self, connection: _Limited) -> None:
        """Start a connection's wait, or start it again."""
        self._waiting.pop(connection, None)
        self._waiting[connection] = self._clock()

    def stop_waiting(self, connection: _Limited) -> None:
        """End a connection's wait: its peer waits for us."""
        self._waiting.pop(connection, None)

    def hold(self, connection: _Limited, held: int) -> bool:
        """Set the bytes held for a connection; return False if all hold too much even after others gave way."""
        grows = held > connection.held
        self.held += held - connection.held
        connection.held = held
        while grows and self.held > self._memory:
            if not self._evict(other for other in self._waiting if other.held and other is not connection):
                return False
        return True

    async def slot(self) -> None:
        """Return when another connection may come; if necessary, the one that has waited longest gives way."""
        while self._open >= self._limit:
            if not self.evict():
                await asyncio.sleep(_YOUNG)
            await asyncio.sleep(0)  # the loop reports its loss in the next iteration

    def evict(self) -> bool:
        """Abort the connection that has waited longest; return False if none has waited long enough to give way."""
        return self._evict(iter(self._waiting))

    def evict_stalled(self) -> bool:
        """Abort the connection that has waited longest for its peer to read an answer in work; return False if none."""
        return self._evict(connection for connection in self._waiting if connection.is_in_work)

    def _evict(self, candidates: Iterator[_Limited]) -> bool:
        connection = next(candidates, None)
        if connection is None or self._clock() - self._waiting[connection] < _YOUNG:
            return False
        del self._waiting[connection]
        self._count_closing("gave way")
        connection.abort()
        self.hold(connection, 0)
        return True

    async def watch(self) -> None:
        """Expire, for ever, the connections that have waited too long."""
        while True:
            await asyncio.sleep(min(1.0, self._seconds / 4))
            self.expire()

    def expire(self) -> None:
        """Close the connections that have waited too long."""
        limit = self._clock() - self._seconds
        late = []
        for connection, since in self._waiting.items():
            if since > limit:
                break
            late.append(connection)
        for connection in late:
            del self._waiting[connection]
            self._count_closing("late")
            try:
                connection.expire()
            except Exception:  # an error of one connection must not keep the others open
                _log.exception("a connection could not be closed")

    async def drain(self, seconds: float) -> None:
        """Close every connection when its peer has read what was sent, or after ``seconds``."""
        until = self._clock() + seconds
        while self._open and self._clock() < until:
            self.close()
            await asyncio.sleep(0.01)
        for connection in list(self._waiting):
            connection.abort()

    def close(self) -> None:
        """Close the waiting connections, and from now on any that would wait."""
        self.is_ending = True
        for connection in list(self._waiting):
            connection.close()

    def _count_closing(self, reason: str) -> None:
        """Count a closed connection, and log at most one line a minute."""
        self._prometheus.closed(reason)
        if closed := self._closings.add():
            _log.warning("%d connections were closed, the last: %s (%d are open)", closed, reason, self._open)
