"""Transport: how a body reaches the collector. One method, so that tests and simulations can bring their own.

Each upload has a connection of its own and the same fixed headers, so that nothing but the network address
joins two uploads of a device. Redirects are answers like any other and are never followed. Of the answer
only the status and Retry-After are looked at: nothing in it can change what the device draws.
"""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from dither_shared.errors import ParameterError

if TYPE_CHECKING:
    from http.client import HTTPConnection

__all__ = ["Answer", "HttpTransport", "Transport"]

_HEADERS = {"Content-Type": "application/json", "User-Agent": "dither", "Connection": "close"}
_TIMEOUT = 10.0
_MOST_OF_AN_ANSWER = 4096


@dataclass(frozen=True, slots=True)
class Answer:
    """What the collector said: an HTTP status, and in how many seconds to come back, if it said so."""

    status: int
    retry_after: float | None = None


class Transport(Protocol):
    """Carries one body to the collector; may be shared by many clients and threads at once."""

    def send(self, body: bytes) -> Answer:
        """Send ``body`` and return the answer; raise OSError if there is none."""


class HttpTransport:
    """POSTs to ``<endpoint>/v1/reports`` over HTTP or HTTPS; ``endpoint`` may have a path. Holds no connection.

    ``token`` goes along with each upload, for a collector that asks for one. It must be the app's, the same for all its
    users: one of a device's own would be its name. Raises ParameterError for an endpoint or a token that cannot be.
    """

    def __init__(self, endpoint: str, timeout: float = _TIMEOUT, token: str | None = None) -> None:
        try:
            parts = urlsplit(endpoint)
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise ParameterError("endpoint", f"{endpoint!r} is not a URL: {error}") from None
        if parts.scheme not in {"http", "https"} or not host:
            raise ParameterError("endpoint", f"{endpoint!r} is not an http or https URL")
        if parts.query or parts.fragment or parts.username is not None:
            raise ParameterError(
                "endpoint", "has a query, a fragment or a user name; only host, port and path are used"
            )
        self._secure = parts.scheme == "https"
        self._host = host
        self._port = port
        self._path = f"{parts.path.rstrip('/')}/v1/reports"
        self._timeout = timeout
        self._headers = _HEADERS if token is None else _HEADERS | {"Authorization": f"Bearer {_checked(token)}"}

    def send(self, body: bytes) -> Answer:
        """Send ``body`` over a fresh connection and return the answer; raise OSError if there is none."""
        from http.client import HTTPException  # noqa: PLC0415 - half of what an import would cost, and rarely needed

        connection = self._connection()
        try:
            connection.request("POST", self._path, body, self._headers)
            response = connection.getresponse()
            try:
                answer = Answer(response.status, _seconds(response.getheader("Retry-After")))
                response.read(_MOST_OF_AN_ANSWER)
            finally:
                response.close()
        except HTTPException as error:
            raise ConnectionError(f"no HTTP answer: {type(error).__name__}") from None
        finally:
            connection.close()
        return answer

    def _connection(self) -> "HTTPConnection":
        from http.client import HTTPConnection, HTTPSConnection  # noqa: PLC0415 - see above

        kind = HTTPSConnection if self._secure else HTTPConnection
        return kind(self._host, self._port, timeout=self._timeout)


def _checked(token: str) -> str:
    """Return ``token``; raise ParameterError, which does not quote it, unless it can stand in a header."""
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise ParameterError("token", "has other characters than letters, digits and signs, or none at all")
    return token


def _seconds(retry_after: str | None) -> float | None:
    """Return a Retry-After in either form, a number or an HTTP date, as seconds from now; None if it is neither."""
    if retry_after is None:
        return None
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - see above

    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None
