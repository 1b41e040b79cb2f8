"""Scripted collectors on loopback for tests of the probe."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

from client.peers import Handler, serving
from dither.cli import probe
from dither.cli.probe import ProbeResult
from dither.upload.transport import Endpoint

OPEN = '{"collector": "dither", "reports": "accepted", "token": "not-needed"}'


@contextmanager
def listening(handle: Handler, context: ssl.SSLContext | None = None) -> Iterator[int]:
    """Run a server that handles each connection by a script, and yield its port."""
    with serving(lambda _, connection: handle(connection), context) as peer:
        yield peer.port


def answering(*answers: tuple[int, str] | tuple[int, str, str], requests: list[bytes] | None = None) -> Handler:
    """Return a script that sends HTTP answers (status, body, more headers), the last of them repeatedly."""
    remaining = list(answers)

    def handle(connection: socket.socket) -> None:
        request = connection.recv(65536)
        if requests is not None:
            requests.append(request)
        status, body, *more = remaining.pop(0) if len(remaining) > 1 else remaining[0]
        head = f"HTTP/1.1 {status} said\r\nContent-Length: {len(body.encode())}\r\n{''.join(more)}\r\n"
        connection.sendall((head + body).encode())

    return handle


def probe_results(endpoint: str, *metrics: object, token: str | None = None) -> list[ProbeResult]:
    return list(probe.probe(Endpoint.parse(endpoint), token, metrics))  # type: ignore[arg-type]


def last(handle: Handler, path: str = "", token: str | None = None) -> ProbeResult:
    with listening(handle) as port:
        return probe_results(f"http://127.0.0.1:{port}{path}", token=token)[-1]
