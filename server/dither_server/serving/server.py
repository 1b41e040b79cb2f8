"""Serve a collector on a socket: one event loop, one committer, and a clean end."""

import asyncio
import logging
import signal
import socket
from collections.abc import Callable
from types import FrameType
from typing import Protocol
from wsgiref.types import WSGIApplication

from dither_shared import ParameterError

from ..access.proxies import Proxies
from .acceptor import accept
from .connection import Connection
from .crowd import Crowd
from .gateway import Gateway, Reception
from .open_files import files_for
from .parser import Room
from .process import prepare_process

__all__ = ["Served", "listen", "serve", "url_of"]

_log = logging.getLogger(__name__)

_BACKLOG = 1000

_LAST = 30.0
"""Seconds for what was taken before the end to be answered: a device waits no longer."""

_FLUSH = 5.0
"""Seconds for the last answers to be read by their peers."""


class Limits(Protocol):
    """How many connections there may be, and how much may wait; the settings of ``Config`` say what each is."""

    @property
    def threads(self) -> int: ...
    @property
    def connections(self) -> int: ...
    @property
    def connections_per_address(self) -> int: ...
    @property
    def request_seconds(self) -> float: ...
    @property
    def queue_bytes(self) -> int: ...
    @property
    def body_limit(self) -> int: ...


class Served(Protocol):
    """The parts behind an app."""

    @property
    def limits(self) -> Limits:
        """The limits of connections and requests."""

    @property
    def proxies(self) -> Proxies:
        """The proxies in front."""

    @property
    def reception(self) -> Reception:
        """What answers small reports."""

    def start(self) -> None:
        """Start the parts' own threads."""

    def close(self) -> None:
        """Commit what was accepted, and let go of the database."""


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes any free one. Raises ParameterError if it cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise ParameterError(f"{host}:{port}", f"cannot be listened on: {error.strerror or error}") from None


def serve(app: WSGIApplication, parts: Served, listener: socket.socket, ready: Callable[[str], None]) -> None:
    """Serve an app, and the parts behind it, until SIGTERM or SIGINT; then commit what was accepted and return.

    ``ready`` is called once with the URL, when connections are taken.
    """
    prepare_process()
    try:
        asyncio.run(_serve(app, parts, listener, ready))
    finally:
        parts.close()


async def _serve(app: WSGIApplication, parts: Served, listener: socket.socket, ready: Callable[[str], None]) -> None:
    limits, reception, proxies = parts.limits, parts.reception, parts.proxies
    loop, stop = asyncio.get_running_loop(), asyncio.Event()

    def end(_signal: int, _frame: FrameType | None) -> None:  # asked twice, the commits are still made
        loop.call_soon_threadsafe(stop.set)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    limit = files_for(limits.connections)
    crowd = Crowd(limit, limits.connections_per_address, limits.request_seconds, reception.numbers)
    gateway = Gateway(app, reception, limits.threads, crowd, proxies)
    room = Room(limits.queue_bytes, limits.body_limit)

    def connection(name: str) -> Connection:
        return Connection(crowd, gateway, room, name)

    asked_to_end = asyncio.ensure_future(stop.wait())
    serving = [asyncio.create_task(crowd.watch()), asyncio.create_task(accept(listener, crowd, proxies, connection))]
    parts.start()
    ready(url_of(listener))
    ended, _ = await asyncio.wait([asked_to_end, *serving], return_when=asyncio.FIRST_COMPLETED)
    for each in serving:
        each.cancel()
    listener.close()
    crowd.close()
    await gateway.drain(_LAST)
    await crowd.end(_FLUSH)
    gateway.close()
    for task in ended:
        task.result()  # which raises if it was not asked to end


def url_of(listener: socket.socket) -> str:
    """Return the URL of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
