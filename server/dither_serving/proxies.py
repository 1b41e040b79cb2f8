"""Find the address from which a request comes, also if declared proxies forward it."""

import ipaddress
import re
from functools import lru_cache
from wsgiref.types import WSGIEnvironment

from dither_shared import ParameterError

from .locality import is_loopback

_WITH_PORT = re.compile(r"\[([^\]]*)\](?::\d{1,5})?|([^:]*):\d{1,5}")
"""An address with its port, as balancers of Azure and others write it: 192.0.2.1:443, [2001:db8::1]:443."""


class Proxies:
    """Addresses and networks, separated by commas. Raises ParameterError for anything else."""

    def __init__(self, declared: str) -> None:
        try:
            self._networks = [ipaddress.ip_network(one.strip()) for one in declared.split(",") if one.strip()]
        except ValueError as error:
            raise ParameterError("proxies", f"not addresses or networks, such as 10.0.0.0/8: {error}") from None
        self._known = lru_cache(maxsize=1024)(self._look)

    def __contains__(self, address: str) -> bool:
        return bool(self._networks) and self._known(address)

    def forwarded(self, header: str) -> str:
        """Return the client behind a chain of proxies: the last address of X-Forwarded-For that is not a proxy's.

        Anything before it may be forged. A port behind it is left out. "" if there is none.
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
            found = ipaddress.ip_address(address)
        except ValueError:
            return False
        mapped = getattr(found, "ipv4_mapped", None)  # as a socket for both families shows it
        return any(one in network for network in self._networks for one in (found, mapped) if one is not None)


@lru_cache(maxsize=4096)
def group_of(address: str) -> str:
    """Return the group that counts as one address: for IPv6 the network of 64 bits, which one customer has."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((int(found) >> 64 << 64, 64)))
    return str(found)


def _without_port(part: str) -> str:
    found = _WITH_PORT.fullmatch(part)
    return part if found is None else found[1] or found[2] or ""
