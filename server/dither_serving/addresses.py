"""Find the address that a request comes from, behind declared proxies, and whether it was made on this machine.

The peer's address says little: whatever a proxy passes on comes from the proxy's address. So a request is local only if
nothing contradicts it: it comes from loopback to a socket that listens only on loopback, it names that socket as its
host, and it has no header by which proxies and browsers show that they act for somebody else. A proxy that hides all of
that, or a TCP forwarder, still passes for local. Therefore being local allows a request only to report, which most
collectors allow anyway, and never to read.
"""

import ipaddress
import re
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
"""Parts of the names of headers that proxies and balancers add, and browsers for pages of other sites."""

_DEFAULT_PORT = 80

_WITHOUT_A_PROXY = frozenset({"HTTP/1.1", "HTTP/2", "HTTP/2.0"})
"""Protocols of clients. Only proxies still speak HTTP/1.0: nginx does by default."""


_WITH_PORT = re.compile(r"\[([^\]]*)\](?::\d{1,5})?|([^:]*):\d{1,5}")
"""An address with its port, as balancers of Azure and others write it: 192.0.2.1:443, [2001:db8::1]:443."""


@dataclass(frozen=True)
class LocalHosts:
    """The hosts that a local request may name, each spelling of its listening address; if empty, nothing is local."""

    hosts: frozenset[str] = frozenset()

    @classmethod
    def at(cls, address: str) -> Self:
        """Return what is local to a server at an address such as ``127.0.0.1:8000``.

        If the address is empty, or not only on loopback, nothing is. Raises ParameterError if it is not an address.
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

    def is_source_of(self, environ: WSGIEnvironment) -> bool:
        """Return whether a request was made on this machine."""
        return (
            environ.get("HTTP_HOST", "").lower()
            in self.hosts  # a page that rebinds its name to loopback sends that name
            and is_loopback(environ.get("REMOTE_ADDR") or "")
            and environ.get("SERVER_PROTOCOL") in _WITHOUT_A_PROXY
            and environ.get("REQUEST_URI", "/").startswith("/")  # a whole URL is a request to a proxy
            and not _show_another("\n".join(environ))
        )


def signs_of_another(environ: WSGIEnvironment) -> list[str]:
    """Return the signs that a request acts for somebody else: header names, and HTTP/1.0, which proxies speak."""
    names = sorted(name.removeprefix("HTTP_").replace("_", "-").title() for name in environ if _show_another(name))
    protocol = str(environ.get("SERVER_PROTOCOL"))
    return names if protocol in _WITHOUT_A_PROXY else [*names, protocol]


NO_LOCAL_HOSTS = LocalHosts()
"""No host is local: for a server that does not know the address at which it listens."""


@lru_cache(maxsize=1024)
def is_loopback(host: str) -> bool:
    """Return whether an address or name is this machine's own."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


@lru_cache(maxsize=32)  # an unauthenticated header may be large
def _show_another(names: str) -> bool:
    """Return whether header names show that a request was passed on; one app's devices always send the same names."""
    return any(part in names for part in _SHOWS_ANOTHER)


class Proxies:
    """Addresses and networks, separated by commas. Raises ParameterError for anything else."""

    def __init__(self, declared: str) -> None:
        try:
            self._networks = [ipaddress.ip_network(part.strip()) for part in declared.split(",") if part.strip()]
        except ValueError as error:
            raise ParameterError("proxies", f"not addresses or networks, such as 10.0.0.0/8: {error}") from None
        self._known = lru_cache(maxsize=1024)(self._look)

    def __contains__(self, address: str) -> bool:
        return bool(self._networks) and self._known(address)

    @property
    def holds_all(self) -> bool:
        """Whether every address of a family counts as a proxy's."""
        return any(network.prefixlen == 0 for network in self._networks)

    def forwarded(self, header: str) -> str:
        """Return the client behind a chain of proxies: the last address of X-Forwarded-For that is not a proxy's.

        Anything before it may be forged. A port after it is left out. "" if there is none.
        """
        addresses = (_without_port(part.strip()) for part in reversed(header.split(",")))
        return next((address for address in addresses if address and address not in self), "")

    def peer_of(self, environ: WSGIEnvironment) -> str:
        """Return the group of addresses from which a request comes."""
        address = environ.get("REMOTE_ADDR") or ""
        return group_of(self.forwarded(environ.get("HTTP_X_FORWARDED_FOR", "")) if address in self else address)

    def forget_addresses(self) -> None:
        """Forget the addresses that were looked up, here and for limits."""
        for cached in (self._known, group_of, is_loopback):
            cached.cache_clear()

    def _look(self, address: str) -> bool:
        try:
            peer = ipaddress.ip_address(address)
        except ValueError:
            return False
        mapped = getattr(peer, "ipv4_mapped", None)  # how a socket for both IPv4 and IPv6 shows an IPv4 address
        return any(peer in network or (mapped is not None and mapped in network) for network in self._networks)


@lru_cache(maxsize=4096)
def group_of(address: str) -> str:
    """Return the group that counts as one address: for IPv6 the network of 64 bits that one customer has."""
    try:
        peer = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if isinstance(peer, ipaddress.IPv6Address):
        if peer.ipv4_mapped:
            return str(peer.ipv4_mapped)
        return str(ipaddress.ip_network((int(peer) >> 64 << 64, 64)))
    return str(peer)


def _without_port(part: str) -> str:
    match = _WITH_PORT.fullmatch(part)
    return part if match is None else match[1] or match[2] or ""
