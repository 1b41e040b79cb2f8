"""Answer one request by a WSGI app in a thread, and hand the answer to the loop piece by piece."""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any
from wsgiref.types import WSGIApplication, WSGIEnvironment

from .connection import Connection
from .problems import http_answer
from .request import PEER_GONE, Request

_log = logging.getLogger(__name__)

_PATIENCE = 300.0
"""Seconds to wait for a piece to be read: the limit of a connection's wait is much shorter."""

_LOOK = 1.0
"""Seconds after which a thread whose answer is not read checks whether the loop has ended."""

Headers = list[tuple[str, str]]


class WsgiCall:
    """Answers a request with what an app returns. Called in a thread, once."""

    def __init__(
        self,
        app: WSGIApplication,
        environ: WSGIEnvironment,
        request: Request,
        connection: Connection,
        loop: asyncio.AbstractEventLoop,
        head: Callable[[int, Headers], bytes],
    ) -> None:
        self._app = app
        self._environ = environ
        self._request = request
        self._connection = connection
        self._loop = loop
        self._make_head = head
        self._code, self._headers = 0, Headers()
        self._is_begun = False
        self._is_chunked = False
        self._keeps_alive = request.keeps_alive
        environ[PEER_GONE] = lambda: connection.is_gone  # so that nobody waits for a long answer

    def __call__(self, then: Callable[[], object]) -> None:
        """Answer, and have ``then`` called in the loop's thread."""
        try:
            last = self._respond()
        except ConnectionError:
            last = None
        except Exception:
            _log.exception("a request could not be answered")
            last = None if self._is_begun else self._failure()
        taken = threading.Event()
        with suppress(RuntimeError):  # the loop has ended before this thread
            self._loop.call_soon_threadsafe(self._end, last, then, taken)
            while not taken.wait(_LOOK) and not self._loop.is_closed():
                # otherwise threads that answer faster than the loop writes would pile up answers that nothing counts
                pass

    def _end(self, last: bytes | None, then: Callable[[], object], taken: threading.Event) -> None:
        taken.set()
        if last is None:
            self._connection.abort()  # so that no peer mistakes a part for the whole
        self._connection.end(last or b"", keeps_alive=self._keeps_alive and last is not None)
        then()

    def _respond(self) -> bytes:
        """Send all but the last part of the answer, and return that."""
        pieces = self._app(self._environ, self._start)
        try:
            return self._sent(pieces)
        finally:
            if hasattr(pieces, "close"):
                pieces.close()

    def _sent(self, pieces: Iterable[bytes]) -> bytes:
        bodiless = self._request.method == "HEAD" or self._code in {204, 304}
        length = next((int(value) for name, value in self._headers if name.lower() == "content-length"), None)
        left = length
        for piece in pieces:
            if bodiless or not piece:
                continue
            if left is not None and (left := left - len(piece)) < 0:
                raise ValueError("the app returned more than it had announced")
            if left == 0 and not self._is_begun:
                return self._head(length) + piece
            self._send(self._framed(piece, length))
        if not bodiless and left:
            raise ValueError("the app returned less than it had announced")
        if self._is_begun:
            return b"0\r\n\r\n" if self._is_chunked else b""
        return self._head(0 if length is None and not bodiless else length)

    def _framed(self, piece: bytes, length: int | None) -> bytes:
        head = b"" if self._is_begun else self._head(length)
        return head + (b"%x\r\n%b\r\n" % (len(piece), piece) if self._is_chunked else piece)

    def _start(self, status: str, headers: Headers, error: Any = None) -> Callable[[bytes], object]:
        """Take status and headers: WSGI's ``start_response``."""
        if error and self._is_begun:
            raise error[1].with_traceback(error[2])
        self._code, self._headers = int(status[:3]), headers
        return lambda piece: self._send(self._framed(piece, None))

    def _head(self, length: int | None) -> bytes:
        """Return the head of the answer: with the length of its body, or without, if it ends with the connection."""
        headers = [pair for pair in self._headers if pair[0].lower() not in {"content-length", "connection"}]
        if length is not None:
            headers.append(("Content-Length", str(length)))
        elif self._request.method != "HEAD" and self._code not in {204, 304}:
            self._is_chunked = self._request.version != "1.0"
            self._keeps_alive = self._keeps_alive and self._is_chunked
            headers += [("Transfer-Encoding", "chunked")] if self._is_chunked else []
        if not self._keeps_alive:
            headers.append(("Connection", "close"))
        elif self._request.version == "1.0":
            headers.append(("Connection", "keep-alive"))
        self._is_begun = True
        return self._make_head(self._code, headers)

    def _failure(self) -> bytes:
        self._code, self._headers, body = http_answer(500)
        self._keeps_alive = False
        return self._head(len(body)) + body

    def _send(self, data: bytes) -> None:
        try:
            asyncio.run_coroutine_threadsafe(self._connection.send(data), self._loop).result(_PATIENCE)
        except (RuntimeError, TimeoutError, CancelledError) as error:  # CancelledError: the loop has ended
            raise ConnectionAbortedError("nobody reads the answer") from error
