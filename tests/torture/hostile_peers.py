"""Hostile peers at a real collector and a real relay: floods of pipelined requests, resets, hoarded memory, framing.

Each function attacks one server and returns what it measured. The attackers run in a process of their own, so that they
do not share the interpreter with the honest requests that are timed.
"""

import http.client
import multiprocessing
import selectors
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import relay.relaying
import server.collecting
from dither_shared.sealed import SealedReport
from relay.fake_collector import collecting
from torture.processes import forget_peak, memory_of

if TYPE_CHECKING:
    import subprocess

JSON = {"Content-Type": "application/json"}
PATIENCE = 25.0
SERVERS = ("collector", "relay")


class Target(NamedTuple):
    """A running server: its address, process, path of reports, a fresh report, and the lines that it has logged."""

    address: tuple[str, int]
    pid: int
    path: str
    report: Callable[[], bytes]
    lines: list[str]

    @property
    def refused(self) -> bytes:
        """A small request that is answered at once: a report without a length."""
        return b"POST %b HTTP/1.1\r\n\r\n" % self.path.encode()


@dataclass(frozen=True)
class Peers:
    """Equal hostile connections: what each sends first, what it repeats, and whether it reads the answers.

    One that ``resets`` sends that many bytes, and then cuts its connection and opens another.
    """

    count: int
    first: bytes = b""
    then: bytes = b""
    reads: bool = False
    resets: int = 0


@contextmanager
def running(name: str, folder: Path, *options: str) -> Iterator[Target]:
    """Run a server of this name until the end, and read its log."""
    place = folder / name
    place.mkdir(exist_ok=True)
    if name == "collector":
        with server.collecting.running(place, *options) as (url, process):
            yield from _target(url, process, "/v1/reports", lambda: server.collecting.batch().encode())
        return
    row = iter(range(1 << 30))

    def sealed() -> bytes:
        return SealedReport(relay.relaying.THEME, relay.relaying.rows(1, next(row))[0]).encode()

    with (
        collecting(relay.relaying.POOLS) as collector,
        relay.relaying.running(place, collector.url, *options) as (url, process),
    ):
        yield from _target(url, process, "/v1/sealed", sealed)


def _target(url: str, process: "subprocess.Popen[str]", path: str, report: Callable[[], bytes]) -> Iterator[Target]:
    lines: list[str] = []
    assert process.stderr is not None
    reading = threading.Thread(target=lines.extend, args=(process.stderr,))
    reading.start()
    target = Target((urlsplit(url).hostname or "", urlsplit(url).port or 0), process.pid, path, report, lines)
    try:
        stop = time.monotonic() + PATIENCE
        while report_seconds(target) == float("inf"):
            assert time.monotonic() < stop, lines
        yield target
    finally:
        process.terminate()
        reading.join(PATIENCE)
        process.kill()
        reading.join(PATIENCE)


def report_seconds(target: Target) -> float:
    """Return the seconds that an honest report takes on a connection of its own; infinity if it is not accepted."""
    start = time.perf_counter()
    with closing(http.client.HTTPConnection(*target.address, timeout=PATIENCE)) as device:
        try:
            device.request("POST", target.path, target.report(), JSON)
            response = device.getresponse()
            response.read()
        except (OSError, http.client.HTTPException):
            return float("inf")
    return time.perf_counter() - start if response.status == 202 else float("inf")


@contextmanager
def attacking(target: Target, peers: Peers) -> Iterator[None]:
    """Attack a server from another process, from when every connection is open until the end."""
    context = multiprocessing.get_context("spawn")
    ready, ended = context.Event(), context.Event()
    attacker = context.Process(target=_attack, args=(target.address, peers, ready, ended))
    attacker.start()
    try:
        assert ready.wait(60)
        yield
    finally:
        ended.set()
        attacker.join(PATIENCE)
        attacker.kill()


class _Peer:
    """One hostile connection, and what it still sends before it repeats itself."""

    def __init__(self, address: tuple[str, int], peers: Peers) -> None:
        self.socket = socket.socket()
        if not peers.reads:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.connect(address)
        self.socket.setblocking(False)
        self.pending = memoryview(peers.first + peers.then)
        self.sent = 0

    def step(self, peers: Peers) -> bool:
        """Send and read as far as the socket lets it; return whether the connection goes on."""
        try:
            if peers.reads:
                with suppress(BlockingIOError):
                    if not self.socket.recv(1 << 18):
                        return False
            if self.pending:
                count = self.socket.send(self.pending)
                self.pending, self.sent = self.pending[count:], self.sent + count
                if not self.pending and peers.then:
                    self.pending = memoryview(peers.then)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if peers.resets and self.sent >= peers.resets:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return False
        return True


def _attack(address: tuple[str, int], peers: Peers, ready: threading.Event, ended: threading.Event) -> None:
    selector = selectors.DefaultSelector()

    def begin() -> None:
        peer = _Peer(address, peers)
        wanted = selectors.EVENT_WRITE | (selectors.EVENT_READ if peers.reads else 0)
        selector.register(peer.socket, wanted, peer)

    blocked: list[_Peer] = []
    for _ in range(peers.count):
        begin()
    ready.set()
    while not ended.is_set():
        for key, _ in selector.select(0.1):
            if not key.data.step(peers):
                selector.unregister(key.data.socket)
                key.data.socket.close()
                with suppress(OSError):
                    begin()
            elif not (key.data.pending or peers.reads):
                selector.unregister(key.data.socket)
                blocked.append(key.data)  # it holds what it has sent, and waits


def waits(target: Target, attackers: int, reports: int = 200, seconds: float = 20.0) -> list[float]:
    """Return, sorted, the seconds of honest reports beside connections that pipeline refused requests."""
    peers = Peers(attackers, then=target.refused * 2000, reads=True)
    with attacking(target, peers):
        measured: list[float] = []
        stop = time.monotonic() + seconds
        while len(measured) < reports and time.monotonic() < stop:
            measured.append(report_seconds(target))
    return sorted(measured)


def lines_of_resets(name: str, folder: Path, seconds: float = 8.0) -> int:
    """Return how many lines a server logs of peers that pipeline 4 MB and reset their connections."""
    with running(name, folder) as target:
        before = len(target.lines)
        with attacking(target, Peers(20, then=target.refused * 2000, resets=4_000_000)):
            time.sleep(seconds)
        assert report_seconds(target) < PATIENCE
    return len(target.lines) - before


def hoards(target: Target, connections: int) -> Mapping[str, Peers]:
    """Return attacks on a server's memory, by name."""
    head = b"POST %b HTTP/1.1\r\nContent-Type: application/json\r\n" % target.path.encode()
    fields = b"".join(b"a%d:\r\n" % number for number in range(20_000))
    large = b"".join(b"b%d: %b\r\n" % (number, b"x" * 310) for number in range(95))
    limit = 1 << 20 if target.path == "/v1/reports" else 1 << 16
    page = b"GET /openapi.json HTTP/1.1\r\n\r\n" if target.path == "/v1/reports" else b"GET /nowhere HTTP/1.1\r\n\r\n"
    return {
        "pipelined": Peers(connections, then=target.refused * 2000),
        "partial heads": Peers(connections, head + fields[: (1 << 15) - 200]),
        "partial bodies": Peers(connections, head + b"Content-Length: %d\r\n\r\n" % limit + b"x" * (limit - 1)),
        "partial chunks": Peers(connections, head + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 100_000),
        "large heads": Peers(connections, head + large + b"Content-Length: 9\r\n\r\n"),
        "requests in work": Peers(connections, then=(page[:-2] + large + b"\r\n") * 20),
        "unread answers": Peers(connections, then=page * 1000),
    }


def grown(target: Target, peers: Peers, seconds: float = 10.0) -> float:
    """Return by how many MiB the peak of a server's memory exceeds its rest while these peers attack it."""
    for path in ("/openapi.json", "/nowhere"):
        with closing(http.client.HTTPConnection(*target.address, timeout=PATIENCE)) as device:
            device.request("GET", path)
            device.getresponse().read()
    rest = memory_of(target.pid, "VmRSS")
    forget_peak(target.pid)
    with attacking(target, peers):
        time.sleep(seconds)
        return memory_of(target.pid, "VmHWM") - rest


_SMUGGLED = b"GET /smuggled HTTP/1.1\r\n\r\n"

_FRAMES: Mapping[str, tuple[bytes, bytes]] = {
    "HTTP/1.0 with chunks": (
        b"POST /nowhere HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + _SMUGGLED,
        b"404",
    ),
    "chunks": (b"POST /nowhere HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + _SMUGGLED, b"404"),
    "a head of 33 KiB": (b"GET / HTTP/1.1\r\nX: " + b"a" * 33_792 + b"\r\n\r\n" + _SMUGGLED, b"431"),
    "101 headers": (b"GET / HTTP/1.1\r\n" + b"X: \r\n" * 101 + b"\r\n" + _SMUGGLED, b"431"),
    "RTSP": (b"OPTIONS * RTSP/1.0\r\n\r\n" + _SMUGGLED, b"400"),
    "ICE": (b"SOURCE / ICE/1.0\r\n\r\n" + _SMUGGLED, b"400"),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"400"),
    "both lengths": (
        b"POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + _SMUGGLED,
        b"400",
    ),
    "a length twice": (b"POST / HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n" + _SMUGGLED, b"400"),
    "LF alone": (b"GET / HTTP/1.1\nHost: x\n\n" + _SMUGGLED, b"400"),
    "a folded header": (b"GET / HTTP/1.1\r\nX: a\r\n b\r\n\r\n" + _SMUGGLED, b"400"),
}


def misread(target: Target) -> list[str]:
    """Return which frames get another answer than the one they must have, or any answer beside it."""
    wrong = []
    for name, (data, status) in _FRAMES.items():
        with socket.create_connection(target.address, 5) as peer:
            answers = b""
            with suppress(OSError):
                peer.sendall(data)
                while part := peer.recv(1 << 16):
                    answers += part
        if answers.count(b"HTTP/1.1 ") != 1 or not answers.startswith(b"HTTP/1.1 " + status):
            wrong.append(name)
    return wrong
