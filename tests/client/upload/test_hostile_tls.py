"""A collector that is hostile within TLS, or claims to speak it, is bounded in time and bytes like any other."""

import socket
import ssl
import threading

import pytest

import dither
from client.peers import OK, Peer, replying_with, request_of, reset, serving
from client.upload.test_hostile_peer import BUFFERS, send
from dither.upload.transport import UnreachableError
from dither_shared.bounded_http import AnswerError


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
