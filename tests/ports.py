"""Ports for programs that tests start, and for addresses at which nobody is to listen."""

import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

__all__ = ["kept_port", "kept_ports"]


@contextmanager
def kept_ports(count: int) -> Iterator[list[int]]:
    """Yield so many free ports of 127.0.0.1, which nobody else is given before the end.

    A port that was only looked up may be another program's by the time that it is wanted. On Linux each stays bound,
    and nobody listens: the kernel gives it to none that asks for any port, a connection is refused, and a server, which
    sets SO_REUSEADDR, may still listen there, and again after it has ended. Elsewhere a bound port is taken for all.
    """
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind(("127.0.0.1", 0))
        ports = [one.getsockname()[1] for one in sockets]
        if sys.platform != "linux":
            stack.close()
        yield ports


@contextmanager
def kept_port() -> Iterator[int]:
    """Yield one such port."""
    with kept_ports(1) as (port,):
        yield port
