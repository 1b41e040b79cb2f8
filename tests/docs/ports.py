"""Free ports in place of those that a page names."""

import re
import socket
from collections.abc import Iterable, Mapping
from contextlib import ExitStack

__all__ = ["free_ports", "ports_of", "with_ports"]

_PORT = re.compile(
    r"(?P<before>(?:127\.0\.0\.1|localhost|\[::1\]|0\.0\.0\.0):|\bport(?: = |=| )|\bflask\b.* -p |http\.server )"
    r"(?P<port>\d{4,5})\b"
)


def ports_of(texts: Iterable[str]) -> set[str]:
    """Return the ports of this machine that blocks name."""
    return {found["port"] for text in texts for found in _PORT.finditer(text)}


def free_ports(named: Iterable[str]) -> dict[str, str]:
    """Return a free port of this machine for each named one."""
    with ExitStack() as stack:
        sockets = {port: stack.enter_context(socket.socket()) for port in sorted(named)}
        for one in sockets.values():
            one.bind(("127.0.0.1", 0))
        return {port: str(one.getsockname()[1]) for port, one in sockets.items()}


def with_ports(text: str, free: Mapping[str, str]) -> str:
    """Return a block's text with free ports in place of those that it names."""
    return _PORT.sub(lambda found: found["before"] + free.get(found["port"], found["port"]), text)
