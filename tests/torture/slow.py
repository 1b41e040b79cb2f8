"""Slow clients: connections that send a byte and then nothing, and healthy ones that must not notice."""

import socket
import threading
import time
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import urlsplit

from server.collecting import THEME, batch, rows_of, running
from server.test_process import JSON, PATIENCE, connect, tally

_STARTS = (
    b"P",
    b"POST /v1/reports HTTP/1.1\r\nHost: x\r\n",
    b"POST /v1/reports HTTP/1.1\r\nContent-Length: 9\r\n\r\n{",
)


def slow_clients(folder: Path, slow: int, healthy: int, requests: int) -> list[float]:
    """Keep ``slow`` connections hanging, make ``requests`` on each of ``healthy`` ones; return the seconds of each.

    Asserts that every report of the healthy ones was acknowledged, and counted once.
    """
    seconds: list[float] = []
    with running(folder) as (url, process), ExitStack() as hanging:
        address = (urlsplit(url).hostname or "", urlsplit(url).port or 0)
        for number in range(slow):
            stuck = hanging.enter_context(socket.create_connection(address, PATIENCE))
            stuck.sendall(_STARTS[number % len(_STARTS)])
        devices = [threading.Thread(target=_device, args=(url, n, requests, seconds)) for n in range(healthy)]
        for device in devices:
            device.start()
        for device in devices:
            device.join(10 * PATIENCE)
        process.terminate()
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
    assert len(seconds) == healthy * requests
    assert tally(folder, THEME).total == healthy * requests
    return sorted(seconds)


def _device(url: str, number: int, requests: int, seconds: list[float]) -> None:
    bodies = [batch(THEME, rows_of(THEME, 1, b"%d %d" % (number, turn))).encode() for turn in range(requests)]
    with closing(connect(url)) as connection:
        for body in bodies:
            start = time.perf_counter()
            connection.request("POST", "/v1/reports", body, JSON)
            response = connection.getresponse()
            response.read()
            if response.status != 202:
                return
            seconds.append(time.perf_counter() - start)
