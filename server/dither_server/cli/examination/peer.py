"""A collector as it is reached over HTTP."""

import http.client
import json
import ssl
from contextlib import closing
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from dither_shared import DitherError, ParameterError

_PATIENCE = 10.0
"""Seconds for a connection, and for each part of an answer."""

_LONGEST = 1 << 16
"""Bytes of an answer that are read."""


class UnreachableError(DitherError):
    """The collector cannot be reached."""


class Reply(NamedTuple):
    """An answer: its status, headers and body."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    def json(self) -> dict[str, Any]:
        """Return the body's object; {} if it is none."""
        try:
            parsed = json.loads(self.body)
        except ValueError:
            return {}
        return parsed if isinstance(parsed, dict) else {}


class Peer:
    """A collector at a URL, asked with a token if there is one. No redirect is followed: it might take the token."""

    def __init__(self, url: str, token: str | None = None) -> None:
        """Take the apps' endpoint; raise ParameterError if it is none."""
        try:
            parts = urlsplit(url)
            self.host, self._port = parts.hostname or "", parts.port
        except ValueError:
            raise ParameterError("--url", "not a URL, such as https://telemetry.example.org") from None
        beyond = parts.query or parts.fragment or "@" in parts.netloc
        if parts.scheme not in {"http", "https"} or not self.host or beyond:
            raise ParameterError("--url", "not the URL of a collector, such as https://telemetry.example.org")
        if token is not None and not (token.isascii() and token.isprintable()):
            raise ParameterError("--token", "not a token: it has characters that none has")
        self.is_encrypted = parts.scheme == "https"
        self.has_token = token is not None
        self._base = parts.path.rstrip("/")
        self._headers = {"Accept": "application/json", "User-Agent": "dither-server doctor"}
        self._secret = {} if token is None else {"Authorization": f"Bearer {token}"}

    def get(self, *path: str, identified: bool = False) -> Reply:
        """Ask for a path, given in parts, with the token if ``identified``. Raises UnreachableError."""
        target = self._base + "/" + "/".join(quote(part, safe="") for part in path)
        try:
            with closing(self._connection()) as connection:
                connection.request("GET", target, headers=self._headers | (self._secret if identified else {}))
                answer = connection.getresponse()
                return Reply(answer.status, answer.headers, answer.read(_LONGEST))
        except ssl.SSLCertVerificationError as error:
            raise UnreachableError(f"its certificate is not valid: {error.verify_message}") from None
        except (OSError, UnicodeError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise UnreachableError(f"it cannot be reached: {reason}") from None

    def _connection(self) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self.is_encrypted else http.client.HTTPConnection
        return kind(self.host, self._port, timeout=_PATIENCE)
