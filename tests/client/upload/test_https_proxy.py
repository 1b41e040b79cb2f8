"""A proxy named in the environment is used only if the app asks for it, and learns only the collector's name."""

import socket
import ssl

import pytest

import dither
from client.devices import Make
from client.peers import PATIENCE, Peer, replying_with, request_of, serving
from dither.upload.transport import UnreachableError, failure_reason, proxy_for
from dither_shared.bounded_http import AnswerError

BODY = b'{"batch":"secret"}'


@pytest.fixture(autouse=True)
def environment(trust: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)


def test_proxy_forwards_reports_and_sees_only_the_destination(
    trusted: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bytes] = []

    def handle(peer: Peer, connection: socket.socket) -> None:
        seen.append(request_of(connection))
        connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        with trusted.wrap_socket(connection, server_side=True) as collector:  # from here on the peer is the collector
            seen.append(request_of(collector))
            collector.sendall(b"HTTP/1.1 202 Accepted\r\n\r\n")

    with serving(handle) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://localhost:{proxy.port}")
        transport = dither.HttpTransport("https://localhost:9", PATIENCE, https_proxy=True)
        assert transport.send(BODY) == dither.Answer(202)
    assert seen[0] == b"CONNECT localhost:9 HTTP/1.1\r\nHost: localhost:9\r\n\r\n"
    assert seen[1].startswith(b"POST /v1/reports HTTP/1.1\r\nHost: localhost:9\r\n")
    assert seen[1].endswith(BODY)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "the proxy answered 407"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://elsewhere/\r\n\r\n", "the proxy answered 302"),
        (b"HTTP/1.1 200 OK\r\n\r\n", "no TLS with"),
        (b"SSH-2.0\r\n", "the answer is not HTTP"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 10_000, "header fields"),
    ],
)
def test_proxy_that_does_not_connect_gets_no_byte_of_a_report(
    answer: bytes, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bytes] = []

    def handle(peer: Peer, connection: socket.socket) -> None:
        seen.append(request_of(connection))
        connection.sendall(answer)
        connection.sendall(b"HTTP/1.1 202 Accepted\r\n\r\n")

    with serving(handle) as proxy:
        monkeypatch.setenv("https_proxy", f"localhost:{proxy.port}")
        transport = dither.HttpTransport("https://localhost:9", PATIENCE, https_proxy=True)
        with pytest.raises(UnreachableError) as caught:
            transport.send(BODY)
    assert reason in failure_reason(caught.value, "localhost")
    assert not any(BODY in line for line in seen)


@pytest.mark.parametrize(
    "named", ["http://127.0.0.1:9", "socks5://localhost:1080", "http://me:secret@localhost:1", "https://localhost:1"]
)
def test_unusable_proxy_is_not_bypassed(named: str, trusted: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", named)
    with serving(lambda *_: None, trusted) as peer:
        with pytest.raises(UnreachableError) as caught:
            dither.HttpTransport(peer.endpoint, PATIENCE, https_proxy=True).send(BODY)
        assert peer.connections == 0
    reason = failure_reason(caught.value, "localhost")
    assert reason in {"the proxy cannot be reached", "the proxy in HTTPS_PROXY cannot be used"}
    assert "secret" not in reason


def test_proxy_of_the_environment_is_ignored_unless_the_app_asks_for_it(
    trusted: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch, make: Make
) -> None:
    accepting = replying_with(b"HTTP/1.1 202 Accepted\r\n\r\n")
    with serving(lambda *_: None) as proxy, serving(accepting, trusted) as collector:
        monkeypatch.setenv("HTTPS_PROXY", f"http://localhost:{proxy.port}")
        client = make(transport=None, endpoint=collector.endpoint)
        client.record("mobile", True)
        assert client.flush(PATIENCE)
        monkeypatch.setenv("NO_PROXY", "example.org, localhost")
        assert dither.HttpTransport(collector.endpoint, PATIENCE, https_proxy=True).send(BODY).status == 202
        assert proxy.connections == 0
        monkeypatch.delenv("NO_PROXY")
        wishing = make(transport=None, endpoint=collector.endpoint, https_proxy=True)
        wishing.record("mobile", True)
        assert not wishing.flush(1)
        assert proxy.connections == 1


def test_no_proxy_exempts_names_and_their_subdomains() -> None:
    def proxy(host: str, listed: str) -> object:
        return proxy_for(host, {"HTTPS_PROXY": "http://proxy.example:3128", "NO_PROXY": listed})

    assert proxy("a.example.org", "") == ("proxy.example", 3128)
    assert proxy("a.example.org", "example.org,") is None
    assert proxy("A.Example.ORG", ".example.org") is None
    assert proxy("a.example.org", "*") is None
    assert proxy("notexample.org", "example.org") == ("proxy.example", 3128)
    assert proxy_for("a.example.org", {}) is None
    assert proxy_for("a.example.org", {"https_proxy": "one:1", "HTTPS_PROXY": "two:2"}) == ("one", 1)
    with pytest.raises(AnswerError):
        proxy_for("a.example.org", {"https_proxy": "http://proxy.example:3128/path"})
