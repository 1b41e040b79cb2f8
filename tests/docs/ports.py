"""Replace the ports that a page names by free ones."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from ports import kept_ports

__all__ = ["free_ports", "ports_of", "with_ports"]

_PORT = re.compile(
    r"(?P<before>(?:127\.0\.0\.1|localhost|\[::1\]|0\.0\.0\.0):|\bport(?: = |=| )|\bflask\b.* -p |http\.server )"
    r"(?P<port>\d{4,5})\b"
)


def ports_of(texts: Iterable[str]) -> set[str]:
    """Return the ports of this machine that blocks name."""
    return {found["port"] for text in texts for found in _PORT.finditer(text)}


@contextmanager
def free_ports(named: Iterable[str]) -> Iterator[dict[str, str]]:
    """Yield a free port of this machine for each named one, kept until the end."""
    names = sorted(named)
    with kept_ports(len(names)) as ports:
        yield dict(zip(names, map(str, ports), strict=True))


def with_ports(text: str, free: Mapping[str, str]) -> str:
    """Return a block's text with free ports in place of its own."""
    return _PORT.sub(lambda found: found["before"] + free.get(found["port"], found["port"]), text)
