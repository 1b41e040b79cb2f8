"""Take connections from a listening socket, as many as there is room for."""

import asyncio
import logging
import socket
from collections.abc import Callable

from ..access.proxies import Proxies
from .connection import Connection
from .crowd import Crowd

__all__ = ["accept"]

_log = logging.getLogger(__name__)


async def accept(listener: socket.socket, crowd: Crowd, proxies: Proxies, make: Callable[[str], Connection]) -> None:
    """Take connections for ever, as far as there is room; ``make`` makes each, of a peer's address or "".

    A peer of which there are too many connections is turned away. One of ``proxies`` is counted as nobody yet.
    """
    loop = asyncio.get_running_loop()
    listener.setblocking(False)
    taking: set[asyncio.Task[None]] = set()

    async def take(taken: socket.socket, name: str) -> None:
        try:
            await loop.connect_accepted_socket(lambda: make(name), taken)
        except OSError:  # gone already
            taken.close()
            crowd.leave(None)
            crowd.discount(name)

    while True:
        await crowd.room()
        try:
            taken, (address, *_) = await loop.sock_accept(listener)
        except OSError as error:  # no more files, say
            _log.warning("a connection could not be taken: %s", error.strerror or error)
            crowd.make_room()
            await asyncio.sleep(0.1)
            continue
        name = "" if address in proxies else crowd.count(address)
        if name is None:
            taken.close()
            continue
        crowd.enter()
        task = loop.create_task(take(taken, name))
        taking.add(task)
        task.add_done_callback(taking.discard)
