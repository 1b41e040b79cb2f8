"""Parse bytes into requests, within bounds while they come in.

The parser is llhttp, the one of Node.js, in its strict mode. Refused besides are a second Host, lengths and codings
that could be read in two ways, and whatever takes more room than a request may.
"""

from http import HTTPStatus

import httptools

from ..ingest.body import is_length
from .request import Request, path_of

__all__ = ["Parser", "Room"]

_HEAD = 1 << 15
"""Bytes of a request's line and headers."""

_VERSIONS = frozenset({"1.0", "1.1"})
_HOST, _LENGTH, _CODING, _EXPECT = b"host", b"content-length", b"transfer-encoding", b"expect"
_ONCE = frozenset({_HOST, _LENGTH, _CODING})


class Room:
    """The bytes of bodies that all connections may hold at a time, and that one request may have."""

    def __init__(self, limit: int, body: int) -> None:
        self.limit = limit
        self.body = body
        self.taken = 0


class Parser:
    """The requests of one connection, and at their end perhaps the status with which all that follows is refused."""

    def __init__(self, room: Room) -> None:
        self.found: list[Request | HTTPStatus] = []
        """What has come in and is not fetched yet."""
        self.begun = 0
        """How many requests have begun."""
        self.is_partial = False
        """Whether one has begun and not ended."""
        self.is_ended = False
        """Whether nothing more is read."""
        self._expects = False
        self._room = room
        self._parser = httptools.HttpRequestParser(self)

    def feed(self, data: bytes) -> None:
        """Read on."""
        if self.is_ended:
            return
        before = self.begun
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.is_ended = True  # what follows is of another protocol, which nobody speaks here
        except httptools.HttpParserError:
            self._refuse(HTTPStatus.BAD_REQUEST)
        if self.is_partial and before == self.begun:  # what came together with its beginning is not much
            self._size += len(data)
            if self._size > self._most:
                self._refuse(
                    HTTPStatus.REQUEST_ENTITY_TOO_LARGE if self._in_body else HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
                )

    def expects(self) -> bool:
        """Return, once for each request, whether its peer sends the body only when it is told to go on."""
        expects, self._expects = self.is_partial and self._expects, False
        return expects

    def close(self) -> None:
        """Read no more, and let go of what was held."""
        self.is_ended = True
        if self.is_partial:
            self._room.taken -= self._length
            self.is_partial = False

    def _refuse(self, status: HTTPStatus) -> None:
        if not self.is_ended:
            self.close()
            self.found.append(status)

    def on_message_begin(self) -> None:
        """Begin a request."""
        self.begun += 1
        self.is_partial = True
        self._in_body = self._expects = False
        self._size = self._length = 0
        self._most = _HEAD
        self._target = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._body: list[bytes] = []

    def on_url(self, part: bytes) -> None:
        """Take a part of the target."""
        self._target += part

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; what comes after the body is none."""
        if not self._in_body:
            self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Judge the head before a body is read."""
        self._in_body = True
        self._most = _HEAD + 2 * self._room.body  # chunks may be small, but not all of a byte
        given: dict[bytes, bytes] = {}
        for name, value in self._headers:
            lower = name.lower()
            if lower in given and lower in _ONCE:
                return self._refuse(HTTPStatus.BAD_REQUEST)
            given[lower] = value
        self._version = self._parser.get_http_version()
        self._is_chunked = _CODING in given
        self._expects = given.get(_EXPECT, b"").lower() == b"100-continue"
        if not self._is_clear(given.get(_LENGTH), given.get(_CODING)):
            return self._refuse(HTTPStatus.BAD_REQUEST)
        if int(given.get(_LENGTH, 0)) > self._room.body:
            return self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        return None

    def _is_clear(self, length: bytes | None, coding: bytes | None) -> bool:
        """Return whether there is one way to read the request."""
        if self._version not in _VERSIONS or path_of(self._target) is None:
            return False
        if coding is not None and (length is not None or coding.strip().lower() != b"chunked"):
            return False
        return length is None or is_length(length.decode("latin-1"))

    def on_body(self, part: bytes) -> None:
        """Take a part of the body."""
        if self.is_ended:
            return
        self._body.append(part)
        self._length += len(part)
        self._room.taken += len(part)
        if self._length > self._room.body:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        elif self._room.taken > self._room.limit:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE)

    def on_message_complete(self) -> None:
        """Take the request."""
        if self.is_ended:
            return
        self.is_partial = False
        self.found.append(
            Request(
                self._parser.get_method().decode("ascii"),
                self._target,
                self._version,
                self._headers,
                b"".join(self._body),
                self._is_chunked,
                self._parser.should_keep_alive() and not self._parser.should_upgrade(),
            )
        )

    @property
    def refused(self) -> tuple[str, bytes, str | None]:
        """The method, target and Origin, as far as they are known, of the request that is refused."""
        if not self.begun:
            return "", b"", None
        origins = [value.strip(b" \t").decode("latin-1") for name, value in self._headers if name.lower() == b"origin"]
        return (self._parser.get_method() or b"").decode("latin-1"), self._target, ", ".join(origins) or None
