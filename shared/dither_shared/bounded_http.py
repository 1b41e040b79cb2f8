"""One HTTP exchange with a peer that may be hostile, bounded in time, bytes, lines and interim answers.

One deadline covers everything from the look-up of the name to the end of the answer. The bytes that come in are bounded
(those of TLS included), whatever lengths the peer declares, and a body is read only up to the caller's limit. So a peer
that sends a byte a second, or headers without end, costs one connection, a few seconds and less than a megabyte.

This is not ``http.client``, which has no deadline, follows the lengths that the peer declares, and takes 2 MiB to
import.

AnswerError    the answer is not HTTP, or is longer than an answer may be
"""

import socket
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from .light import above_standard

if TYPE_CHECKING:
    from ssl import SSLObject

_MOST_RECEIVED = 1 << 17
"""Bytes on the wire, with TLS: certificates take a few thousand."""

_MOST_OF_HEADS = 1 << 15
_MOST_FIELDS = 100
_MOST_HEADS = 10
"""The answer and the interim ones before it ("100 Continue")."""

_MOST_ADDRESSES = 8
_PIECE = 4096
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_HEX = frozenset(b"0123456789abcdefABCDEF")

T = TypeVar("T")


class AnswerError(ConnectionError):
    """The answer is not HTTP, or is longer than an answer may be. The message quotes nothing from it."""


class Deadline:
    """A moment ``seconds`` from now."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = clock() + seconds

    def left(self) -> float:
        """Return how many seconds are left; raise TimeoutError if none are."""
        left = self._end - self._clock()
        if left <= 0:
            raise TimeoutError
        return left


class Address(NamedTuple):
    """One address of a host; ``name`` is what ``socket.connect`` takes."""

    family: int
    kind: int
    protocol: int
    name: tuple[object, ...]

    @property
    def host(self) -> str:
        """The address itself, such as 127.0.0.1."""
        return str(self.name[0])


class HttpAnswer(NamedTuple):
    """An answer: its status, the first field of each name (in small letters), and its body as far as it was read."""

    status: int
    fields: Mapping[str, str]
    body: bytes = b""


class Stream(Protocol):
    """Bytes to and from a peer. All methods raise OSError; TimeoutError once the deadline is over."""

    def send(self, data: bytes) -> None:
        """Send all of ``data``."""

    def receive(self) -> bytes:
        """Return some bytes, or none at the end."""

    def close(self) -> None:
        """Close the connection at once."""


class _Plain:
    """A stream over a connected socket."""

    def __init__(self, peer: socket.socket, deadline: Deadline, most: int) -> None:
        self._peer = peer
        self._deadline = deadline
        self._most = most
        self._received = 0

    def send(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            self._peer.settimeout(self._deadline.left())
            rest = rest[self._peer.send(rest) :]

    def receive(self) -> bytes:
        self._peer.settimeout(self._deadline.left())
        piece = self._peer.recv(_PIECE)
        self._received += len(piece)
        if self._received > self._most:
            raise AnswerError(f"the answer is longer than {self._most:,} bytes")
        return piece

    def close(self) -> None:
        self._peer.close()


class _Tls:
    """TLS over another stream, whose deadline and bounds cover the handshake, too."""

    def __init__(self, stream: Stream, host: str) -> None:
        import ssl  # noqa: PLC0415 - 2 MiB, which an endpoint without TLS does not pay

        context = ssl.create_default_context()
        context.set_alpn_protocols(["http/1.1"])
        self._stream = stream
        self._wants_more: type[Exception] = ssl.SSLWantReadError
        self._ended: tuple[type[Exception], ...] = (ssl.SSLEOFError, ssl.SSLZeroReturnError)
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        # bytes, because for a str the module loads the tables of international names
        self._tls: SSLObject = context.wrap_bio(self._in, self._out, server_hostname=host.encode("ascii"))
        self._run(self._tls.do_handshake)

    def send(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[self._run(lambda: self._tls.write(rest)) :]  # noqa: B023 - it is called at once

    def receive(self) -> bytes:
        try:
            return self._run(lambda: self._tls.read(_PIECE))
        except self._ended:
            return b""

    def close(self) -> None:
        self._stream.close()

    def _run(self, call: Callable[[], T]) -> T:
        """Call until the peer has sent enough for it, and pass on what it wants to send."""
        while True:
            try:
                result = call()
            except self._wants_more:
                self._flush()
                self._fill()
            else:
                self._flush()
                return result

    def _flush(self) -> None:
        if self._out.pending:
            self._stream.send(self._out.read())

    def _fill(self) -> None:
        if piece := self._stream.receive():
            self._in.write(piece)
        else:
            self._in.write_eof()


def resolve(host: str, port: int) -> list[Address]:
    """Return the addresses of a host, whose name is ASCII; raise OSError if there is none.

    The system's resolver cannot be interrupted: if it takes longer than a deadline, that is over when it returns.
    """
    found = socket.getaddrinfo(host.encode("ascii"), port, type=socket.SOCK_STREAM)[:_MOST_ADDRESSES]
    if not found:
        raise OSError("the name has no address")
    return [Address(family, kind, protocol, name) for family, kind, protocol, _, name in found]


def dial(addresses: list[Address], deadline: Deadline, most: int = _MOST_RECEIVED) -> tuple[Stream, Address]:
    """Return a stream to the first address that answers, and that address; raise OSError if none does.

    Each address has its share of the time, because the first may be a black hole. ``most`` bounds the bytes that come
    in.
    """
    failure = OSError("there is no address")
    for number, address in enumerate(addresses):
        share = deadline.left() / (len(addresses) - number)
        try:
            return _Plain(_connected(address, share), deadline, most), address
        except OSError as error:
            failure = error
    raise failure


def _connected(address: Address, seconds: float) -> socket.socket:
    peer = socket.socket(address.family, address.kind, address.protocol)
    if peer.fileno() <= 2:  # the program has closed its standard streams; what it prints must not be sent
        peer = socket.socket(address.family, address.kind, address.protocol, above_standard(peer.detach()))
    try:
        peer.settimeout(seconds)
        peer.connect(address.name)
    except BaseException:
        peer.close()
        raise
    return peer


def secured(stream: Stream, host: str) -> Stream:
    """Return a stream over TLS with a peer whose certificate names ``host``; raise OSError, and close ``stream``."""
    try:
        return _Tls(stream, host.partition("%")[0])
    except BaseException:
        stream.close()
        raise


def connect(host: str, port: int, deadline: Deadline, *, secure: bool) -> Stream:
    """Return a stream to the first address of ``host`` that answers, over TLS if ``secure``; raise OSError."""
    stream, _ = dial(resolve(host, port), deadline)
    return secured(stream, host) if secure else stream


def tunnel(proxy: tuple[str, int], host: str, port: int, deadline: Deadline) -> Stream:
    """Return a stream over TLS to ``host`` through an HTTP proxy (CONNECT, RFC 9110, section 9.3.6); raise OSError.

    The proxy learns the name and port of ``host``, and carries what it cannot read.
    """
    try:
        stream = connect(*proxy, deadline, secure=False)
    except OSError as error:
        raise AnswerError("the proxy cannot be reached") from error
    try:
        authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        answer = exchange(stream, request("CONNECT", authority, {"Host": authority}))
        if not 200 <= answer.status < 300:
            raise AnswerError(f"the proxy answered {answer.status}")
    except BaseException:
        stream.close()
        raise
    return secured(stream, host)


def request(method: str, path: str, fields: Mapping[str, str], body: bytes = b"") -> bytes:
    """Return the bytes of a request; path and fields are ASCII."""
    head = "\r\n".join([f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), "", ""])
    return head.encode("ascii") + body


def exchange(stream: Stream, sent: bytes, most_of_body: int = 0) -> HttpAnswer:
    """Send a request; return the answer, with at most ``most_of_body`` bytes of its body, or raise OSError.

    A peer may answer, and hang up, before it has the whole request: that is its answer, too.
    """
    broken: OSError | None = None
    try:
        stream.send(sent)
    except ConnectionError as error:
        broken = error
    try:
        reader = _Reader(stream)
        status, fields = _head(reader)
        return HttpAnswer(status, fields, _body(reader, fields, most_of_body) if most_of_body else b"")
    except OSError as error:
        raise broken or error from None


def _head(reader: "_Reader") -> tuple[int, dict[str, str]]:
    for _ in range(_MOST_HEADS):
        status, fields = _status(reader.line()), _fields(reader)
        if status >= 200 or status == 101:  # after "Switching Protocols" no further HTTP/1 answer comes
            return status, fields
    raise AnswerError("the server sends only interim answers")


def _status(line: bytes) -> int:
    """Return the status of a status line: "HTTP/1.1 202 Accepted"."""
    version, _, rest = line.partition(b" ")
    code = rest.partition(b" ")[0]
    if version not in {b"HTTP/1.0", b"HTTP/1.1"} or len(code) != 3 or not code.isdigit() or not b"1" <= code < b"6":
        raise AnswerError("the answer is not HTTP")
    return int(code)


def _fields(reader: "_Reader") -> dict[str, str]:
    """Read the rest of a head."""
    fields: dict[str, str] = {}
    for _ in range(_MOST_FIELDS + 1):
        line = reader.line()
        if not line:
            return fields
        name, colon, content = line.decode("latin-1").partition(":")
        if colon:
            fields.setdefault(name.lower(), content.strip(" \t"))
    raise AnswerError(f"the answer has more than {_MOST_FIELDS} header fields")


def _body(reader: "_Reader", fields: Mapping[str, str], most: int) -> bytes:
    """Return up to ``most`` bytes of a body, in chunks, of a declared length, or up to the end of the connection."""
    if "chunked" in fields.get("transfer-encoding", "").lower():
        return _chunks(reader, most)
    length = fields.get("content-length")
    if length is None:
        return reader.rest(most)
    if not (length.isascii() and length.isdigit()):
        raise AnswerError("the answer has an invalid Content-Length")
    return reader.take(min(most, int(length[:18])))


def _chunks(reader: "_Reader", most: int) -> bytes:
    body = bytearray()
    while len(body) < most:
        size = reader.line().partition(b";")[0].strip()
        if not 0 < len(size) <= 16 or not _HEX.issuperset(size):
            raise AnswerError("the answer has an invalid chunk size")
        if not int(size, 16):
            break
        body += reader.take(min(most - len(body), int(size, 16)))
        if len(body) < most:
            reader.line()
    return bytes(body)


class _Reader:
    """Takes lines and bytes from what a peer sends; all lines together are bounded."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._buffer = bytearray()
        self._lines_left = _MOST_OF_HEADS

    def line(self) -> bytes:
        """Return the next line without its end."""
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            if searched > self._lines_left:
                raise AnswerError(f"the head of the answer is longer than {_MOST_OF_HEADS:,} bytes")
            self._fill()
        self._lines_left -= end + 1
        return self.take(end + 1)[:-1].removesuffix(b"\r")

    def take(self, count: int) -> bytes:
        """Return the next ``count`` bytes."""
        while len(self._buffer) < count:
            self._fill()
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    def rest(self, most: int) -> bytes:
        """Return what comes up to the end of the connection, at most ``most`` bytes."""
        while len(self._buffer) < most and (piece := self._stream.receive()):
            self._buffer += piece
        return bytes(self._buffer[:most])

    def _fill(self) -> None:
        piece = self._stream.receive()
        if not piece:
            raise AnswerError("the connection was closed before the answer was complete")
        self._buffer += piece


def seconds_of(retry_after: str | None) -> float | None:
    """Return a Retry-After, a number or an HTTP date, as seconds from now; None if it is neither."""
    if retry_after is None:
        return None
    if retry_after.isascii() and retry_after.isdigit():
        return float(retry_after[:9])
    try:
        return max(0.0, _moment(retry_after) - time.time())
    except (ValueError, OverflowError):
        return None


def _moment(text: str) -> float:
    """Return the Unix time of "Sun, 06 Nov 1994 08:49:37 GMT"; raise ValueError for anything else."""
    _, day, month, year, clock, zone = text.split()
    hour, minute, second = clock.split(":")
    if zone != "GMT":
        raise ValueError(zone)
    numbers = (int(year), _MONTHS.index(month) + 1, int(day), int(hour), int(minute), min(int(second), 59))
    return datetime(*numbers, tzinfo=UTC).timestamp()
