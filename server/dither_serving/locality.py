"""Decide whether a request was made on this machine, and not passed on by a program that runs on it.

The peer's address says little: whatever a proxy passes on comes from the proxy's own. So a request is local only if
nothing speaks against it: it comes from loopback to a socket that listens on loopback only, it names that socket as its
host, and it bears no header by which proxies and browsers show that another is behind it. A proxy that hides all of
that, or a TCP forwarder, still passes for local. Therefore being local lets a request report, where it may in most
collectors anyway, and never read.
"""

import ipaddress
from dataclasses import dataclass
from functools import lru_cache
from typing import Self
from urllib.parse import urlsplit
from wsgiref.types import WSGIEnvironment

from dither_shared import ParameterError

_SHOWS_ANOTHER = (
    "HTTP_FORWARDED", "HTTP_X_FORWARDED", "HTTP_VIA", "HTTP_X_REAL_IP", "HTTP_CF_CONNECTING", "HTTP_CF_RAY",
    "HTTP_CDN_LOOP", "CLIENT_IP", "CLIENTIP", "HTTP_X_ORIGINAL_", "HTTP_X_CLUSTER_", "HTTP_X_ENVOY_", "HTTP_X_PROXY",
    "HTTP_PROXY_", "HTTP_MAX_FORWARDS", "HTTP_X_COMING_FROM", "HTTP_ORIGIN", "HTTP_REFERER", "HTTP_SEC_FETCH_",
)  # fmt: skip
"""Parts of names of headers that proxies and balancers add, and browsers, in which a page of another site may ask."""

_DEFAULT_PORT = 80

_WITHOUT_A_PROXY = frozenset({"HTTP/1.1", "HTTP/2", "HTTP/2.0"})
"""Protocols of clients. Only proxies still speak HTTP/1.0: nginx does by default."""


@dataclass(frozen=True)
class Here:
    """The hosts that a local request may name, each spelling of the listening address; of none, nothing is local."""

    hosts: frozenset[str] = frozenset()

    @classmethod
    def at(cls, address: str) -> Self:
        """Return what is local to a server at an address such as ``127.0.0.1:8000``.

        If the address is empty, or not on loopback alone, nothing is. Raises ParameterError if it is no address.
        """
        try:
            parts = urlsplit(f"//{address}")
            host, port = parts.hostname, parts.port
        except ValueError:
            host = port = None
        if not address:
            return cls()
        if not host or not port or parts.netloc != address or "@" in address:
            raise ParameterError("local_address", "not an address with a port, such as 127.0.0.1:8000")
        if not is_loopback(host):
            return cls()
        names = {f"[{host}]" if ":" in host else host, "localhost", "127.0.0.1", "[::1]"}
        return cls(frozenset({f"{name}:{port}" for name in names} | (names if port == _DEFAULT_PORT else set())))

    def made(self, environ: WSGIEnvironment) -> bool:
        """Return whether a request was made here."""
        return (
            environ.get("HTTP_HOST", "").lower()
            in self.hosts  # a page that rebinds its name to loopback sends that name
            and is_loopback(environ.get("REMOTE_ADDR") or "")
            and environ.get("SERVER_PROTOCOL") in _WITHOUT_A_PROXY
            and environ.get("REQUEST_URI", "/").startswith("/")  # with a whole URL one asks a proxy
            and not _show_another("\n".join(environ))
        )


def signs_of_another(environ: WSGIEnvironment) -> list[str]:
    """Return what shows that another is behind a request: names of headers, and HTTP/1.0, which only proxies speak."""
    names = sorted(name.removeprefix("HTTP_").replace("_", "-").title() for name in environ if _show_another(name))
    protocol = str(environ.get("SERVER_PROTOCOL"))
    return names if protocol in _WITHOUT_A_PROXY else [*names, protocol]


NOWHERE = Here()
"""Nothing is local, for a server that does not know where it listens."""


@lru_cache(maxsize=1024)
def is_loopback(host: str) -> bool:
    """Return whether an address or name is this machine's own."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


@lru_cache(maxsize=32)  # a stranger's header may be large
def _show_another(names: str) -> bool:
    """Return whether header names show that a request was passed on; one app's devices always send the same names."""
    return any(part in names for part in _SHOWS_ANOTHER)
