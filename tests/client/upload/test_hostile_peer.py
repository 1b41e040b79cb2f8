"""A collector that is hostile at its socket or within TLS costs seconds and less than a megabyte."""

import socket
import ssl
import threading
import tracemalloc

import pytest

import dither
from client.devices import Clock
from client.peers import OK, PATIENCE, Peer, replying_with, request_of, reset, serving
from dither.upload.transport import UnreachableError
from dither_shared.bounded_http import AnswerError, Deadline, connect, exchange

BUFFERS = 32_000_000
"""A generous bound on the unread bytes of a peer that the kernel holds."""


def send(peer: Peer, timeout: float = PATIENCE, body: bytes = b"{}") -> dither.Answer:
    return dither.HttpTransport(peer.endpoint, timeout).send(body)


@pytest.mark.parametrize(
    ("start", "piece", "why"),
    [
        (OK + b"Content-Length: 99999999999999999999\r\n\r\n", b"x" * 65536, ""),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"Trailer: endless\r\n" * 4096, ""),
        (OK + b"\r\n", b"x" * 65536, ""),
        (OK, b"X" * 65536, "head of the answer is longer"),  # one line of a gibibyte
        (OK, b"A: b\r\n" * 10_000, "header fields"),  # a hundred million fields
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 2000, "only interim answers"),
        (b"", b"\r\n" * 30_000, "not HTTP"),
    ],
)
def test_an_answer_without_an_end_is_not_read_on(start: bytes, piece: bytes, why: str) -> None:
    def handle(peer: Peer, connection: socket.socket) -> None:
        request_of(connection)
        connection.sendall(start)
        peer.pour(connection, piece, 1 << 30)

    with serving(handle) as peer:
        tracemalloc.start()
        try:
            if why:
                with pytest.raises(AnswerError, match=why):
                    send(peer)
            else:
                assert send(peer) == dither.Answer(202), "a body is not read"
            assert tracemalloc.get_traced_memory()[1] < 1 << 20
        finally:
            tracemalloc.stop()
    assert peer.bytes_sent < BUFFERS


@pytest.mark.parametrize("words", [OK + b"X-Slow: " + b"x" * 1000, b"HTTP/1.1 100 Continue\r\n\r\n", b"H"])
def test_a_byte_now_and_then_does_not_outlast_the_deadline(words: bytes, clock: Clock) -> None:
    gone = threading.Event()

    def handle(peer: Peer, connection: socket.socket) -> None:
        request_of(connection)
        peer.trickle(connection, words, gone, clock=clock)

    with serving(handle) as peer:
        with pytest.raises(TimeoutError):
            send(peer)
        gone.set()
    assert peer.bytes_sent >= PATIENCE


@pytest.mark.usefixtures("nearly_over")
@pytest.mark.parametrize("length", [2, BUFFERS])
def test_a_silent_peer_does_not_outlast_the_deadline(length: int) -> None:
    gone = threading.Event()
    with serving(lambda *_: gone.wait(PATIENCE)) as peer:
        with pytest.raises(TimeoutError):
            send(peer, body=bytes(length))
        gone.set()


def test_name_lookup_counts_against_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]

    def slow(*_: object, **__: object) -> list[object]:
        now[0] += 30
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 9))]

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    with pytest.raises(TimeoutError):
        connect("example.org", 80, Deadline(20, lambda: now[0]), secure=False)


def test_the_next_address_is_tried_before_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first address is a black hole: a listener with a full queue neither accepts nor refuses connections."""
    hole = socket.socket()
    hole.bind(("127.0.0.1", 0))
    hole.listen(0)
    callers = [socket.socket() for _ in range(8)]
    for caller in callers:
        caller.setblocking(False)
        caller.connect_ex(hole.getsockname())

    with serving(replying_with(OK + b"\r\n")) as peer:
        kind = (socket.AF_INET, socket.SOCK_STREAM, 6, "")
        addresses = [(*kind, hole.getsockname()), *[(*kind, ("127.0.0.1", peer.port))] * 7]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: addresses)
        assert send(peer, timeout=16.0) == dither.Answer(202)  # the black hole has an eighth of them
        monkeypatch.undo()
    for connection in (hole, *callers):
        connection.close()


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (b"HTTP/1.0 202 Accepted\r\n\r\n", dither.Answer(202)),
        (b"HTTP/1.1 202\r\n\r\n", dither.Answer(202)),
        (b"HTTP/1.1 202 Accepted\nRetry-After: 7\n\n", dither.Answer(202, 7)),
        (b"HTTP/1.1 503 Busy\r\nretry-AFTER:\t 30 \r\n\r\n", dither.Answer(503, 30)),
        (b"HTTP/1.1 503 Busy\r\nRetry-After: 30\r\nRetry-After: 40\r\n\r\n", dither.Answer(503, 30)),
        (b"HTTP/1.1 503 Busy\r\nX: \0\xff\r\nRetry-After: \xb2\r\n\r\n", dither.Answer(503)),
        (b"HTTP/1.1 503 Busy\r\nRetry-After: Sun, 99 Nov 2026 08:49:37 GMT\r\n\r\n", dither.Answer(503)),
        (b"HTTP/1.1 503 Busy\r\nRetry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n", dither.Answer(503, 0)),
        (b"HTTP/1.1 503 Busy\r\nno field at all\r\nRetry-After: 1\r\n\r\n", dither.Answer(503, 1)),
        (
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nRetry-After: 9\r\n\r\n" + OK + b"\r\n",
            dither.Answer(202),
        ),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", dither.Answer(101)),
    ],
)
def test_odd_but_valid_answers_are_read(words: bytes, answer: dither.Answer) -> None:
    with serving(replying_with(*(words[number : number + 1] for number in range(len(words))))) as peer:  # in any pieces
        assert send(peer) == answer


@pytest.mark.parametrize(
    "words",
    [
        b"",
        b"HTTP/1.1 202 Accepted\r\n",  # cut off
        b"HTTP/2 202 Accepted\r\n\r\n",
        b"HTTP/1.1 2020 Accepted\r\n\r\n",
        b"HTTP/1.1 099 Low\r\n\r\n",
        b"HTTP/1.1 600 High\r\n\r\n",
        b"HTTP/1.1  202 Accepted\r\n\r\n",
    ],
)
def test_an_answer_that_is_not_http_is_an_error(words: bytes) -> None:
    with serving(replying_with(words)) as peer, pytest.raises(AnswerError, match=r"not HTTP|closed before"):
        send(peer)


def test_an_answer_to_half_a_request_is_read_although_the_peer_hangs_up() -> None:
    taken = threading.Event()

    def handle(peer: Peer, connection: socket.socket) -> None:
        connection.recv(1000)
        connection.sendall(b"HTTP/1.1 413 Too Large\r\n\r\n")
        reset(connection)
        taken.set()

    with serving(handle) as peer:
        stream = connect("127.0.0.1", peer.port, Deadline(20.0), secure=False)
        stream.send(b"POST / HTTP/1.1\r\n")
        assert taken.wait(60)
        assert exchange(stream, bytes(1_000_000)).status == 413
        stream.close()


@pytest.mark.parametrize("stage", ["accept", "request", "status", "head"])
def test_a_reset_at_any_stage_is_a_network_error(stage: str) -> None:
    def handle(peer: Peer, connection: socket.socket) -> None:
        if stage != "accept":
            request_of(connection)
        if stage in {"status", "head"}:
            connection.sendall({"status": b"HTTP/1.1 2", "head": OK + b"A: b\r\n"}[stage])
        reset(connection)

    with serving(handle) as peer, pytest.raises(OSError, match=r"reset|closed|peer|pipe|could not be reached"):
        send(peer)


@pytest.mark.parametrize("hangs_up", [True, False])
def test_redirects_are_not_followed(hangs_up: bool) -> None:
    def handle(peer: Peer, connection: socket.socket) -> None:
        request_of(connection)
        connection.sendall(b"HTTP/1.1 307 Elsewhere\r\nLocation: /v1/reports\r\nContent-Length: 0\r\n\r\n")
        if not hangs_up:
            connection.recv(1)

    with serving(handle) as peer:
        assert send(peer) == dither.Answer(307)
        assert peer.connections == 1


@pytest.mark.skipif(not socket.has_ipv6, reason="this system has no IPv6")
@pytest.mark.parametrize("host", ["[::1]", "[::1%1]"])
def test_an_upload_reaches_an_ipv6_address(host: str) -> None:
    requests: list[bytes] = []
    try:
        listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("this machine has no IPv6")

    def answer(connection: socket.socket) -> None:
        requests.append(request_of(connection))
        connection.sendall(OK + b"\r\n")

    peer = Peer(answer, listener, None)
    try:
        assert dither.HttpTransport(f"http://{host}:{peer.port}/x/").send(b"{}") == dither.Answer(202)
    finally:
        peer.close()
    assert requests[0].startswith(b"POST /x/v1/reports HTTP/1.1\r\nHost: [::1]:%d\r\n" % peer.port)


# Within TLS, or in place of it.


@pytest.mark.usefixtures("trust")
def test_an_upload_over_tls_to_a_trusted_peer_is_answered(trusted: ssl.SSLContext) -> None:
    requests: list[bytes] = []

    def handle(peer: Peer, connection: socket.socket) -> None:
        requests.append(request_of(connection))
        connection.sendall(b"HTTP/1.1 503 Busy\r\nRetry-After: 5\r\n\r\n")

    with serving(handle, trusted) as peer:
        assert send(peer, body=b"{}" * 100_000) == dither.Answer(503, 5)
    assert requests[0].endswith(b"{}" * 100_000)


@pytest.mark.usefixtures("trust")
def test_a_flood_within_tls_is_bounded(trusted: ssl.SSLContext) -> None:
    def handle(peer: Peer, connection: socket.socket) -> None:
        request_of(connection)
        peer.pour(connection, b"HTTP/1.1 100 Continue\r\n\r\n" * 2000, 1 << 30)

    with serving(handle, trusted) as peer, pytest.raises(AnswerError):
        send(peer)
    assert peer.bytes_sent < BUFFERS


@pytest.mark.usefixtures("trust")
@pytest.mark.parametrize("half", [b"", b"HTTP/1.1 202 Acc", OK])
def test_tls_that_ends_before_the_answer_is_an_error(trusted: ssl.SSLContext, half: bytes) -> None:
    with serving(replying_with(half), trusted) as peer, pytest.raises(AnswerError, match="closed before"):
        send(peer)


def garbage(peer: Peer, connection: socket.socket) -> None:
    connection.recv(1000)
    connection.sendall(b"\x15\x03\x01\xff\xff" + b"garbage" * 100)
    connection.recv(1000)


def plain(peer: Peer, connection: socket.socket) -> None:
    connection.sendall(OK + b"\r\n")
    connection.recv(1000)


def records(peer: Peer, connection: socket.socket) -> None:
    connection.recv(1000)
    peer.pour(connection, b"\x16\x03\x03\x40\x00" + bytes(0x4000), 1 << 30)  # handshake records without end


def silence(peer: Peer, connection: socket.socket) -> None:
    while connection.recv(1000):
        pass


@pytest.mark.parametrize("handle", [garbage, plain, records, lambda _, connection: reset(connection), silence])
def test_a_peer_without_tls_is_unreachable(handle: object) -> None:
    with serving(handle) as peer:  # type: ignore[arg-type] # mypy takes the list for one of objects
        transport = dither.HttpTransport(peer.endpoint.replace("http:", "https:"), 0.5)
        with pytest.raises(UnreachableError) as caught:
            transport.send(b"{}")
    assert isinstance(caught.value.__cause__, ssl.SSLError | ConnectionError | TimeoutError)
    assert peer.bytes_sent < BUFFERS


def test_a_handshake_a_byte_at_a_time_does_not_outlast_the_deadline() -> None:
    gone = threading.Event()

    def handle(peer: Peer, connection: socket.socket) -> None:
        connection.recv(1000)
        peer.trickle(connection, b"\x16\x03\x03\x40\x00" + bytes(0x4000), gone)

    with serving(handle) as peer:
        with pytest.raises(UnreachableError) as caught:
            dither.HttpTransport(peer.endpoint.replace("http:", "https:"), 0.3).send(b"{}")
        gone.set()
    assert isinstance(caught.value.__cause__, TimeoutError)
