"""Decide which web pages may report, by the Origin of a request, and say what these may read of the answer.

With every POST of a page, a browser sends the origin of the page, and no page can change it. So the check keeps other
sites' pages from reporting through the browsers of their visitors: text/plain needs no preflight, and reaches a
collector on loopback, too. It proves nothing else: any other program may send any Origin.
"""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from dither_serving.problems import Kind, Problem
from dither_shared import ParameterError

Headers = tuple[tuple[str, str], ...]

_VARY: Headers = (("Vary", "Origin"),)

_READS = ("Access-Control-Expose-Headers", "Retry-After")
"""Headers that a page may read only if the answer lists them."""

_ORIGIN = re.compile(r"([a-z][a-z0-9+.-]*)://([a-z0-9._-]+|\[[0-9a-f:]+\])(?::([1-9][0-9]{0,4}))?", re.ASCII)

_DEFAULT_PORTS = {"http": "80", "https": "443"}

_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
"""The last part of a host that browsers read as an IPv4 address."""

_OF_ANYONE = {
    "*": "would let every web page report; list the origins of your own pages",
    "null": "is what browsers send for sandboxed frames, local files and some redirects of any site; list the origin "
    "of a page",
}

_RIGHT = (
    "is not an origin as browsers write it: scheme and host, such as https://app.example, and the port if it is not the"
    " usual one; lower case, punycode, no user, no path, no slash or dot at the end"
)


@dataclass(frozen=True)
class Origins:
    """The origins whose pages may report; if there are none, no page may.

    Raises ParameterError for text that no browser sends as an origin.
    """

    listed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for origin in self.listed:
            if origin in _OF_ANYONE or not _is_origin(origin):
                raise ParameterError("origins", f"{origin!r} {_OF_ANYONE.get(origin, _RIGHT)}")

    @classmethod
    def read(cls, given: object, source: str) -> Self:
        """Read a list, or text with commas; raise ParameterError for anything else."""
        parts = given.split(",") if isinstance(given, str) else given
        if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
            raise ParameterError(source, 'not a list of origins, such as ["https://app.example"]')
        try:
            return cls(tuple(dict.fromkeys(part.strip() for part in parts if part.strip())))
        except ParameterError as error:
            raise ParameterError(source, error.problem) from None

    def admit(self, origin: str | None) -> bool:
        """Return whether a page sends a request with this Origin; None if there is no Origin.

        Raises Problem for a page that is not listed. Several Origins, joined by commas by the server, are refused.
        """
        if origin is None:
            return False
        if origin not in self._shared:
            raise Problem(Kind.ORIGIN, "Origin: not listed in the collector's setting origins; nothing was read")
        return True

    def headers(self, origin: str | None) -> Headers:
        """Return the headers that let a listed page read an answer, and keep caches from giving it to other pages."""
        if origin is None:
            return _VARY if self.listed else ()
        return self._shared.get(origin, _VARY)

    def __str__(self) -> str:
        return ", ".join(self.listed)

    @cached_property
    def _shared(self) -> Mapping[str, Headers]:
        return {one: (("Access-Control-Allow-Origin", one), _READS, *_VARY) for one in self.listed}


NO_ORIGINS = Origins()
"""No page may report."""


def _is_origin(text: str) -> bool:
    """Return whether a browser could send this text as the origin of a page, in exactly this form.

    That is the serialization of an origin in the HTML standard, with the hosts of the URL standard: names in ASCII,
    addresses in their shortest form.
    """
    match = _ORIGIN.fullmatch(text)
    if match is None:
        return False
    scheme, host, port = match.groups()
    if port is not None and (int(port) > 65_535 or port == _DEFAULT_PORTS.get(scheme)):
        return False
    is_address = host.startswith("[") or _NUMBER.fullmatch(host.rpartition(".")[2]) is not None
    return _is_shortest(host.strip("[]")) if is_address else all(host.split("."))


def _is_shortest(address: str) -> bool:
    try:
        return str(ipaddress.ip_address(address)) == address
    except ValueError:
        return False
