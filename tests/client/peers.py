"""Scripted peers on loopback: what a hostile collector may do at a socket, and what it observes."""

import shutil
import socket
import ssl
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from client.devices import Clock

Handler = Callable[[socket.socket], object]
PATIENCE = 30
"""Seconds after which a peer gives up, so that a client without a deadline fails a test instead of hanging it."""

OK = b"HTTP/1.1 202 Accepted\r\n"


class Peer:
    """Answers each connection by ``handle``, and counts the bytes sent before the client hung up."""

    def __init__(self, handle: Handler, listener: socket.socket, context: ssl.SSLContext | None) -> None:
        self._address = listener.getsockname()
        self.port: int = self._address[1]
        self.connections = 0
        self.bytes_sent = 0
        self._closed = False
        self._handle = handle
        self._listener = listener
        self._context = context
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    @property
    def endpoint(self) -> str:
        return f"{'https' if self._context else 'http'}://localhost:{self.port}"

    def pour(self, connection: socket.socket, piece: bytes, total: float = float("inf")) -> None:
        """Send ``piece`` repeatedly."""
        while self.bytes_sent < total:
            self.bytes_sent += connection.send(piece)

    def trickle(
        self,
        connection: socket.socket,
        piece: bytes,
        gone: threading.Event,
        pause: float = 0.01,
        clock: Clock | None = None,
    ) -> None:
        """Send a byte now and then, and let a second pass on a clock with each."""
        for number in range(int(PATIENCE / pause)):
            connection.sendall(piece[number % len(piece) :][:1])
            self.bytes_sent += 1
            if clock is not None:
                clock.now += 1.0
            gone.wait(pause)

    def close(self) -> None:
        self._closed = True
        with suppress(OSError), socket.create_connection(self._address[:2], 1):
            pass  # wakes it
        self._thread.join(PATIENCE)
        self._listener.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with connection, suppress(OSError):
                    if self._closed:
                        return
                    self.connections += 1
                    connection.settimeout(PATIENCE)
                    if self._context is None:
                        self._handle(connection)
                        continue
                    with self._context.wrap_socket(connection, server_side=True) as wrapped:
                        self._handle(wrapped)


@contextmanager
def serving(handle: Callable[["Peer", socket.socket], object], context: ssl.SSLContext | None = None) -> Iterator[Peer]:
    """Enter with a peer that answers each connection by ``handle``."""
    listener = socket.create_server(("127.0.0.1", 0))
    peer = Peer(lambda connection: handle(peer, connection), listener, context)
    try:
        yield peer
    finally:
        peer.close()


def request_of(connection: socket.socket) -> bytes:
    """Return a whole request, head and body."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536) or b"\r\n\r\n"
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(head.partition(b"Content-Length: ")[2].partition(b"\r\n")[0] or 0)
    while len(body) < length:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


def replying_with(*words: bytes) -> Callable[["Peer", socket.socket], None]:
    """Return a script that reads a request and sends ``words``."""

    def handle(_: "Peer", connection: socket.socket) -> None:
        request_of(connection)
        for word in words:
            connection.sendall(word)

    return handle


def reset(connection: socket.socket) -> None:
    """Hang up by RST."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def certificate(folder: Path, name: str, *options: str) -> ssl.SSLContext:
    """Return a context with a new self-signed certificate, ``<name>.pem`` in ``folder``, for localhost."""
    if (openssl := shutil.which("openssl")) is None:
        pytest.skip("there is no openssl to make certificates with")
    key, made = folder / f"{name}.key", folder / f"{name}.pem"
    subject = ["-subj", f"/CN={name}", *(options or ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"])]
    request = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    command = [openssl, *request, "-keyout", str(key), "-out", str(made), *subject]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made, key)
    return context
