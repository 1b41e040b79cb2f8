"""Serve a collector on a socket: one event loop, one committer, and a clean shutdown."""

import asyncio
import ctypes
import logging
import os
import signal
import socket
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Self
from wsgiref.types import WSGIApplication

from dither_shared import ParameterError

from .addresses import Proxies
from .connection import Connection, read_buffer
from .connection_limiter import ConnectionLimiter
from .endpoint import UploadEndpoint
from .gateway import Gateway
from .logs import OnceAMinute, limited_lines
from .parser import LARGEST_READ
from .settings import ServerSettings

_log = logging.getLogger(__name__)

_BACKLOG = 1000

_LAST = 30.0
"""Seconds in which requests that began before the shutdown are answered: a device waits no longer."""

_FLUSH = 5.0
"""Seconds in which peers read their last answers."""

_OTHER_FILES = 128
"""Open files other than connections: the database, its log and locks, some of them once per thread."""

_SWITCH = 0.0005
"""Seconds after which a computing thread lets another run. A commit releases the interpreter at each statement and
waits that long to get it back: beside an analysis, at Python's default of 5 ms, that was most of its time.
"""

_ARENAS = (-8, 2)
"""The option M_ARENA_MAX of glibc's ``mallopt``, and the number of heaps that threads share (by default 8 per
processor).
"""


class Served(ABC):
    """The parts behind an app: its limits, the proxies in front, and what answers small reports."""

    limits: ServerSettings
    proxies: Proxies
    endpoint: UploadEndpoint

    @abstractmethod
    def start(self) -> None:
        """Start the parts' own threads. A server that forks calls this after the fork."""

    @abstractmethod
    def close(self) -> None:
        """Commit what was accepted, and close the database."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes any free one. Raises ParameterError if it cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        # Python's message repeats the address; an errno below 0 means that a name has no address
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else "not an address of this machine"
        raise ParameterError(f"{host}:{port}", f"cannot listen there: {reason}; choose another port or host") from None


def serve(app: WSGIApplication, parts: Served, listener: socket.socket, ready: Callable[[str], None]) -> None:
    """Serve an app, and the parts behind it, until SIGTERM or SIGINT; then commit what was accepted and return.

    ``ready`` is called once with the URL, when connections are accepted.
    """
    prepare_process()
    try:
        with limited_lines(logging.getLogger("asyncio")):
            asyncio.run(_serve(app, parts, listener, ready))
    finally:
        parts.close()


def prepare_process() -> None:
    """Prepare a process that is a server and nothing else, so that analyses leave room for ingest.

    Threads switch often, and share heaps: otherwise each thread keeps the memory of its largest answer.
    """
    sys.setswitchinterval(_SWITCH)
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(*_ARENAS)


def memory_for(limits: ServerSettings) -> int:
    """Return the bytes that may be held for all peers: half of the queue's, but room for two of the largest bodies.

    The other half is for additional copies: a body is copied once when it is complete.
    """
    return max(limits.queue_bytes // 2, 2 * limits.body_limit + LARGEST_READ)


async def _serve(app: WSGIApplication, parts: Served, listener: socket.socket, ready: Callable[[str], None]) -> None:
    limits, endpoint, proxies = parts.limits, parts.endpoint, parts.proxies
    loop, stop = asyncio.get_running_loop(), asyncio.Event()

    def end(_signal: int, _frame: FrameType | None) -> None:  # when asked twice, it still finishes the commits
        loop.call_soon_threadsafe(stop.set)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    limiter = ConnectionLimiter(
        open_files_for(limits.connections),
        limits.connections_per_address,
        limits.request_seconds,
        memory_for(limits),
        endpoint.numbers,
    )
    gateway, buffer = Gateway(app, endpoint, limits.threads, limiter, proxies), read_buffer()

    def connection(group: str) -> Connection:
        return Connection(limiter, gateway, buffer, limits.body_limit, group)

    signalled = asyncio.ensure_future(stop.wait())
    accepting = accept(listener, limiter, proxies, connection)
    serving = [asyncio.create_task(limiter.watch()), asyncio.create_task(accepting)]
    parts.start()
    ready(url_of(listener))
    ended, _ = await asyncio.wait([signalled, *serving], return_when=asyncio.FIRST_COMPLETED)
    for task in serving:
        task.cancel()
    listener.close()
    limiter.close()
    await asyncio.gather(gateway.drain(_LAST), limiter.drain(_FLUSH))
    await limiter.drain(_FLUSH)  # cuts peers that do not read the answers that were made meanwhile
    gateway.close()
    for end_or_failure in ended:
        end_or_failure.result()  # raises what ended the server, unless a signal did


def url_of(listener: socket.socket) -> str:
    """Return the URL of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def accept(
    listener: socket.socket, limiter: ConnectionLimiter, proxies: Proxies, make: Callable[[str], Connection]
) -> None:
    """Accept connections for ever, within the limits; ``make`` makes each, from the group of its address or "".

    A peer whose address has too many connections is turned away. A proxy's connections count for no address: each of
    its requests does.
    """
    loop = asyncio.get_running_loop()
    listener.setblocking(False)
    connecting: set[asyncio.Task[None]] = set()
    failures = OnceAMinute()

    async def connect(accepted: socket.socket, group: str) -> None:
        try:
            await loop.connect_accepted_socket(lambda: make(group), accepted)
        except OSError:  # the peer is gone already
            accepted.close()
            limiter.remove(None)
            limiter.release(group)

    while True:
        await limiter.slot()
        try:
            accepted, (address, *_) = await _next_peer(listener)
        except OSError as error:  # too many open files, for example
            if failed := failures.add():
                _log.warning("%d connections could not be accepted, the last: %s", failed, error.strerror or error)
            limiter.evict()
            await asyncio.sleep(0.1)
            continue
        group = "" if address in proxies else limiter.acquire(address)
        if group is None:
            accepted.close()
            continue
        limiter.add()
        task = loop.create_task(connect(accepted, group))
        connecting.add(task)
        task.add_done_callback(connecting.discard)


async def _next_peer(listener: socket.socket) -> tuple[socket.socket, tuple[str, int]]:
    """Return the socket and the address of the next peer. Raises OSError.

    Nothing is awaited after a peer is accepted: ``sock_accept`` of asyncio would drop its socket, and never close it,
    if the task is cancelled then.
    """
    loop = asyncio.get_running_loop()
    if sys.platform == "win32":  # its loop knows no readers
        return await loop.sock_accept(listener)
    while True:
        with suppress(BlockingIOError):
            return listener.accept()
        has_peer = asyncio.Event()
        loop.add_reader(listener, has_peer.set)
        try:
            await has_peer.wait()
        finally:
            loop.remove_reader(listener)


def open_files_for(connections: int) -> int:
    """Raise the system's limit of open files for this many connections; return how many are possible."""
    if sys.platform == "win32":  # it has no such limit
        return connections
    import resource  # noqa: PLC0415  # nor this module

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= connections + _OTHER_FILES:
        return connections
    most = connections + _OTHER_FILES if hard == resource.RLIM_INFINITY else min(hard, connections + _OTHER_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    if most - _OTHER_FILES < connections:
        possible = max(1, most - _OTHER_FILES)
        _log.warning(
            "at most %d connections are possible, not %d: raise the limit of open files (ulimit -n)",
            possible,
            connections,
        )
        return possible
    return connections
