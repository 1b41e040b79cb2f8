"""Scripted collectors on loopback for tests of the probe."""

import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from client.peers import speaking
from dither.cli import probe
from dither.cli.probe import ProbeResult
from dither.upload.transport import Endpoint

OPEN = '{"collector": "dither", "reports": "accepted", "token": "not-needed"}'


Speak = Callable[[socket.socket], None]


@contextmanager
def listening(speak: Speak, context: ssl.SSLContext | None = None) -> Iterator[int]:
    """Run a server that handles each connection by a script, and yield its port."""
    with speaking(lambda _, connection: speak(connection), context) as peer:
        yield peer.port


def answering(*answers: tuple[int, str] | tuple[int, str, str], requests: list[bytes] | None = None) -> Speak:
    """Return a script that sends HTTP answers (status, body, more headers), the last of them repeatedly."""
    left = list(answers)

    def speak(connection: socket.socket) -> None:
        request = connection.recv(65536)
        if requests is not None:
            requests.append(request)
        status, body, *more = left.pop(0) if len(left) > 1 else left[0]
        head = f"HTTP/1.1 {status} said\r\nContent-Length: {len(body.encode())}\r\n{''.join(more)}\r\n"
        connection.sendall((head + body).encode())

    return speak


def probe_results(endpoint: str, *metrics: object, token: str | None = None) -> list[ProbeResult]:
    return list(probe.probe(Endpoint.parse(endpoint), token, metrics))  # type: ignore[arg-type]


def last(speak: Speak, path: str = "", token: str | None = None) -> ProbeResult:
    with listening(speak) as port:
        return probe_results(f"http://127.0.0.1:{port}{path}", token=token)[-1]
