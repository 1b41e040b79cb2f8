"""One HTTP exchange with a peer that may be hostile: a request goes out, the head of the answer comes in.

The body of an answer is never read: its status and one field of its head are all that counts. One deadline holds for
everything, from the look-up of the name to the last line of the head. What comes in is bounded in bytes (those of TLS
included), in lines and in interim answers, whatever lengths it declares. So a peer that says a byte a second, or says
no end of headers, costs a connection, a few seconds and less than a megabyte.

This is not ``http.client``: that has no deadline, follows lengths that the peer declares, and takes 2 MiB to import.

AnswerError    what came back is no HTTP, or more than an answer may be
"""

import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from ssl import SSLObject

__all__ = ["AnswerError", "Deadline", "Stream", "connect", "exchange"]

_MOST_RECEIVED = 1 << 17
"""Bytes on the wire, with TLS: certificates take a few thousand."""

_MOST_OF_HEADS = 1 << 15
_MOST_FIELDS = 100
_MOST_HEADS = 10
"""The answer and the interim ones before it ("100 Continue")."""

_MOST_ADDRESSES = 8
_PIECE = 4096

T = TypeVar("T")


class AnswerError(ConnectionError):
    """What came back is no HTTP, or more than an answer may be. The message is ours and quotes nothing of it."""


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


class Stream(Protocol):
    """Bytes to and from a peer. All methods raise OSError; TimeoutError once the deadline is over."""

    def send(self, data: bytes) -> None:
        """Send all of ``data``."""

    def receive(self) -> bytes:
        """Return some bytes, or none at the end."""

    def close(self) -> None:
        """Close the connection, at once."""


class _Plain:
    """A stream over a connected socket."""

    def __init__(self, peer: socket.socket, deadline: Deadline) -> None:
        self._peer = peer
        self._deadline = deadline
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
        if self._received > _MOST_RECEIVED:
            raise AnswerError(f"the answer is longer than {_MOST_RECEIVED:,} bytes")
        return piece

    def close(self) -> None:
        self._peer.close()


class _Tls:
    """TLS over another stream, whose deadline and bounds hold for the handshake, too."""

    def __init__(self, stream: Stream, host: str) -> None:
        import ssl  # noqa: PLC0415 - 2 MiB, which an endpoint without TLS does not pay

        context = ssl.create_default_context()
        context.set_alpn_protocols(["http/1.1"])
        self._stream = stream
        self._wants_more: type[Exception] = ssl.SSLWantReadError
        self._ended: tuple[type[Exception], ...] = (ssl.SSLEOFError, ssl.SSLZeroReturnError)
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        # as bytes: for a str the module loads the tables of international names
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
        """Call until it has enough of what the peer sends, and send what it has to say."""
        while True:
            try:
                result = call()
            except self._wants_more:
                self._say()
                self._hear()
            else:
                self._say()
                return result

    def _say(self) -> None:
        if self._out.pending:
            self._stream.send(self._out.read())

    def _hear(self) -> None:
        if piece := self._stream.receive():
            self._in.write(piece)
        else:
            self._in.write_eof()


def connect(host: str, port: int, deadline: Deadline, *, secure: bool) -> Stream:
    """Return a stream to the first address of ``host`` that answers, by TLS if ``secure``; raise OSError.

    ``host`` is ASCII. A look-up cannot be interrupted: if it takes longer than the deadline, the deadline is over then.
    """
    plain = _Plain(_connected(host, port, deadline), deadline)
    if not secure:
        return plain
    try:
        return _Tls(plain, host.partition("%")[0])
    except BaseException:
        plain.close()
        raise


def _connected(host: str, port: int, deadline: Deadline) -> socket.socket:
    """Return a connected socket. Each address has its share of the time: the first may be a black hole."""
    found = socket.getaddrinfo(host.encode("ascii"), port, type=socket.SOCK_STREAM)[:_MOST_ADDRESSES]
    failure = OSError("the name has no address")
    for number, (family, kind, protocol, _, address) in enumerate(found):
        share = deadline.left() / (len(found) - number)
        try:
            return _dialled(socket.socket(family, kind, protocol), address, share)
        except OSError as error:
            failure = error
    raise failure


def _dialled(peer: socket.socket, address: tuple[object, ...], seconds: float) -> socket.socket:
    try:
        peer.settimeout(seconds)
        peer.connect(address)
    except BaseException:
        peer.close()
        raise
    return peer


def exchange(stream: Stream, request: bytes, field: bytes) -> tuple[int, bytes | None]:
    """Send a request; return the status of the answer, and the first field of that name (in small letters), if any.

    A peer may answer, and hang up, before it has the whole request: that is its answer, too.
    """
    broken: OSError | None = None
    try:
        stream.send(request)
    except ConnectionError as error:
        broken = error
    try:
        return _answer(_Lines(stream), field)
    except OSError as error:
        raise broken or error from None


def _answer(lines: "_Lines", field: bytes) -> tuple[int, bytes | None]:
    for _ in range(_MOST_HEADS):
        status = _status(lines.next())
        value = _field(lines, field)
        if status >= 200 or status == 101:  # "Switching Protocols" is the last that is said in this one
            return status, value
    raise AnswerError("the answer is put off and put off again")


def _status(line: bytes) -> int:
    """Return the status of a status line: "HTTP/1.1 202 Accepted"."""
    version, _, rest = line.partition(b" ")
    code = rest.partition(b" ")[0]
    if version not in {b"HTTP/1.0", b"HTTP/1.1"} or len(code) != 3 or not code.isdigit() or not b"1" <= code < b"6":
        raise AnswerError("the answer is not HTTP")
    return int(code)


def _field(lines: "_Lines", name: bytes) -> bytes | None:
    """Read the rest of a head, and return the first field of that name."""
    value: bytes | None = None
    for _ in range(_MOST_FIELDS + 1):
        line = lines.next()
        if not line:
            return value
        key, colon, content = line.partition(b":")
        if colon and value is None and key.lower() == name:
            value = content.strip(b" \t")
    raise AnswerError(f"the answer has more than {_MOST_FIELDS} header fields")


class _Lines:
    """The lines that a peer sends, as long as they are not too many bytes in all."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._buffer = bytearray()
        self._taken = 0

    def next(self) -> bytes:
        """Return the next line without its end."""
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            if self._taken + searched > _MOST_OF_HEADS:
                raise AnswerError(f"the head of the answer is longer than {_MOST_OF_HEADS:,} bytes")
            self._fill()
        line = bytes(self._buffer[:end]).removesuffix(b"\r")
        del self._buffer[: end + 1]
        self._taken += end + 1
        return line

    def _fill(self) -> None:
        piece = self._stream.receive()
        if not piece:
            raise AnswerError("the connection was closed before the answer was complete")
        self._buffer += piece
