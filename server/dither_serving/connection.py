"""One connection: answer its requests one at a time, in their order.

While a request is being answered, nothing more of its connection is parsed. The connection continues to read, to notice
a peer that hangs up, until bytes of another request arrive; then it stops. So a connection holds at most one read
beyond the request in work, and handles at most one request per iteration of the loop.
"""

import asyncio
import socket
import struct
import sys
from contextlib import suppress
from http import HTTPStatus
from typing import Protocol, cast

from .connection_limiter import ConnectionLimiter
from .parser import LARGEST_READ, Parser
from .request import Request

_RESET = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)
"""The value of SO_LINGER that resets a connection when it is closed: on, for 0 seconds."""


class _Handler(Protocol):
    """An object that answers requests. Its methods raise nothing."""

    def handle(self, request: Request, connection: "Connection") -> None:
        """Arrange that ``connection.end`` is called once, later, with the answer or its last part."""

    def refusal(self, status: HTTPStatus, method: str, target: bytes, origin: str | None) -> bytes:
        """Return the answer to a request that cannot be served; the connection reads no further request."""


def read_buffer() -> memoryview:
    """Return a buffer that all connections of a loop share: each copies its bytes before the next one reads."""
    return memoryview(bytearray(LARGEST_READ))


class Connection(asyncio.BufferedProtocol):
    """A peer's connection. All its methods are called in the loop's thread."""

    def __init__(
        self, limiter: ConnectionLimiter, handler: _Handler, buffer: memoryview, body_limit: int, group: str
    ) -> None:
        """Use a slot of ``group`` in ``limiter``, which was acquired for the peer's address."""
        self.peer = ""
        self.here = ("", 0)
        self.held = 0
        self.is_gone = False
        """Whether the peer is gone, or has closed its sending side, as a peer that hangs up does."""
        self._limiter = limiter
        self._handler = handler
        self._buffer = buffer
        self._group = group
        self._parser = Parser(body_limit)
        self._served: Request | None = None
        self._unsent = 0
        self._is_paused = False
        self._flows = asyncio.Event()
        self._flows.set()

    @property
    def is_in_work(self) -> bool:
        """Whether a request of this connection is being answered."""
        return self._served is not None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Set up the connection, and start waiting for a request."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(0)  # to know about every byte that the peer has not taken
        self.peer = str((transport.get_extra_info("peername") or ("",))[0])
        self.here = (transport.get_extra_info("sockname") or ("", 0))[:2]
        self._limiter.start_waiting(self)

    def connection_lost(self, error: Exception | None) -> None:
        """Forget the connection."""
        self.is_gone = True
        self._flows.set()
        self._parser.close()
        self._limiter.release(self._group)
        self._limiter.remove(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the part of the shared buffer to read into."""
        return self._buffer[: self._parser.wanted]

    def buffer_updated(self, nbytes: int) -> None:
        """Take the bytes that were read, and begin a request if they complete it."""
        parser = self._parser
        is_busy, is_new = self._served is not None or not self._flows.is_set(), not parser.is_partial
        parser.receive(self._buffer[:nbytes])
        if is_busy:
            self._pause()
            self._account()
            return
        self._proceed()
        if is_new and self._served is None and parser.is_partial:
            self._limiter.start_waiting(self)

    def eof_received(self) -> bool:
        """Keep the connection for the answer to a request in work: a peer may close its side after its request."""
        self.is_gone = True
        return self._served is not None

    def pause_writing(self) -> None:
        """Wait for the peer to read what is sent, and read nothing from it until then."""
        self._flows.clear()
        self._limiter.start_waiting(self)
        self._pause()

    def resume_writing(self) -> None:
        """Go on after the peer has read what was sent."""
        self._flows.set()
        self._unsent = 0
        if self._transport.is_closing():
            return
        if self._served is None:
            self._continue()
        else:
            self._limiter.stop_waiting(self)
            self._account()
            if not self._parser.is_partial:
                self._read_on()

    async def send(self, data: bytes) -> None:
        """Send a part of an answer, and return when more may follow; raise ConnectionError if the peer is gone."""
        self._write(data)
        self._account()
        await self._flows.wait()
        if self._transport.is_closing():
            raise ConnectionResetError("the peer is gone")

    def end(self, data: bytes, *, keeps_alive: bool) -> None:
        """Send the last part of an answer, and go on to the next request or close."""
        self._served = None
        self._parser.begin()
        self._write(data)
        if self._transport.is_closing():
            return
        if not keeps_alive:
            self._finish()
        elif self._flows.is_set():
            self._continue()
        else:
            self._account()

    def close(self) -> None:
        """Close the connection when the peer has read what was sent, unless a request is in work."""
        if self._served is None:
            self._transport.close()

    def abort(self) -> None:
        """Reset the connection, and free its memory at once: many may be aborted in one iteration of the loop.

        An answer in HTTP/1.0, which a proxy may ask for, ends where the connection is closed. Only a reset says that it
        is not complete.
        """
        self._parser.close()
        with suppress(OSError):  # the peer is gone
            self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._transport.abort()

    def expire(self) -> None:
        """Close a connection that has waited too long, with an answer if it has begun a request."""
        if self._parser.is_partial and self._served is None and self._flows.is_set():
            self._write(self._handler.refusal(HTTPStatus.REQUEST_TIMEOUT, *self._parser.refused))
        if self._flows.is_set():
            self._transport.close()
        else:
            self.abort()

    def _write(self, data: bytes) -> None:
        """Write, except to a peer that is gone: asyncio would log a line for each attempt."""
        if not self._transport.is_closing():
            self._transport.write(data)
            if not self._flows.is_set():
                self._unsent += len(data)

    def _account(self) -> None:
        """Count the buffered bytes. If memory is short and no other connection is closed for it, close this one."""
        held = self._parser.held + self._unsent
        if held == self.held or self._limiter.hold(self, held):
            return
        if self._unsent:
            self.abort()
        elif self._served is None and not self._parser.is_ended:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE)

    def _continue(self) -> None:
        """Wait for the next request, which may be here already."""
        if self._limiter.is_ending:
            return self._finish()
        self._limiter.start_waiting(self)
        return self._proceed()

    def _proceed(self) -> None:
        """Begin the next request if it is complete; refuse it if it never can be; otherwise continue to read."""
        parsed = self._parser.next()
        if isinstance(parsed, Request):
            self._account()
            if self._parser.is_ended:  # it was refused because there is no room for it
                return
            self._served = parsed
            self._limiter.stop_waiting(self)
            if self._parser.is_partial:
                self._pause()
            else:
                self._read_on()
            self._handler.handle(parsed, self)
        elif parsed is not None:
            self._refuse(parsed)
        elif self.is_gone:
            self._transport.close()
        else:
            if self._parser.expects():
                self._write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self._account()
            self._read_on()

    def _pause(self) -> None:
        self._is_paused = True
        self._transport.pause_reading()

    def _read_on(self) -> None:
        """Read again, unless the peer has answers to read first or has ended its side."""
        if self._is_paused and self._flows.is_set() and not self.is_gone:
            self._is_paused = False
            self._transport.resume_reading()

    def _refuse(self, status: HTTPStatus) -> None:
        self._write(self._handler.refusal(status, *self._parser.refused))
        self._finish()

    def _finish(self) -> None:
        """Send nothing more, and drop what the peer still sends until it has read the answer, or its time is over.

        A socket that is closed with bytes unread resets the connection, and the peer may lose the answer.
        """
        self._parser.close()
        self._limiter.start_waiting(self)
        self._account()
        if self._transport.can_write_eof():
            with suppress(OSError):  # the peer has reset the connection, which the next read will notice
                self._transport.write_eof()
        self._read_on()
        if self.is_gone or self._limiter.is_ending:
            self._transport.close()
