import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from shutil import which

import pytest

from dither_relay.collector import CollectorClient, RejectedError, TroubleError
from dither_serving.collector_url import CollectorUrl
from dither_shared import ParameterError
from relay.fake_collector import collecting
from relay.relaying import POOLS


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("https://collector.example", (True, "collector.example", 443, "")),
        ("https://collector.example:8443/dither/", (True, "collector.example", 8443, "/dither")),
        ("http://127.0.0.1:8000", (False, "127.0.0.1", 8000, "")),
        ("http://[::1]:8000/", (False, "::1", 8000, "")),
    ],
)
def test_collector_urls_are_parsed(text: str, read: tuple[bool, str, int, str]) -> None:
    assert CollectorUrl.parse("collector", text) == read


@pytest.mark.parametrize(
    "text",
    [
        "",
        "collector.example",
        "ftp://x",
        "https://",
        "https://x:99999",
        "https://u:secret@x",
        "https://x/?a",
        "https://x y",
        "https://x/\r\nHost: y",
    ],
)
def test_invalid_collector_urls_are_refused_without_their_password(text: str) -> None:
    with pytest.raises(ParameterError, match="collector: ") as caught:
        CollectorUrl.parse("collector", text)
    assert "secret" not in str(caught.value)


def test_a_token_can_be_read_without_https() -> None:
    exposed = {
        url: CollectorUrl.parse("collector", url).is_exposed for url in ("http://x", "https://x", "http://localhost:1")
    }
    assert exposed == {"http://x": True, "https://x": False, "http://localhost:1": False}


def test_a_redirect_is_not_followed_and_its_token_goes_nowhere() -> None:
    with collecting(POOLS) as other, collecting(POOLS) as collector:
        collector.answers.append((307, {"Location": f"{other.url}/v1/sealed"}))
        with pytest.raises(RejectedError, match="redirects are not followed"):
            CollectorClient(collector.url, "secret", 5).post(b"{}", 1)
        assert other.tokens == set()


@pytest.mark.skipif(which("openssl") is None, reason="no openssl here")
def test_untrusted_certificate_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The certificate is refused, and taken once it is trusted."""
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    more = ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*made, *more], check=True, capture_output=True)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = b'{"pools": [], "batch_limit": 1, "body_limit": 1}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    class Server(HTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """Print nothing about a handshake that was broken off."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with Server(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        url = f"https://localhost:{server.server_address[1]}"
        with pytest.raises(TroubleError, match="certificate is not valid"):
            CollectorClient(url, "", 5).listing()
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert CollectorClient(url, "", 5).listing()[1]["batch_limit"] == 1
        server.shutdown()
        thread.join()


def test_control_characters_of_the_collectors_answer_are_dropped() -> None:
    with collecting(POOLS) as collector:
        collector.answers.append(400)
        with pytest.raises(RejectedError, match=r"so it is: 400$"):
            CollectorClient(collector.url, "", 5).post(b"{}", 1)


@contextmanager
def answering(answer: Callable[[socket.socket], object]) -> Iterator[str]:
    """Answer one connection with fixed bytes; yield the URL."""

    def serve() -> None:
        with suppress(OSError), listener.accept()[0] as peer:
            peer.recv(1 << 16)
            answer(peer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join()


def accepted(body: bytes) -> bytes:
    return b"HTTP/1.1 202 Accepted\r\nContent-Length: %d\r\n\r\n" % len(body) + body


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 60_000,
        b"[]",
        b"",
        b'{"accepted": Infinity, "refused": 0}',
        b'{"accepted": 1, "refused": -1}',
        b'{"accepted": 1, "refused": 1' + b"0" * 30 + b"}",
        b'{"accepted": true, "refused": "0"}',
    ],
    ids=lambda body: body[:40].decode(),
)
def test_invalid_receipt_is_rejected(body: bytes) -> None:
    with answering(lambda peer: peer.sendall(accepted(body))) as url, pytest.raises(RejectedError, match="receipt"):
        CollectorClient(url, "", 30).post(b"{}", 1)


@pytest.mark.parametrize("status", [b"200 OK", b"400 No"])
def test_deeply_nested_answer_is_rejected(status: bytes) -> None:
    deep = accepted(b"[" * 60_000).replace(b"202 Accepted", status)
    with answering(lambda peer: peer.sendall(deep)) as url, pytest.raises(RejectedError):
        CollectorClient(url, "", 30).listing()


def test_endless_answer_is_read_up_to_the_limit() -> None:
    taken = []

    def answer(peer: socket.socket) -> None:
        peer.sendall(b"HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n7fffffff\r\n")
        for _ in range(64):
            peer.sendall(bytes(1 << 20))
            taken.append(1)

    with answering(answer) as url, pytest.raises(RejectedError, match="more than 65536 bytes"):
        CollectorClient(url, "", 30).post(b"{}", 1)
    assert len(taken) < 64


def test_answer_that_never_begins_times_out() -> None:
    gone = threading.Event()
    with answering(lambda _: gone.wait(60)) as url:
        with pytest.raises(TroubleError, match=r"no complete answer within 0\.3 seconds"):
            CollectorClient(url, "", 0.3).post(b"{}", 1)
        gone.set()


@pytest.mark.parametrize("part", [b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 202 Accepted\r\nA: b\r\n", b""])
def test_answer_that_never_ends_is_cut_off_at_the_deadline(part: bytes) -> None:
    """The deadline holds although there is always something to read."""

    def answer(peer: socket.socket) -> None:
        start = part or b"HTTP/1.1 202 Accepted\r\nContent-Length: 60000\r\n\r\n"
        peer.sendall(start)
        while True:
            peer.sendall(part if part.endswith(b"\r\n\r\n") else b"x")
            gone.wait(0.05)

    gone = threading.Event()
    with answering(answer) as url, pytest.raises(TroubleError, match=r"in 0\.3 seconds"):
        CollectorClient(url, "", 0.3).post(b"{}", 1)


def test_truncated_answer_is_trouble_and_not_a_rejection() -> None:
    whole = accepted(b'{"accepted": 1, "refused": 0}')
    with answering(lambda peer: peer.sendall(whole[:-9])) as url, pytest.raises(TroubleError):
        CollectorClient(url, "", 30).post(b"{}", 1)


def test_answer_that_is_no_http_is_reported_in_a_short_line() -> None:
    strange = b"\x1b[31mnot HTTP\x07" + b"A" * 50_000 + b"\r\n\r\n"
    with answering(lambda peer: peer.sendall(strange)) as url, pytest.raises(TroubleError) as caught:
        CollectorClient(url, "", 30).post(b"{}", 1)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400
