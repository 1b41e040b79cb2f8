"""Clients that are closed after the test, and a collector on loopback that answers from a script."""

import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import dither
from client.devices import ENDPOINT, METRICS, Calendar, Clock, Make, Script, State, join_uploads
from client.peers import PATIENCE, certificate
from dither.consent.rules import Mode
from dither_shared.bounded_http import Deadline, Stream, connect


@pytest.fixture
def calendar() -> Calendar:
    return Calendar()


@pytest.fixture
def definitions(tmp_path: Path) -> str:
    """Return a metrics.toml of a choice, ``theme``, and of three booleans."""
    path = tmp_path / "metrics.toml"
    booleans = "".join(f'{name} = {{type = "boolean", epsilon = 1.0}}\n' for name in ("first", "second", "third"))
    path.write_text(f'[metrics]\ntheme = {{type = "choice", values = ["light", "dark"], epsilon = 1.0}}\n{booleans}')
    return str(path)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of all uploads' deadlines: on a busy machine tenths of real seconds may pass before connecting."""
    clock = Clock()
    monkeypatch.setattr("dither_shared.bounded_http.Deadline", partial(Deadline, clock=clock))
    return clock


@pytest.fixture
def nearly_over(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    """Leave a tenth of a second of the deadline PATIENCE once there is a connection, however long connecting took."""

    def late(host: str, port: int, deadline: Deadline, *, secure: bool) -> Stream:
        stream = connect(host, port, deadline, secure=secure)
        clock.now += PATIENCE - 0.1
        return stream

    monkeypatch.setattr("dither_shared.bounded_http.connect", late)


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("certificates")


@pytest.fixture(scope="session")
def trusted(certificates: Path) -> ssl.SSLContext:
    return certificate(certificates, "trusted")


@pytest.fixture
def trust(trusted: ssl.SSLContext, certificates: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates / "trusted.pem"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture(params=["memory", "folder"])
def state(request: pytest.FixtureRequest, folder: Path) -> State:
    return folder if request.param == "folder" else dither.MemoryState()


@pytest.fixture
def make(calendar: Calendar) -> Iterator[Make]:
    """Return a function that makes clients with the user's consent, unless ``mode`` says otherwise."""
    made: list[dither.Client] = []

    def new(state: Path | dither.MemoryState | None = None, *, mode: Mode | None = "on", **other: Any) -> dither.Client:
        state = dither.MemoryState() if state is None else state
        usual: dict[str, Any] = {"metrics": METRICS, "endpoint": ENDPOINT, "app": "tests", "state": state}
        usual |= {"transport": Script(), "today": calendar, "background": False, "strict": True, "environ": {}}
        usual |= {"spread": 0.0}
        client = dither.Client(**(usual | other))
        if mode is not None:
            client.consent(mode)
        made.append(client)
        return client

    yield new
    for client in made:
        client.close()
    join_uploads()


@dataclass(frozen=True)
class Arrived:
    """One request, as it came in at the socket."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Collector:
    """A server on loopback: ``answers`` are (status, headers) for the next requests; 202 when they are used up."""

    endpoint: str = ""
    answers: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    arrived: list[Arrived] = field(default_factory=list)
    body: bytes = b""


@pytest.fixture
def collector() -> Iterator[Collector]:
    script = Collector()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            script.arrived.append(Arrived(self.path, dict(self.headers.items()), body))
            status, headers = script.answers.pop(0) if script.answers else (202, {})
            self.send_response(status)
            for name, value in {"Content-Length": str(len(script.body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(script.body)

        def do_GET(self) -> None:
            script.arrived.append(Arrived("followed " + self.path, {}, b""))
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    script.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield script
    server.shutdown()
    server.server_close()
    thread.join()
