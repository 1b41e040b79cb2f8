"""Ports for programs that tests start, and for addresses at which nothing listens."""

import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

__all__ = ["kept_port", "kept_ports"]


@contextmanager
def kept_ports(count: int) -> Iterator[list[int]]:
    """Yield free ports, which no other program is given before the end.

    Another program may take a port that was only looked up. On Linux each stays bound, at every address because some
    servers listen at 0.0.0.0, and nobody listens: the kernel gives it to no program that asks for any port, refuses
    connections, and lets a server, which sets SO_REUSEADDR, listen there, and again after that server has ended.
    Elsewhere a bound port is taken for all programs.
    """
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind(("", 0))
        ports = [one.getsockname()[1] for one in sockets]
        if sys.platform != "linux":
            stack.close()
        yield ports


@contextmanager
def kept_port() -> Iterator[int]:
    """Yield one such port."""
    with kept_ports(1) as (port,):
        yield port
