"""Dispatch requests: answer small reports without a thread of their own, and all others by the app in a thread.

The thread that takes a small report off its socket reads and submits it, goes on, and writes the answers when the
committer says that they are there. Threads that waited for their commits would hand the interpreter to one another, and
that costs more than all the work. A thread that calls the app hands its answer to the loop piece by piece.
"""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import suppress
from email.utils import formatdate
from http import HTTPStatus
from typing import Any
from wsgiref.types import WSGIApplication, WSGIEnvironment

from .addresses import Proxies
from .connection import Connection
from .connection_limiter import ConnectionLimiter
from .endpoint import UploadEndpoint
from .problems import Answer, Kind, Problem, http_answer, reason
from .request import PEER_GONE, Request, environ_of

_log = logging.getLogger(__name__)

_PATIENCE = 300.0
"""Seconds to wait for a piece to be read: the limit of a connection's wait is much shorter."""

_LOOK = 1.0
"""Seconds after which a thread whose answer is not read checks whether the loop has ended."""

Headers = list[tuple[str, str]]


class _WsgiCall:
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


_SMALL = 1 << 16
"""Maximum bytes of a body that is read in the loop; a larger one would hold up the other connections."""

_SOON = 1
"""Seconds after which an address with too many requests in work may send another."""

_MAKE_ROOM = 0.1
"""Seconds between checks for a peer that holds a thread by not reading its answer, while a request waits."""

_SLICE = 0.002
"""Seconds after which the remaining answers wait for the next iteration of the loop."""

_UNREAD = {
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: Kind.TOO_LARGE,
    HTTPStatus.SERVICE_UNAVAILABLE: Kind.OVERLOADED,
}
"""The problem of a refused report that was not read completely; with any other status it is malformed."""


class Gateway:
    """Hands requests to ingest or to the app. Its methods are called in the loop's thread."""

    def __init__(
        self, app: WSGIApplication, endpoint: UploadEndpoint, threads: int, limiter: ConnectionLimiter, proxies: Proxies
    ) -> None:
        self._app = app
        self._endpoint = endpoint
        self._path, *_ = self._paths = [path.encode("ascii") for path in endpoint.paths]
        self._limiter = limiter
        self._proxies = proxies
        self._loop = asyncio.get_running_loop()
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, "dither-web")
        self._in_pool = 0
        self._is_making_room = False
        self._answered: deque[tuple[Connection, Request, str | None, Answer]] = deque()
        self._is_woken = False
        self._date = (0, "")
        self._serving = 0
        self._idle = asyncio.Event()
        self._idle.set()

    def handle(self, request: Request, connection: Connection) -> None:
        """Begin to answer a request."""
        self._serving += 1
        self._idle.clear()
        environ = environ_of(request, connection.peer, connection.here)
        group: str | None = ""
        if connection.peer in self._proxies:
            group = self._limiter.acquire(self._proxies.forwarded(environ.get("HTTP_X_FORWARDED_FOR", "")))

        def answered(answer: Answer) -> None:
            self._answered.append((connection, request, group, answer))
            if not self._is_woken:
                self._is_woken = True
                self._loop.call_soon_threadsafe(self._write)

        if group is None:
            answered(self._crowded(request, environ.get("HTTP_ORIGIN")))
        elif self._is_quick(request, environ):
            self._endpoint.begin(environ, answered)
        else:
            run = _WsgiCall(self._app, environ, request, connection, self._loop, self._head)
            self._in_pool += 1
            self._pool.submit(run, lambda: self._leave_pool(group))
            if self._in_pool > self._threads and not self._is_making_room:
                self._is_making_room = True
                self._loop.call_soon(self._make_room)

    def refusal(self, status: HTTPStatus, method: str, target: bytes, origin: str | None) -> bytes:
        """Return the answer to what cannot be served; count it if it brought reports."""
        code, headers, body = http_answer(status)
        self._endpoint.numbers.unread(code)
        if method == "POST" and target in self._paths:
            self._endpoint.refuse(Problem(_UNREAD.get(status, Kind.MALFORMED), status.phrase))
            headers += self._endpoint.headers(origin)
        return self._head(code, [*headers, ("Connection", "close")]) + body

    async def drain(self, seconds: float) -> None:
        """Return when no request is being served any more, or after ``seconds``."""
        try:
            await asyncio.wait_for(self._idle.wait(), seconds)
        except TimeoutError:
            _log.warning("%d requests were not answered before the server stopped", self._serving)

    def close(self) -> None:
        """Take no more work."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _is_quick(self, request: Request, environ: WSGIEnvironment) -> bool:
        if request.target != self._path or request.method != "POST" or len(request.body) > _SMALL:
            return False
        return self._endpoint.settled(environ)

    def _crowded(self, request: Request, origin: str | None) -> Answer:
        problem = Problem(Kind.CROWDED, "this address has reached its limit of simultaneous requests", _SOON)
        status, headers, body = problem.answer()
        if request.method == "POST" and request.target in self._paths:
            self._endpoint.refuse(problem)
            headers += self._endpoint.headers(origin)
        return status, headers, body

    def _write(self) -> None:
        """Write the answers that are ready now, but not those that become ready during that.

        A connection whose next request is answered at once waits for the next iteration of the loop like any other, so
        that all connections take turns. If many are ready, the loop checks its sockets in between.
        """
        until = time.monotonic() + _SLICE
        self._is_woken = False  # before the first is taken: an answer that is added after the last wakes the loop again
        for _ in range(len(self._answered)):
            connection, request, group, (code, headers, body) = self._answered.popleft()
            if not request.keeps_alive:
                headers = [*headers, ("Connection", "close")]
            elif request.version == "1.0":
                headers = [*headers, ("Connection", "keep-alive")]
            connection.end(self._head(code, headers) + body, keeps_alive=request.keeps_alive)
            self._end(group)
            if time.monotonic() > until:
                break
        if self._answered and not self._is_woken:
            self._is_woken = True
            self._loop.call_soon(self._write)

    def _make_room(self) -> None:
        """Cut peers that do not read the answers that keep threads, while other requests wait for a thread.

        An answer that is sent in parts keeps its thread until the peer has read all but the last one, so a few dozen
        peers that read nothing would keep everyone else waiting until their time is over.
        """
        lacking = self._in_pool - self._threads
        for _ in range(lacking):
            if not self._limiter.evict_stalled():
                break
        self._is_making_room = lacking > 0
        if self._is_making_room:
            self._loop.call_later(_MAKE_ROOM, self._make_room)

    def _leave_pool(self, group: str | None) -> None:
        self._in_pool -= 1
        self._end(group)

    def _end(self, group: str | None) -> None:
        self._limiter.release(group)
        self._serving -= 1
        if not self._serving:
            self._idle.set()

    def _head(self, code: int, headers: list[tuple[str, str]]) -> bytes:
        # Our own headers come last, so that a truncated head still has the Content-Length.
        lines = "".join([f"{name}: {value}\r\n" for name, value in headers])
        head = f"HTTP/1.1 {reason(code)}\r\n{lines}Server: dither\r\nDate: {self._now()}\r\n\r\n"
        return head.encode("latin-1")

    def _now(self) -> str:
        now = int(time.time())
        if self._date[0] != now:
            self._date = (now, formatdate(now, usegmt=True))
        return self._date[1]
