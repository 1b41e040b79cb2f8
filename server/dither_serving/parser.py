"""Parse the bytes of a connection into requests, one at a time, within bounds while they arrive.

llhttp, the parser of Node.js, checks every request in its strict mode. It cannot be paused, so it is given a complete
head or a part of one body at a time, and what follows the request stays here unparsed. Also refused are a line of
another protocol, a second Host, and lengths and codings that could be read in two ways. A chunked request is the last
of its connection, because only llhttp knows where it ends.
"""

import re
from http import HTTPStatus

import httptools

from .request import LONGEST_LENGTH, Request, path_of

_HEAD = 1 << 15
"""Maximum bytes of a request's line and headers, the empty line included."""

_HEADERS = 100
"""Maximum headers: each takes several times its bytes as objects, and time to parse."""

_READ = 1 << 14
"""Maximum bytes of a read that may contain the beginning of another request."""

LARGEST_READ = 1 << 18
"""Maximum bytes of a read that belongs to a body."""

_SPACE = b" "[0]
_START = re.compile(rb"[A-Z-]{1,20}(?: |\Z)")
_VERSIONS = {b"HTTP/1.1": "1.1", b"HTTP/1.0": "1.0"}
_HOST, _LENGTH, _CODING, _EXPECT = b"host", b"content-length", b"transfer-encoding", b"expect"
_JUDGED = frozenset({_HOST, _LENGTH, _CODING, _EXPECT})
"""Headers that may be given once."""


class _RefusedError(Exception):
    """Stops llhttp inside a feed."""


class Parser:
    """The unparsed bytes of one connection, and the request that they begin."""

    def __init__(self, body_limit: int) -> None:
        self.is_ended = False
        """Whether all further bytes are dropped."""
        self._body_limit = body_limit
        self._unparsed = b""
        self._parser = httptools.HttpRequestParser(self)
        self.begin()

    def begin(self) -> None:
        """Forget the request that was answered, and expect the line of another."""
        self._method, self._target, self._version = "", b"", ""
        self._headers: list[tuple[bytes, bytes]] = []
        self._body: bytes | bytearray = b""
        self._searched = self._head = self._fed = self._length = 0
        self._is_head_read = self._is_chunked = self._expects = False
        self._request: Request | None = None
        self._status: HTTPStatus | None = None

    @property
    def held(self) -> int:
        """The bytes held: unparsed, and of the request that is being read or in work.

        A head counts three times: its headers are held again in the environment of the app, and all of them as objects.
        """
        return len(self._unparsed) + 3 * self._head + len(self._body)

    @property
    def is_partial(self) -> bool:
        """Whether a request has begun that was not returned yet."""
        return self._unparsed != b"" or (self._is_head_read and self._request is None)

    @property
    def refused(self) -> tuple[str, bytes, str | None]:
        """The method, target and Origin, as far as they are known, of the request that is refused."""
        origins = [value.strip(b" \t").decode("latin-1") for name, value in self._headers if name.lower() == b"origin"]
        return self._method, self._target, ", ".join(origins) or None

    @property
    def wanted(self) -> int:
        """The maximum bytes to read: the rest of the body, or few enough to hold beside a request in work."""
        if self._length <= _READ:
            return _READ
        return max(_READ, min(self._length - len(self._body), LARGEST_READ))

    def receive(self, data: bytes | memoryview) -> None:
        """Hold bytes that have arrived; drop them after the end."""
        if not self.is_ended:
            self._unparsed = self._unparsed + data if self._unparsed else bytes(data)

    def next(self) -> Request | HTTPStatus | None:
        """Return the next request if it is complete, or the status to refuse it with; None while bytes are missing.

        ``begin`` must be called before the following one.
        """
        if not self._unparsed:
            return None
        try:
            if not self._is_head_read:
                self._read_head()
            if self._unparsed and self._is_head_read and self._request is None:
                self._read_body()
        except _RefusedError:
            self.is_ended, self._unparsed, self._body = True, b"", b""
            return self._status
        return self._request

    def expects(self) -> bool:
        """Return, once for each request, whether its peer waits for 100 Continue before it sends the body."""
        expects, self._expects = self._expects and not self._body, False
        return expects

    def close(self) -> None:
        """Free what is held, and drop whatever else arrives."""
        self.is_ended = True
        self.begin()
        self._unparsed = b""

    def _refuse(self, status: HTTPStatus) -> None:
        self._status = status
        raise _RefusedError

    def _read_head(self) -> None:
        """Parse the line and the headers once they are whole. Another protocol is refused by its first bytes."""
        unparsed = self._unparsed
        if unparsed[0] < _SPACE and not self._searched:  # empty lines are allowed between requests
            unparsed = self._unparsed = unparsed.lstrip(b"\r\n")
            if not unparsed:
                return
        if not self._method:
            self._read_line()
        end = unparsed.find(b"\r\n\r\n", self._searched - 3 if self._searched > 3 else 0, _HEAD)
        if end < 0:
            self._searched = len(unparsed)
            if self._searched >= _HEAD:
                self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
            return
        self._head = end + 4
        self._unparsed = unparsed[end + 4 :]
        self._feed(unparsed[: end + 4])
        if not self._is_head_read:
            self._refuse(HTTPStatus.BAD_REQUEST)

    def _read_line(self) -> None:
        """Read the line once it is complete; until then, refuse what does not begin like one."""
        end = self._unparsed.find(b"\n", self._searched)
        if end < 0:
            if not _START.match(self._unparsed):
                self._refuse(HTTPStatus.BAD_REQUEST)
            return
        method, _, rest = self._unparsed[: end - 1].partition(b" ")
        target, _, protocol = rest.partition(b" ")
        if protocol not in _VERSIONS:  # llhttp would take RTSP and ICE; it judges the rest of the line
            self._refuse(HTTPStatus.BAD_REQUEST)
        self._method, self._target, self._version = method.decode("latin-1"), target, _VERSIONS[protocol]

    def _read_body(self) -> None:
        """Parse at most the rest of this request's body."""
        missing = len(self._unparsed) if self._is_chunked else self._length - len(self._body)
        part, self._unparsed = self._unparsed[:missing], self._unparsed[missing:]
        self._fed += len(part)
        self._feed(part)
        if self._request is None and self._fed > _HEAD + 2 * self._body_limit:  # chunks of a byte, or endless trailers
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)

    def _feed(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # the request is complete, and the last: what follows belongs to a protocol that is not supported here
        except httptools.HttpParserError:
            if self._request is None or not self._is_chunked:  # otherwise it is about what follows the last request
                self._status = self._status or HTTPStatus.BAD_REQUEST
                raise _RefusedError from None

    def on_message_begin(self) -> None:
        """Stop where another request begins: within a head, llhttp and this module read the bytes differently."""
        if self._request is not None:
            self._refuse(HTTPStatus.BAD_REQUEST)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; trailers are dropped."""
        if self._is_head_read:
            return
        if len(self._headers) == _HEADERS:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Check the head before a body is read."""
        self._is_head_read = True
        fields: dict[bytes, bytes] = {}
        for name, value in self._headers:
            key = name.lower()
            if key not in _JUDGED:
                continue
            if key in fields:
                self._refuse(HTTPStatus.BAD_REQUEST)
            fields[key] = value
        length, coding = fields.get(_LENGTH), fields.get(_CODING)
        self._is_chunked = coding is not None
        if not self._target.startswith(b"/") and path_of(self._target) is None:
            self._refuse(HTTPStatus.BAD_REQUEST)
        if coding is not None and (length is not None or coding.strip().lower() != b"chunked"):
            self._refuse(HTTPStatus.BAD_REQUEST)
        if length is not None:
            if not length.isdigit() or len(length) > LONGEST_LENGTH:
                self._refuse(HTTPStatus.BAD_REQUEST)
            self._length = int(length)
            if self._length > self._body_limit:
                self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        if _EXPECT in fields:
            self._expects = fields[_EXPECT].lower() == b"100-continue" and self._version == "1.1"

    def on_body(self, part: bytes) -> None:
        """Take a part of the body."""
        if not self._body:
            self._body = part if len(part) == self._length else bytearray(part)
        else:
            self._body += part
        if len(self._body) > self._body_limit:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)

    def on_message_complete(self) -> None:
        """Take the request."""
        keeps_alive = self._parser.should_keep_alive() and not self._parser.should_upgrade() and not self._is_chunked
        self._body = body = bytes(self._body)
        self._request = Request(
            self._method, self._target, self._version, self._headers, body, self._is_chunked, keeps_alive
        )
