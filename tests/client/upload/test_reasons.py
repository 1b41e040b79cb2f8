"""Why an upload failed, in words that a user understands; each from a real socket."""

import socket
import threading
from pathlib import Path
from typing import NoReturn

import pytest

import dither
from client.conftest import Collector
from client.devices import Make
from client.peers import PATIENCE, Peer, certificate, request_of, reset, speaking
from client.upload.test_attempts import told_by
from ports import kept_port


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "401: the collector asks for another token, or for one at all"),
        (404, "404: the collector does not know this metric, or there is none at this address"),
        (409, "409: the collector does not know this version of the metric"),
        (302, "302: it points elsewhere, and is not followed"),
        (503, "503: the collector is busy"),
        (507, "507: the collector failed"),
        (204, "204: not what a collector answers; is there one at this address?"),
    ],
)
def test_an_answer_is_told_in_words(make: Make, collector: Collector, status: int, words: str) -> None:
    client = make(transport=None, endpoint=collector.endpoint)
    assert (client.status().last_attempt, client.status().failed_attempts) == (None, 0)
    client.record("mobile", True)
    collector.answers = [(status, {}), (status, {})]
    assert not client.flush(60)
    assert told_by(client) == (words, 1)
    assert not client.flush(60)
    assert told_by(client) == (words, 2)
    assert client.flush(60)
    attempt = client.status().last_attempt
    assert attempt is not None
    assert (attempt.endpoint, attempt.accepted, client.status().failed_attempts) == (collector.endpoint, True, 0)
    assert client.status().trouble == {}, "nothing is wrong on this device"


def test_nobody_listens(make: Make) -> None:
    with kept_port() as port:
        client = make(transport=None, endpoint=f"http://127.0.0.1:{port}")
        client.record("mobile", True)
        assert not client.flush(60)
    assert told_by(client) == ("connection refused", 1)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (socket.EAI_NONAME, "the name nowhere.example is not known"),
        (socket.EAI_AGAIN, "the name nowhere.example could not be looked up just now"),
    ],
)
def test_a_name_that_does_not_resolve(make: Make, monkeypatch: pytest.MonkeyPatch, number: int, words: str) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise socket.gaierror(number, "Very-Secret")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    client = make(transport=None, endpoint="https://nowhere.example")
    client.record("mobile", True)
    assert not client.flush(60)
    assert told_by(client) == (words, 1)


def test_a_network_that_is_away(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> NoReturn:
        raise OSError(101, "Very-Secret")

    monkeypatch.setattr(socket.socket, "connect", fail)
    client = make(transport=None, endpoint="https://127.0.0.1")
    client.record("mobile", True)
    assert not client.flush(60)
    assert told_by(client) == ("Network is unreachable", 1)


def test_a_certificate_that_does_not_verify(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = certificate(tmp_path, "unknown")
    with speaking(lambda _, connection: request_of(connection), context) as peer:
        client = make(transport=None, endpoint=peer.endpoint)
        client.record("mobile", True)
        assert not client.flush(60)
        words, failures = told_by(client)
        assert words.startswith("the certificate of localhost is not valid: self")
        assert failures == 1
    context = certificate(tmp_path, "other", "-addext", "subjectAltName=DNS:example.org")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "other.pem"))
    with speaking(lambda _, connection: request_of(connection), context) as peer:
        client = make(transport=None, endpoint=peer.endpoint)
        client.record("mobile", True)
        assert not client.flush(60)
        assert told_by(client)[0].startswith("the certificate of localhost is not valid: Hostname mismatch")


def test_what_is_no_tls_and_what_is_no_http(make: Make) -> None:
    with speaking(lambda _, connection: connection.sendall(b"SSH-2.0-OpenSSH\r\n" + b"x" * 99)) as peer:
        for scheme, words in (
            ("https", "no TLS with localhost: wrong version number"),
            ("http", "the answer is not HTTP"),
        ):
            client = make(transport=None, endpoint=f"{scheme}://localhost:{peer.port}")
            client.record("mobile", True)
            assert not client.flush(60)
            assert told_by(client) == (words, 1)


@pytest.mark.usefixtures("nearly_over")
def test_no_answer_in_time(make: Make) -> None:
    gone = threading.Event()
    with speaking(lambda *_: gone.wait(PATIENCE)) as peer:
        client = make(transport=dither.HttpTransport(peer.endpoint, PATIENCE), endpoint=peer.endpoint)
        client.record("mobile", True)
        assert not client.flush(60)
        assert told_by(client) == ("no answer in time", 1)
        gone.set()


def test_a_reset(make: Make) -> None:
    def hang_up(_: Peer, connection: socket.socket) -> None:
        request_of(connection)
        reset(connection)

    with speaking(hang_up) as peer:
        client = make(transport=None, endpoint=peer.endpoint)
        client.record("mobile", True)
        assert not client.flush(60)
        assert told_by(client)[0] in {
            "the connection was cut off",
            "the connection was closed before the answer was complete",
        }
