"""Connections: who may have one and for how long, and how the app's answers leave."""

import asyncio
import http.client
import socket
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from itertools import repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit
from wsgiref.types import StartResponse, WSGIEnvironment

import pytest

from dither_server.access.proxies import Proxies
from dither_server.observability.prometheus import Prometheus
from dither_server.reading.places import PEER_GONE
from dither_server.serving.connection import Connection, read_buffer
from dither_server.serving.gateway import Gateway
from dither_server.serving.limiter import ConnectionLimiter
from dither_server.serving.server import accept
from server.collecting import batch, running
from server.test_process import JSON, PATIENCE, connect
from torture.slow import slow_clients

HEAD = b"POST /v1/reports HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


MEMORY = 1 << 20


class Waiter:
    def __init__(self) -> None:
        self.ends: list[str] = []
        self.held = 0

    def expire(self) -> None:
        self.ends.append("late")

    def close(self) -> None:
        self.ends.append("closed")

    def abort(self) -> None:
        self.ends.append("cut")


def limiter_at(now: list[float], limit: int = 2, per_address: int = 2) -> tuple[ConnectionLimiter, Prometheus]:
    prometheus = Prometheus()
    return ConnectionLimiter(limit, per_address, 30.0, MEMORY, prometheus, lambda: now[0]), prometheus


def test_who_has_waited_longest_gives_way_but_not_who_is_served_or_has_just_come() -> None:
    now = [0.0]
    limiter, prometheus = limiter_at(now)
    idle, served, fresh = Waiter(), Waiter(), Waiter()
    for one in (idle, served):
        limiter.add()
        limiter.start_waiting(one)
    limiter.stop_waiting(served)
    assert not limiter.evict()
    now[0] = 1.0
    limiter.start_waiting(fresh)
    assert limiter.evict()
    assert (idle.ends, served.ends, fresh.ends) == (["cut"], [], [])
    assert not limiter.evict()
    assert b'dither_connections_closed_total{reason="gave way"} 1.0' in prometheus.text()


def test_waiting_has_an_end_and_begins_anew_with_each_request() -> None:
    now = [0.0]
    limiter, _ = limiter_at(now)
    slow, busy = Waiter(), Waiter()
    for one in (slow, busy):
        limiter.start_waiting(one)
    now[0] = 29.0
    limiter.start_waiting(busy)
    limiter.expire()
    assert slow.ends == []
    now[0] = 30.0
    limiter.expire()
    limiter.expire()
    assert (slow.ends, busy.ends) == (["late"], [])


def test_an_address_has_so_many_connections_and_loopback_any_number() -> None:
    limiter, prometheus = limiter_at([0.0])
    assert [limiter.acquire("192.0.2.7") for _ in range(3)] == ["192.0.2.7", "192.0.2.7", None]
    assert limiter.acquire("::ffff:192.0.2.7") is None
    assert limiter.acquire("192.0.2.8") == "192.0.2.8"
    of_one_network = [limiter.acquire(f"2001:db8::{host}") for host in ("1", "2", "ffff")]
    assert of_one_network == ["2001:db8::/64", "2001:db8::/64", None]
    assert limiter.acquire("2001:db8:0:1::1") == "2001:db8:0:1::/64"
    assert {limiter.acquire(address) for address in ["127.0.0.1", "::1", "127.8.8.8"] * 5} == {""}
    limiter.release("192.0.2.7")
    assert limiter.acquire("192.0.2.7") == "192.0.2.7"
    assert b'dither_connections_closed_total{reason="address"} 3.0' in prometheus.text()


GOOD = HEAD + b"X-A: 1\r\nContent-Length: 5\r\n\r\n12345"


class Served:
    """A WSGI app behind the gateway, in a loop of its own thread."""

    def __init__(self, seconds: float = PATIENCE, memory: int = MEMORY) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = self.listener.getsockname()
        self.seen: list[Any] = []
        self.seconds, self.memory = seconds, memory
        self.ahead = 0.0
        self.ready = threading.Event()
        self.gone = threading.Event()
        self.begun = threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self.run()))

    async def run(self) -> None:
        self.loop, self.stop = asyncio.get_running_loop(), asyncio.Event()
        self.prometheus = Prometheus()
        clock = lambda: time.monotonic() + self.ahead  # noqa: E731
        self.limiter = ConnectionLimiter(100, 100, self.seconds, self.memory, self.prometheus, clock)
        proxies, buffer = Proxies(""), read_buffer()
        reception: Any = SimpleNamespace(
            paths=["/v1/reports"], numbers=self.prometheus, refuse=self.seen.append, headers=lambda _: []
        )
        gateway = Gateway(self.app, reception, 4, self.limiter, proxies)
        accepting = accept(
            self.listener,
            self.limiter,
            proxies,
            lambda group: Connection(self.limiter, gateway, buffer, 1 << 16, group),
        )
        tasks = [asyncio.create_task(accepting), asyncio.create_task(self.limiter.watch())]
        self.ready.set()
        await self.stop.wait()
        for task in tasks:
            task.cancel()
        self.limiter.close()
        await gateway.drain(5)
        await self.limiter.drain(5)
        gateway.close()
        self.left = self.limiter.held

    def __enter__(self) -> "Served":
        self.thread.start()
        self.ready.wait(PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.call_soon_threadsafe(self.stop.set)
        self.thread.join(PATIENCE)
        self.listener.close()
        assert self.left == 0

    def app(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path == "/stream":
            start("200 OK", [])
            return iter([b"one", b"", b"two"])
        if path == "/breaks":
            start("200 OK", [])
            return self.breaking()
        if path == "/raises":
            raise ArithmeticError
        if path == "/silent":
            self.watch(environ)
        if path == "/endless":
            start("200 OK", [])
            return self.endless(environ)
        body = path.encode() + environ["wsgi.input"].read()
        start("200 OK", [("Content-Length", str(len(body)))])
        return [body]

    def breaking(self) -> Iterator[bytes]:
        yield b"part"
        raise ArithmeticError

    def watch(self, environ: WSGIEnvironment) -> None:
        """Compute, and send nothing, until the peer is gone."""
        self.begun.set()
        ticks = iter(range(1000 * int(PATIENCE)))
        while next(ticks, None) is not None and not environ[PEER_GONE]():
            time.sleep(0.001)
        if environ[PEER_GONE]():
            self.gone.set()

    def endless(self, environ: WSGIEnvironment) -> Iterator[bytes]:
        self.begun.set()
        try:
            while not environ[PEER_GONE]():
                yield b"x" * 65_536
        finally:
            self.gone.set()

    def expire(self) -> None:
        """Let as many seconds pass as a connection may wait."""
        self.ahead += self.seconds
        self.loop.call_soon_threadsafe(self.limiter.expire)

    def ask(self, data: bytes, *, waits: bool = False) -> bytes:
        """What is answered to these bytes; if it ``waits``, then when they have been read and nothing more has come."""
        with socket.create_connection(self.address, PATIENCE) as peer:
            peer.sendall(data)
            if waits:
                self.ask(b"GET /x HTTP/1.1\r\nConnection: close\r\n\r\n")  # answered when what came before is read
                self.expire()
            return peer.makefile("rb").read()


def test_an_app_is_told_that_the_peer_has_hung_up_before_it_sends_anything() -> None:
    with Served() as served:
        with socket.create_connection(served.address, PATIENCE) as peer:
            peer.sendall(b"GET /silent HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert served.begun.wait(PATIENCE)
            assert not served.gone.is_set()
        assert served.gone.wait(PATIENCE)


def test_answers_of_the_app() -> None:
    with (
        Served() as served,
        closing(http.client.HTTPConnection("127.0.0.1", served.address[1], timeout=PATIENCE)) as device,
    ):
        for _ in range(2):
            device.request("GET", "/stream")
            response = device.getresponse()
            assert (response.headers["Transfer-Encoding"], response.read()) == ("chunked", b"onetwo")
            device.request("HEAD", "/stream")
            assert device.getresponse().read() == b""
            device.request("POST", "/x", b"body", {"Expect": "100-continue"})
            assert device.getresponse().read() == b"/xbody"
        device.request("GET", "/breaks")
        with pytest.raises(http.client.IncompleteRead):
            device.getresponse().read()
        device.close()
        device.request("GET", "/raises")
        assert device.getresponse().status == 500
        plain = served.ask(b"GET /stream HTTP/1.0\r\n\r\n")
        assert plain.endswith(b"\r\n\r\nonetwo")
        assert b"chunked" not in plain
        many = b"".join(b"GET /%d HTTP/1.1\r\n\r\n" % number for number in range(200))
        told = served.ask(many + b"GET /last HTTP/1.1\r\nConnection: close\r\n\r\nGET /never HTTP/1.1\r\n\r\n")
        places = [told.index(b"\r\n\r\n/%d" % number) for number in range(200)]
        assert places == sorted(places)
        assert told.endswith(b"/last")
        told = served.ask(b"POST /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 70000\r\n\r\n")
        assert told.startswith(b"HTTP/1.1 413 ")
        assert b'dither_unread_requests_total{status="413"} 1.0' in served.prometheus.text()
        told = served.ask(b"GET /a HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\nPRI")
        assert told.endswith(b"/a")
    assert len(served.limiter) == 0


def test_who_does_not_read_an_answer_or_hangs_up_ends_it() -> None:
    with Served() as served:
        with socket.create_connection(served.address, PATIENCE) as peer:
            peer.sendall(b"GET /endless HTTP/1.1\r\n\r\n")
            assert served.begun.wait(PATIENCE)
            while not served.gone.wait(0.01):  # until it waits for the peer
                served.expire()
        served.gone.clear()
        with socket.create_connection(served.address, PATIENCE) as peer:
            peer.sendall(b"GET /endless HTTP/1.1\r\n\r\n")
            peer.recv(10)
        assert served.gone.wait(PATIENCE)
    with (
        Served(seconds=0.4) as served,
        socket.create_connection(served.address, PATIENCE) as peer,
        pytest.raises((ConnectionResetError, BrokenPipeError)),
    ):
        list(map(peer.sendall, repeat(b"GET /%s HTTP/1.1\r\n\r\n" % (b"x" * 8000) * 100)))  # and reads nothing


def test_a_request_that_does_not_end_gets_408_and_silence_an_end() -> None:
    with Served() as served:
        assert served.ask(b"", waits=True) == b""
        assert served.ask(b"GET / HTTP/1.1\r\nHost: x\r\n", waits=True).startswith(b"HTTP/1.1 408 ")
        assert served.ask(GOOD[:-1], waits=True).startswith(b"HTTP/1.1 408 ")
        assert len(served.seen) == 1


def test_connections_that_drip_give_way(tmp_path: Path) -> None:
    """Ten times as many as there are places; the torture has 5,000 with a limit of 1,000."""
    seconds = slow_clients(tmp_path, 300, 4, 10, options=("--connections", "30", "--request-seconds", "2"))
    assert len(seconds) == 40


def test_a_proxy_is_counted_by_what_it_forwards(tmp_path: Path) -> None:
    options = ("--proxies", "127.0.0.1", "--connections-per-address", "1", "--open", "report", "--lock-wait", "20")
    with (
        running(tmp_path, *options) as (url, _),
        closing(sqlite3.connect(tmp_path / "dither.db", isolation_level=None)) as other,
        ExitStack() as stack,
    ):
        other.execute("BEGIN IMMEDIATE")  # what is taken waits
        one, same, another = (stack.enter_context(closing(connect(url))) for _ in range(3))
        one.request("POST", "/v1/reports", batch().encode(), JSON | {"X-Forwarded-For": "127.0.0.1, 192.0.2.7"})
        with closing(connect(url)) as probe:
            probe.request("GET", "/healthz", headers={"X-Forwarded-For": "192.0.2.9"})
            assert probe.getresponse().status == 200
        same.request("POST", "/v1/reports", batch().encode(), JSON | {"X-Forwarded-For": "192.0.2.7"})
        response = same.getresponse()
        assert (response.status, response.headers["Retry-After"]) == (429, "1")
        another.request("POST", "/v1/reports", batch().encode(), JSON | {"X-Forwarded-For": "192.0.2.8"})
        other.execute("ROLLBACK")
        assert (one.getresponse().status, another.getresponse().status) == (202, 202)
    assert urlsplit(url).port
