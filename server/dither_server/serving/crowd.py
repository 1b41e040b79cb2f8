"""Limit connections: their number, their number from one address, and how long each waits for a whole request.

A connection waits from its start, from the first byte of a request and from an answer on, until it has brought a whole
request; and it waits while its peer does not take what is sent. It may wait so many seconds. When all places are taken,
whoever has waited longest gives way to the next, so that no number of slow or silent peers keeps the others out.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable
from typing import Protocol

from ..access.locality import is_loopback
from ..access.proxies import group_of
from ..observability.prometheus import ServerNumbers

__all__ = ["Crowd", "forget_addresses", "group_of"]

_log = logging.getLogger(__name__)

_YOUNG = 0.1
"""Seconds in which nobody gives way: what has just come may be a whole request that is not read yet."""

_QUIET = 60.0
"""Seconds after a line about closed connections in which no other is written."""


class _Waits(Protocol):
    def expire(self) -> None: ...
    def close(self) -> None: ...
    def abort(self) -> None: ...


class Crowd:
    """The connections of one process. Every method is called in the loop's thread."""

    def __init__(
        self,
        limit: int,
        for_each: int,
        seconds: float,
        prometheus: ServerNumbers,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take ``limit`` connections, ``for_each`` of an address, which may wait ``seconds``."""
        self._limit = limit
        self._for_each = for_each
        self._seconds = seconds
        self._prometheus = prometheus
        self._clock = clock
        self._open = 0
        self._addresses: Counter[str] = Counter()
        self._waiting: dict[_Waits, float] = {}  # in the order of its times
        self._quiet_until = 0.0
        self.is_ending = False
        """Whether nobody is to wait any more."""

    def __len__(self) -> int:
        return self._open

    def enter(self) -> None:
        """Count one more connection."""
        self._open += 1
        self._prometheus.connected(self._open)

    def leave(self, connection: _Waits | None) -> None:
        """Count one less."""
        if connection is not None:
            self._waiting.pop(connection, None)
        self._open -= 1
        self._prometheus.connected(self._open)

    def count(self, address: str) -> str | None:
        """Count one more of an address; return under which name, or None if it has as many as may be."""
        if is_loopback(address):
            return ""
        name = group_of(address)
        if self._addresses[name] >= self._for_each:
            self._tell("address")
            return None
        self._addresses[name] += 1
        return name

    def discount(self, name: str | None) -> None:
        """Count one less under a name."""
        if name:
            self._addresses[name] -= 1
            if not self._addresses[name]:
                del self._addresses[name]

    def wait(self, connection: _Waits) -> None:
        """Begin to wait for a connection, or begin again."""
        self._waiting.pop(connection, None)
        self._waiting[connection] = self._clock()

    def serve(self, connection: _Waits) -> None:
        """End the wait for a connection: it is our turn."""
        self._waiting.pop(connection, None)

    async def room(self) -> None:
        """Return when one more may come, having closed who has waited longest if need be."""
        while self._open >= self._limit:
            if not self.make_room():
                await asyncio.sleep(_YOUNG)
            await asyncio.sleep(0)  # its end is told in the loop's next round

    def make_room(self) -> bool:
        """Close the connection that has waited longest; return whether there was one that may go."""
        for connection, since in self._waiting.items():
            if self._clock() - since < _YOUNG:
                return False
            del self._waiting[connection]
            self._tell("gave way")
            connection.abort()
            return True
        return False

    async def watch(self) -> None:
        """Close for ever what has waited too long."""
        while True:
            await asyncio.sleep(min(1.0, self._seconds / 4))
            self.expire()

    def expire(self) -> None:
        """Close what has waited too long."""
        limit = self._clock() - self._seconds
        late = []
        for connection, since in self._waiting.items():
            if since > limit:
                break
            late.append(connection)
        for connection in late:
            del self._waiting[connection]
            self._tell("late")
            try:
                connection.expire()
            except Exception:  # one connection's trouble is not that of the others
                _log.exception("a connection could not be closed")

    async def end(self, seconds: float) -> None:
        """Close every connection when its peer has taken what was sent, or after so long."""
        until = self._clock() + seconds
        while self._open and self._clock() < until:
            self.close()
            await asyncio.sleep(0.01)
        for connection in list(self._waiting):
            connection.abort()

    def close(self) -> None:
        """Close what waits, and from now on whatever would wait."""
        self.is_ending = True
        for connection in list(self._waiting):
            connection.close()

    def _tell(self, why: str) -> None:
        """Count a closed connection, and say so, but not at each of a flood."""
        self._prometheus.closed(why)
        if (now := self._clock()) >= self._quiet_until:
            self._quiet_until = now + _QUIET
            _log.warning("a connection was closed: %s (%d are open); more are told after a minute", why, self._open)


def forget_addresses() -> None:
    """Forget the addresses that were kept only because they may come again."""
    group_of.cache_clear()
    is_loopback.cache_clear()
