"""One connection: serve its requests one at a time, in their order, and send the answers."""

import asyncio
from collections import deque
from http import HTTPStatus
from typing import Protocol, cast

from .crowd import Crowd
from .parser import Parser, Room
from .request import Request

__all__ = ["Connection", "Handler"]

_UNREAD = 1 << 16
"""Bytes that a peer may leave unread before we wait for it."""


class Handler(Protocol):
    """An object that answers requests. Its methods raise nothing."""

    def handle(self, request: Request, connection: "Connection") -> None:
        """Have ``connection.end`` called once, now or later, with the answer or the last part of it."""

    def refusal(self, status: HTTPStatus, method: str, target: bytes, origin: str | None) -> bytes:
        """Return the answer to what cannot be served, after which the connection is closed."""


class Connection(asyncio.Protocol):
    """A peer's connection. All its methods are called in the loop's thread."""

    def __init__(self, crowd: Crowd, handler: Handler, room: Room, name: str) -> None:
        """Belong to a crowd, in which the address is counted under ``name``."""
        self.peer = ""
        self.here = ("", 0)
        self.is_lost = False
        self._crowd = crowd
        self._handler = handler
        self._room = room
        self._name = name
        self._parser = Parser(room)
        self._queue: deque[Request | HTTPStatus] = deque()
        self._served: Request | None = None
        self._flows = asyncio.Event()
        self._flows.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for a request."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(_UNREAD)
        self.peer = str((transport.get_extra_info("peername") or ("",))[0])
        self.here = (transport.get_extra_info("sockname") or ("", 0))[:2]
        self._crowd.wait(self)

    def connection_lost(self, error: Exception | None) -> None:
        """Forget the connection."""
        self.is_lost = True
        self._flows.set()
        self._parser.close()
        self._drop()
        self._crowd.discount(self._name)
        self._crowd.leave(self)

    def data_received(self, data: bytes) -> None:
        """Read on, and serve what is there."""
        parser, before = self._parser, self._parser.begun
        parser.feed(data)
        if parser.found:
            self._queue.extend(parser.found)
            parser.found.clear()
            if self._served is None:
                self._next()
            if self._queue:
                self._transport.pause_reading()
        elif before != parser.begun and self._served is None:
            self._crowd.wait(self)
        if parser.expects() and self._served is None:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def pause_writing(self) -> None:
        """Wait for the peer to take what is sent, and read no more of it meanwhile."""
        self._flows.clear()
        self._crowd.wait(self)
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        """Go on."""
        self._flows.set()
        if self._served is None:
            self._go_on()
        else:
            self._crowd.serve(self)
            self._transport.resume_reading()

    async def send(self, data: bytes) -> None:
        """Send a part of an answer, and return when more may follow; raise ConnectionError if nobody reads it."""
        if not self.is_lost:
            self._transport.write(data)
            await self._flows.wait()
        if self.is_lost:
            raise ConnectionResetError("the peer is gone")

    def end(self, data: bytes, *, keeps_alive: bool) -> None:
        """Send the last part of an answer, and go on to the next request or close."""
        if self._served is not None:
            self._room.taken -= len(self._served.body)
            self._served = None
        if self.is_lost:
            return
        self._transport.write(data)
        if not keeps_alive:
            self._drop()
            self._crowd.wait(self)  # the peer has as long to take what was sent as it has for everything
            self._transport.close()
        elif self._flows.is_set():
            self._go_on()

    def close(self) -> None:
        """Close the connection when the peer has taken what was sent."""
        self._transport.close()

    def abort(self) -> None:
        """Cut the connection."""
        self._transport.abort()

    def expire(self) -> None:
        """Cut a connection that has waited too long, having said so to one that has begun to ask."""
        if self._parser.is_partial and self._served is None and not self._transport.get_write_buffer_size():
            self._transport.write(self._handler.refusal(HTTPStatus.REQUEST_TIMEOUT, *self._parser.refused))
        if self._transport.get_write_buffer_size():
            self._transport.abort()
        else:
            self._transport.close()

    def _go_on(self) -> None:
        self._crowd.wait(self)
        self._next()
        if not self._queue:
            self._transport.resume_reading()
            if self._crowd.is_ending and self._served is None:
                self._transport.close()

    def _next(self) -> None:
        """Begin to serve the next request, if there is one."""
        if not self._queue:
            return
        item = self._queue.popleft()
        if isinstance(item, Request):
            self._crowd.serve(self)
            self._served = item
            self._handler.handle(item, self)
            return
        # What the peer still sends is read and dropped until it has taken the answer, or its time is over: closed at
        # once, the connection would be reset, and the answer lost with it.
        self._transport.write(self._handler.refusal(item, *self._parser.refused))
        if self._transport.can_write_eof():
            self._transport.write_eof()

    def _drop(self) -> None:
        """Forget the requests that are not served any more."""
        self._room.taken -= sum(len(item.body) for item in self._queue if isinstance(item, Request))
        self._queue.clear()
        if self._served is not None and self.is_lost:
            self._room.taken -= len(self._served.body)
            self._served = None
