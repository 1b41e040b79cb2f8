"""A network that cuts: a proxy on loopback that delivers a request whole, in half or twice, and the answer or not."""

import socket
import threading
from contextlib import closing, suppress
from enum import Enum
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from server.test_process import PATIENCE

__all__ = ["Cut", "Proxy"]


class Cut(Enum):
    """Where a delivery is cut."""

    NOWHERE = "the device gets its answer"
    IN_THE_REQUEST = "the collector gets half a body"
    BEFORE_THE_ANSWER = "the collector gets all, and the device hears nothing"
    IN_THE_ANSWER = "the device gets half an answer"
    TWICE = "the collector gets it twice at the same time, and the device gets one answer"


class Proxy:
    """Forwards each connection's one request to ``url``, cut as ``cut`` says when it arrives."""

    def __init__(self) -> None:
        self.cut = Cut.NOWHERE
        self.url = ""
        self.statuses: list[int] = []
        """Every status that the collector answered, whether the device heard of it or not."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """The URL of the proxy."""
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(PATIENCE)

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                device, _ = self._listener.accept()
                with closing(device):
                    self._forward(device, self.cut)

    def _forward(self, device: socket.socket, cut: Cut) -> None:
        request = _message(device)
        if cut is Cut.IN_THE_REQUEST:
            self._ask(request[: -(len(request) // 6)], whole=False)
            return
        if cut is Cut.TWICE:
            other = threading.Thread(target=self._ask, args=(request,))
            other.start()
        answer = self._ask(request)
        if cut is Cut.TWICE:
            other.join(PATIENCE)
        with suppress(OSError):
            kept = {Cut.BEFORE_THE_ANSWER: 0, Cut.IN_THE_ANSWER: len(answer) // 2}.get(cut, len(answer))
            device.sendall(answer[:kept])

    def _ask(self, request: bytes, *, whole: bool = True) -> bytes:
        """Send a request to the collector and return its answer; nothing if it has ended, or gets half of one."""
        parts = urlsplit(self.url)
        try:
            with socket.create_connection((parts.hostname, parts.port), PATIENCE) as collector:
                collector.sendall(request)
                answer = _message(collector) if whole else b""
        except OSError:
            return b""
        if answer:
            self.statuses.append(int(answer.split(maxsplit=2)[1]))
        return answer


def _message(peer: socket.socket) -> bytes:
    """Read an HTTP message with a Content-Length, or what there is of it."""
    peer.settimeout(PATIENCE)
    read = b""
    while chunk := peer.recv(65536):
        read += chunk
        head, blank, body = read.partition(b"\r\n\r\n")
        lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        if blank and lengths and len(body) >= int(lengths[0].partition(b":")[2]):
            break
    return read
