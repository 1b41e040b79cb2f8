"""Connections: one request in work at a time, how a peer ends, and how the app's answers leave."""

import asyncio
import gc
import http.client
import socket
import sqlite3
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, suppress
from http import HTTPStatus
from itertools import repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

import pytest

from dither_server.prometheus import Prometheus
from dither_serving.addresses import Proxies
from dither_serving.connection import Connection, read_buffer
from dither_serving.connection_limiter import ConnectionLimiter
from dither_serving.gateway import Gateway
from dither_serving.problems import Answer
from dither_serving.request import PEER_GONE, Request
from dither_serving.server import accept
from server.collecting import batch, running
from server.test_process import JSON, PATIENCE, connect
from torture.slow import slow_clients

HEAD = b"POST /v1/reports HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
MEMORY = 1 << 20
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
            return self.breaking(ArithmeticError())
        if path == "/leaves":
            start("200 OK", [])
            return self.breaking(BrokenPipeError())
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

    def breaking(self, error: Exception) -> Iterator[bytes]:
        yield b"part"
        raise error

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
        """Return the answer to these bytes; if it ``waits``, once they have been read and nothing more has come."""
        with socket.create_connection(self.address, PATIENCE) as peer:
            peer.sendall(data)
            if waits:
                self.ask(b"GET /x HTTP/1.1\r\nConnection: close\r\n\r\n")  # answered when what came before is read
                self.expire()
            return peer.makefile("rb").read()


def test_app_learns_that_the_peer_has_hung_up_before_it_sends_anything() -> None:
    with Served() as served:
        with socket.create_connection(served.address, PATIENCE) as peer:
            peer.sendall(b"GET /silent HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert served.begun.wait(PATIENCE)
            assert not served.gone.is_set()
        assert served.gone.wait(PATIENCE)


def test_answers_of_a_wsgi_app_are_sent_as_http(caplog: pytest.LogCaptureFixture) -> None:
    with (
        Served() as served,
        closing(http.client.HTTPConnection("127.0.0.1", served.address[1], timeout=PATIENCE)) as device,
    ):
        for _ in range(2):
            device.request("GET", "/stream")
            response = device.getresponse()
            assert (response.headers["Transfer-Encoding"], response.read()) == ("chunked", b"onetwo")
            assert response.headers["Date"].endswith(" GMT")
            device.request("HEAD", "/stream")
            assert device.getresponse().read() == b""
            device.request("POST", "/x", b"body", {"Expect": "100-continue"})
            assert device.getresponse().read() == b"/xbody"
        device.request("GET", "/raises")
        assert device.getresponse().status == 500
        for broken in (b"/breaks", b"/leaves"):
            with pytest.raises(ConnectionResetError):  # otherwise the part would be taken for the whole
                served.ask(b"GET %b HTTP/1.0\r\n\r\n" % broken)
        assert [type(record.exc_info[1]) for record in caplog.records if record.exc_info] == [ArithmeticError] * 2
        plain = served.ask(b"GET /stream HTTP/1.0\r\n\r\n")
        assert plain.endswith(b"\r\n\r\nonetwo")
        assert b"chunked" not in plain
        many = b"".join(b"GET /%d HTTP/1.1\r\n\r\n" % number for number in range(200))
        answers = served.ask(many + b"GET /last HTTP/1.1\r\nConnection: close\r\n\r\nGET /never HTTP/1.1\r\n\r\n")
        places = [answers.index(b"\r\n\r\n/%d" % number) for number in range(200)]
        assert places == sorted(places)
        assert answers.endswith(b"/last")
        answers = served.ask(b"POST /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 70000\r\n\r\n")
        assert answers.startswith(b"HTTP/1.1 413 ")
        assert b'dither_unread_requests_total{status="413"} 1.0' in served.prometheus.text()
        answers = served.ask(b"GET /a HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\nPRI")
        assert answers.endswith(b"/a")
    assert len(served.limiter) == 0


def test_peer_that_stops_reading_or_hangs_up_ends_its_answer() -> None:
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


def test_peers_that_read_no_answer_give_way_to_requests_that_wait_for_a_thread() -> None:
    """Twice as many as there are threads: an answer in parts keeps its thread until the peer has read it."""
    with Served(seconds=10 * PATIENCE) as served, ExitStack() as stack:
        for _ in range(8):
            peer = stack.enter_context(socket.create_connection(served.address, PATIENCE))
            peer.sendall(b"GET /endless HTTP/1.1\r\n\r\n")
        assert served.ask(b"GET /x HTTP/1.1\r\nConnection: close\r\n\r\n").endswith(b"\r\n\r\n/x")
        assert b'dither_connections_closed_total{reason="gave way"}' in served.prometheus.text()


def test_a_request_that_does_not_end_gets_408_and_silence_an_end() -> None:
    with Served() as served:
        assert served.ask(b"", waits=True) == b""
        assert served.ask(b"GET / HTTP/1.1\r\nHost: x\r\n", waits=True).startswith(b"HTTP/1.1 408 ")
        assert served.ask(GOOD[:-1], waits=True).startswith(b"HTTP/1.1 408 ")
        assert len(served.seen) == 1


def test_slow_connections_give_way(tmp_path: Path) -> None:
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
        response.read()
        same.request("POST", "/v1/reports", batch().encode(), JSON | {"X-Forwarded-For": "192.0.2.7"})
        assert same.getresponse().status == 202, "the first request of this address has been answered"


class Wire:
    """A transport that writes at once, or not at all while its peer does not read."""

    def __init__(self) -> None:
        self.sent = b""
        self.late = 0
        self.is_reading = self.reads = True
        self.is_closed = self.is_cut = False
        self.connection: Connection

    def get_extra_info(self, name: str) -> Any:
        return self if name == "socket" else ("192.0.2.7", 1)

    def setsockopt(self, *_: object) -> None:
        raise OSError  # the peer is gone

    def set_write_buffer_limits(self, high: int) -> None:
        assert high == 0

    def write(self, data: bytes) -> None:
        self.late += self.is_closed
        self.sent += data
        if not self.reads:
            self.connection.pause_writing()

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        pass

    def pause_reading(self) -> None:
        self.is_reading = False

    def resume_reading(self) -> None:
        self.is_reading = True

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_closed = self.is_cut = True


class Desk:
    """Answers requests when the test says so."""

    def __init__(self) -> None:
        self.work: list[tuple[Connection, Request]] = []
        self.limiter = ConnectionLimiter(100, 100, 30.0, MEMORY, Prometheus())
        self.buffer = read_buffer()

    def handle(self, request: Request, connection: Connection) -> None:
        self.work.append((connection, request))

    def refusal(self, status: HTTPStatus, method: str, target: bytes, origin: str | None) -> bytes:
        return b"<%d %b>" % (status, target)

    def connect(self) -> tuple[Connection, Wire]:
        wire: Any = Wire()
        group = self.limiter.acquire("192.0.2.7") or ""
        wire.connection = connection = Connection(self.limiter, self, self.buffer, 1 << 16, group)
        self.limiter.add()
        connection.connection_made(wire)
        return connection, wire

    def answer(self) -> None:
        """Answer the oldest request by its target and its body."""
        connection, request = self.work.pop(0)
        connection.end(b"<%b %b>" % (request.target, request.body), keeps_alive=request.keeps_alive)


def bring(connection: Connection, data: bytes) -> None:
    """Have a connection read these bytes, in as many reads as it takes."""
    while data:
        view = connection.get_buffer(-1)
        view[: len(data)] = data[: len(view)]
        connection.buffer_updated(min(len(view), len(data)))
        data = data[len(view) :]


def bring_slowly(connection: Connection, data: bytes) -> None:
    """The same, a byte at a time."""
    for byte in data:
        bring(connection, bytes([byte]))


PIPELINE = GOOD + b"\r\n" + GOOD.replace(b"/v1/reports", b"/second") + b"GET /third HTTP/1.1\r\n\r\n"
ANSWERS = b"</v1/reports 12345></second 12345></third >"


def test_pipelined_requests_are_answered_one_at_a_time_and_in_order() -> None:
    desk = Desk()
    connection, wire = desk.connect()
    bring(connection, PIPELINE)
    for number in range(3):
        assert len(desk.work) == 1
        assert wire.is_reading is (number == 2)  # it stops reading while another request is here
        assert wire.sent.count(b">") == number
        desk.answer()
    assert (wire.sent, desk.work, desk.limiter.held) == (ANSWERS, [], 0)


@pytest.mark.parametrize("late", [False, True])
def test_bytes_split_at_every_position_get_the_same_answers(late: bool) -> None:
    """Whether the rest comes while the first part is in work (late answers), or after it was answered."""
    for place in range(len(PIPELINE) + 1):
        desk = Desk()
        connection, wire = desk.connect()
        bring(connection, PIPELINE[:place])
        while desk.work and not late:
            desk.answer()
        bring(connection, PIPELINE[place:])
        while desk.work:
            desk.answer()
        assert (wire.sent, wire.is_reading, desk.limiter.held) == (ANSWERS, True, 0), place


def test_a_connection_gets_one_answer_per_iteration_of_the_loop_though_each_is_ready_at_once() -> None:
    async def answers_by_iteration() -> list[int]:
        def begin(_environ: WSGIEnvironment, then: Callable[[Answer], object]) -> None:
            then((200, [], b"|"))

        reception: Any = SimpleNamespace(paths=["/v1/reports"], begin=begin, settled=lambda _: True)
        desk = Desk()
        gateway = Gateway(lambda _environ, _start: [], reception, 1, desk.limiter, Proxies(""))
        desk.handle = gateway.handle  # type: ignore[method-assign]
        peers = [desk.connect() for _ in range(2)]
        for connection, _ in peers:
            bring(connection, GOOD * 50)
        counts: list[int] = []
        while sum(counts) < 100:
            before = sum(wire.sent.count(b"|") for _, wire in peers)
            await asyncio.sleep(0)
            counts.append(sum(wire.sent.count(b"|") for _, wire in peers) - before)
        return counts

    counts = asyncio.run(answers_by_iteration())
    assert max(counts) == 2


def test_peer_that_comes_while_the_server_stops_leaves_no_open_socket() -> None:
    async def stop_amid_a_connection() -> None:
        limiter = ConnectionLimiter(9, 9, PATIENCE, MEMORY, Prometheus())
        with socket.create_server(("127.0.0.1", 0)) as listener:
            accepting = asyncio.create_task(accept(listener, limiter, Proxies(""), lambda _: _never()))
            await asyncio.sleep(0)
            with socket.create_connection(listener.getsockname(), PATIENCE):
                stopping = asyncio.Event()
                asyncio.get_running_loop().call_soon(stopping.set)  # in the iteration that finds the peer
                await stopping.wait()
                accepting.cancel()
                with suppress(asyncio.CancelledError):
                    await accepting

    gc.collect()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        asyncio.run(stop_amid_a_connection())
        gc.collect()
    assert caught == []


def _never() -> Connection:
    raise AssertionError("no connection is made")


def test_nothing_is_read_or_begun_while_the_peer_does_not_read_its_answers() -> None:
    desk = Desk()
    connection, wire = desk.connect()
    wire.reads = False
    bring(connection, PIPELINE)
    desk.answer()
    assert (desk.work, wire.is_reading) == ([], False)
    assert desk.limiter.held == len(PIPELINE) - len(GOOD) + len(wire.sent)
    connection.resume_writing()
    assert [request.target for _, request in desk.work] == [b"/second"]
    desk.answer()
    connection.expire()
    assert wire.is_cut


def test_nothing_is_written_to_a_peer_that_is_gone() -> None:
    desk = Desk()
    connection, wire = desk.connect()
    bring(connection, PIPELINE)
    wire.close()  # as asyncio does when a write fails; it reports the loss later
    desk.answer()
    assert (desk.work, wire.late) == ([], 0)
    connection.connection_lost(None)
    assert (desk.limiter.held, len(desk.limiter)) == (0, 0)
    assert all(desk.limiter.acquire("192.0.2.7") for _ in range(100)), "its address may connect as often as before"


def test_a_peer_that_ends_its_side_gets_the_answers_to_whole_requests() -> None:
    desk = Desk()
    connection, wire = desk.connect()
    bring(connection, PIPELINE + b"GET /part")
    desk.answer()
    desk.answer()
    assert connection.eof_received()
    assert connection.is_gone
    desk.answer()
    assert (wire.sent, wire.is_closed, wire.is_cut) == (ANSWERS, True, False)
    idle, _ = desk.connect()
    bring(idle, GOOD[:-1])
    assert not idle.eof_received()


def test_a_request_waits_for_100_continue_until_the_one_before_is_answered() -> None:
    desk = Desk()
    connection, wire = desk.connect()
    expecting = GOOD.replace(b"X-A: 1", b"Expect: 100-continue")
    bring(connection, GOOD + expecting[:-5])
    assert wire.sent == b""
    desk.answer()
    assert wire.sent.endswith(b"12345>HTTP/1.1 100 Continue\r\n\r\n")
    bring_slowly(connection, b"12345")
    desk.answer()
    assert wire.sent.count(b"100 Continue") == 1
    bring(connection, expecting[:-5].replace(b"HTTP/1.1", b"HTTP/1.0"))
    assert wire.sent.count(b"100 Continue") == 1


def test_a_refused_peer_gets_one_answer_and_what_it_still_sends_is_dropped() -> None:
    desk = Desk()
    connection, wire = desk.connect()
    bring(connection, b"POST /big HTTP/1.1\r\nContent-Length: 70000\r\n\r\n" + b"x" * 70_000 + GOOD)
    assert (wire.sent, wire.is_reading, wire.is_closed, desk.work) == (b"<413 /big>", True, False, [])
    assert desk.limiter.held == 0
    connection.expire()
    assert wire.is_closed


def test_a_connection_holds_one_read_beside_a_request_in_work() -> None:
    desk = Desk()
    connection, wire = desk.connect()
    bring(connection, GOOD)
    reading = [wire.is_reading]  # to notice that the peer hangs up
    bring(connection, b"x" * len(connection.get_buffer(-1)))
    assert [*reading, wire.is_reading] == [True, False]
    assert desk.limiter.held == 3 * (len(GOOD) - 5) + 5 + (1 << 14)


def test_a_body_that_all_memory_has_no_room_for_is_refused() -> None:
    desk = Desk()
    body = b"POST / HTTP/1.1\r\nContent-Length: 60000\r\n\r\n" + b"x" * 50_000
    wires = []
    for _ in range(MEMORY // 50_000 + 1):
        connection, wire = desk.connect()
        bring(connection, body)
        wires.append(wire)
    assert [wire.sent for wire in wires] == [b""] * (len(wires) - 1) + [b"<503 />"]
    assert desk.limiter.held <= MEMORY


def test_the_end_waits_for_a_request_in_work_and_begins_no_other() -> None:
    desk = Desk()
    connection, wire = desk.connect()
    idle, other = desk.connect()
    bring(connection, PIPELINE)
    desk.limiter.close()
    assert (wire.is_closed, other.is_closed) == (False, True)
    connection.close()
    assert not wire.is_closed
    desk.answer()
    assert (wire.is_closed, wire.sent, desk.work) == (True, b"</v1/reports 12345>", [])
    assert not idle.held
