import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from shutil import which

import pytest

from dither_relay.collector import Collector, RejectedError, TroubleError
from dither_relay.collector_url import CollectorUrl
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
def test_urls(text: str, read: tuple[bool, str, int, str]) -> None:
    assert CollectorUrl.parse(text) == read


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
    ],
)
def test_what_is_no_url(text: str) -> None:
    with pytest.raises(ParameterError, match="collector: ") as caught:
        CollectorUrl.parse(text)
    assert "secret" not in str(caught.value)


def test_a_token_can_be_read_without_https() -> None:
    exposed = {url: CollectorUrl.parse(url).is_exposed for url in ("http://x", "https://x", "http://localhost:1")}
    assert exposed == {"http://x": True, "https://x": False, "http://localhost:1": False}


def test_a_redirect_is_not_followed_and_its_token_goes_nowhere() -> None:
    with collecting(POOLS) as other, collecting(POOLS) as collector:
        collector.answers.append((307, {"Location": f"{other.url}/v1/sealed"}))
        with pytest.raises(RejectedError, match="redirects are not followed"):
            Collector(collector.url, "secret", 5).post(b"{}")
        assert other.tokens == set()


@pytest.mark.skipif(which("openssl") is None, reason="no openssl here")
def test_a_certificate_that_nobody_vouches_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused, and taken once it is trusted."""
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
            """Say nothing of a handshake that was broken off."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with Server(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        url = f"https://localhost:{server.server_address[1]}"
        with pytest.raises(TroubleError, match="certificate is not valid"):
            Collector(url, "", 5).listing()
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert Collector(url, "", 5).listing().batch_limit == 1
        server.shutdown()
        thread.join()


def test_what_a_collector_says_cannot_steer_a_terminal() -> None:
    with collecting(POOLS) as collector:
        collector.answers.append(400)
        with pytest.raises(RejectedError, match=r"so it is: 400$"):
            Collector(collector.url, "", 5).post(b"{}")
