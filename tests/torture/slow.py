"""Slow clients: connections that drip a header, send half a body or nothing, and healthy ones that must not notice."""

import http.client
import resource
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from server.collecting import THEME, batch, rows_of, running
from server.test_process import JSON, PATIENCE, connect, tally

_STARTS = (
    b"P",
    b"POST /v1/reports HTTP/1.1\r\nHost: x\r\n",
    b"POST /v1/reports HTTP/1.1\r\nContent-Length: 9\r\n\r\n{",
)


_PAUSE = 2.0
"""Seconds between two drops of all."""


def raise_files(count: int) -> None:
    """Let this process and its children open ``count`` files, if the machine lets them."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (count if hard == resource.RLIM_INFINITY else min(count, hard), hard))


def slow_clients(folder: Path, slow: int, healthy: int, requests: int, options: Sequence[str] = ()) -> list[float]:
    """Keep ``slow`` connections hanging, make ``requests`` on each of ``healthy`` ones; return the seconds of each.

    A connection of these that gave way to others is opened again, as devices do; that time counts. Asserts that
    ``/healthz`` answers all the while, and that every report of the healthy ones was acknowledged,
    and counted once.
    """
    seconds: list[float] = []
    with running(folder, *options) as (url, process), ExitStack() as hanging:
        drips, ended = _Drips(url, slow), threading.Event()
        hanging.enter_context(drips)
        dripping = threading.Thread(target=drips.run, args=(ended,))
        dripping.start()
        devices = [threading.Thread(target=_device, args=(url, n, requests, seconds)) for n in range(healthy)]
        for device in devices:
            device.start()
        for device in devices:
            device.join(10 * PATIENCE)
        with closing(connect(url)) as connection:
            connection.request("GET", "/healthz")
            assert connection.getresponse().status == 200
        ended.set()
        dripping.join(PATIENCE)
        process.terminate()
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
    assert len(seconds) == healthy * requests
    assert tally(folder, THEME).total == healthy * requests
    return sorted(seconds)


class _Drips:
    """Connections that each send some bytes now and then, and are opened again when they are closed."""

    def __init__(self, url: str, count: int) -> None:
        self._address = (urlsplit(url).hostname or "", urlsplit(url).port or 0)
        self._count = count
        self._open: dict[int, socket.socket] = {}

    def __enter__(self) -> Self:
        for number in range(self._count):
            self._begin(number)
        return self

    def __exit__(self, *_: object) -> None:
        for connection in self._open.values():
            connection.close()

    def run(self, ended: threading.Event) -> None:
        """Drip until the end."""
        while not ended.wait(_PAUSE):
            for number, one in list(self._open.items()):
                try:
                    if number % 2:  # the others are silent
                        one.sendall(b"x")
                    one.recv(1, socket.MSG_DONTWAIT)
                except BlockingIOError:
                    continue
                except OSError:
                    pass
                one.close()
                self._begin(number)

    def _begin(self, number: int) -> None:
        one = self._open[number] = socket.create_connection(self._address, PATIENCE)
        with suppress(OSError):
            one.sendall(_STARTS[number % len(_STARTS)])


def _device(url: str, number: int, requests: int, seconds: list[float]) -> None:
    bodies = [batch(THEME, rows_of(THEME, 1, b"%d %d" % (number, turn))).encode() for turn in range(requests)]
    with closing(connect(url)) as connection:
        for body in bodies:
            start = time.perf_counter()
            while not _sent(connection, body):
                connection.close()
                if time.perf_counter() > start + PATIENCE:
                    return
            seconds.append(time.perf_counter() - start)


def _sent(connection: http.client.HTTPConnection, body: bytes) -> bool:
    """Send a report; return whether it was acknowledged."""
    try:
        connection.request("POST", "/v1/reports", body, JSON)
        response = connection.getresponse()
        response.read()
    except (OSError, http.client.HTTPException):
        return False
    return response.status == 202
