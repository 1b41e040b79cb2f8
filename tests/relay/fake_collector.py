"""A collector that opens nothing, behind a real socket: it keeps what relays send, and may fail."""

import json
import socket
import threading
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from dither_shared.sealed import ONCE, Pool, SealedBatch

LOST = -1
"""In place of a status: count the body, then cut the connection without an answer."""

ROW = 3
"""Bytes of a row, before it is sealed."""


class FakeCollector:
    """Counts each batch once by its id, and answers with the next status of ``answers``, if any, else 202.

    Answers to posts wait for ``gate``. ``receipt`` replaces the counts in a receipt.
    """

    def __init__(self, pools: Sequence[tuple[str, str, int]], batch_limit: int, body_limit: int) -> None:
        self.pools = list(pools)
        self.batch_limit = batch_limit
        self.body_limit = body_limit
        self.answers: deque[int | tuple[int, dict[str, str]]] = deque()
        self.batches: dict[str, list[bytes]] = {}
        self.totals: dict[str, int] = {}
        self.bodies: list[bytes] = []
        self.tokens: set[str | None] = set()
        self.asked = 0
        self.listing: Any = None
        self.arrived = threading.Event()
        self.gate = threading.Event()
        self.gate.set()
        self.url = ""
        self.row_bytes = ROW
        self.receipt: dict[str, int] | None = None

    def rows(self) -> Counter[bytes]:
        """Return how often each sealed row was counted."""
        return Counter(row for rows in self.batches.values() for row in rows)

    def listed(self) -> Any:
        """Return the answer to a request for the list of pools."""
        pools = [
            {"pool": Pool.of(series, ONCE).digest, "suite": suite, "length": length}
            for series, suite, length in self.pools
        ]
        return self.listing or {"pools": pools, "batch_limit": self.batch_limit, "body_limit": self.body_limit}

    def count(self, body: bytes) -> int:
        """Count a body as a collector does; return how many rows it has."""
        batch = SealedBatch.decode(body)
        rows = batch.split(self.row_bytes)
        assert len(rows) <= self.batch_limit
        assert len(body) <= self.body_limit
        self.bodies.append(body)
        self.batches[batch.batch] = rows
        self.totals[batch.batch] = batch.total
        return len(rows)


def _handler(collector: FakeCollector) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            collector.asked += 1
            collector.tokens.add(self.headers["Authorization"])
            self._answer(200, collector.listed())

        def do_POST(self) -> None:
            collector.tokens.add(self.headers["Authorization"])
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.arrived.set()
            collector.gate.wait(120)
            status = collector.answers.popleft() if collector.answers else 202
            more: dict[str, str] = {}
            if isinstance(status, tuple):
                status, more = status
            if status not in {202, LOST}:
                self._answer(status, {"detail": f"so it is: {status}"}, more)
                return
            rows = collector.count(body)
            if status == LOST:
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            self._answer(202, collector.receipt or {"accepted": rows, "refused": 0})

        def _answer(self, status: int, content: object, more: dict[str, str] | None = None) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **(more or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Print nothing about a connection that was cut on purpose."""


@contextmanager
def collecting(
    pools: Sequence[tuple[str, str, int]], batch_limit: int = 100_000, body_limit: int = 1 << 20
) -> Iterator[FakeCollector]:
    """Yield a collector that listens."""
    collector = FakeCollector(pools, batch_limit, body_limit)
    server = _Server(("127.0.0.1", 0), _handler(collector))
    collector.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        collector.gate.set()
        server.shutdown()
        server.server_close()
        thread.join()
