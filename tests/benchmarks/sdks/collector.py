"""Servers on loopback: a collector that is down until it is opened, and a server that never answers."""

import gzip
import json
import socket
import sys
import threading
import traceback
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer

__all__ = ["Collector", "black_hole"]


class Collector(ThreadingTCPServer):
    """Holds a port on which connections are refused, until ``open``; then keeps the id of each event that arrives."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler, bind_and_activate=False)
        self.server_bind()
        self.endpoint = f"http://127.0.0.1:{self.server_address[1]}"
        self.arrived: set[str] = set()
        self._thread: threading.Thread | None = None

    def open(self) -> None:
        """Answer from now on."""
        if self._thread is None:
            self.server_activate()
            self._thread = threading.Thread(target=self.serve_forever, daemon=True)
            self._thread.start()

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a client that is killed in the middle of a request."""
        if not isinstance(sys.exception(), ConnectionError):
            traceback.print_exc()

    def server_close(self) -> None:
        """Close the port."""
        if self._thread is not None:
            self.shutdown()
        super().server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.server.arrived |= _ids(self.path, body)
        self.send_response(202 if self.path.startswith("/v1/") else 200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        pass


def _ids(path: str, body: bytes) -> set[str]:
    """Return the ids of the events in a request: of dither's reports, sentry's envelopes, posthog's batches."""
    if path.endswith("/envelope/"):
        header, item, *_ = map(json.loads, body.split(b"\n")[:2])
        return {header["event_id"]} if item["type"] == "event" else set()
    request = json.loads(body)
    if path.startswith("/v1/"):
        return {request["batch"]}
    return {event["uuid"] for event in request.get("batch", ())}


def black_hole() -> socket.socket:
    """Return a socket to which anyone can connect, and which never answers."""
    return socket.create_server(("127.0.0.1", 0), backlog=128)
