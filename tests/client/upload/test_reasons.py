"""The reason of a failed upload, in words that a user understands; each case at a real socket."""

import socket
import threading
from pathlib import Path
from typing import NoReturn

import pytest

import dither
from client.conftest import Collector
from client.devices import Make
from client.peers import PATIENCE, Peer, certificate, request_of, reset, serving
from client.upload.test_attempts import last_result
from dither.cli.text import attempt_text
from ports import kept_port


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "401: the collector requires a token, or does not know this one"),
        (404, "404: the collector does not know this metric, or there is none at this address"),
        (302, "302: the endpoint redirects; the client does not follow"),
        (507, "507: the collector failed"),
        (204, "204: not an answer of a collector; is there one at this address?"),
    ],
)
def test_reason_of_each_failing_status_is_stated(make: Make, collector: Collector, status: int, words: str) -> None:
    client = make(transport=None, endpoint=collector.endpoint)
    assert (client.status().last_attempt, client.status().failed_attempts) == (None, 0)
    client.record("mobile", True)
    collector.answers = [(status, {}), (status, {})]
    for failures in (1, 2):
        assert not client.flush(60)
        assert last_result(client) == (words, failures)
    failed = client.status().last_attempt
    assert failed is not None
    assert attempt_text(failed, 2).endswith(f"{words} (2 attempts failed since the last success)")
    assert client.flush(60)
    attempt = client.status().last_attempt
    assert attempt is not None
    assert (attempt.endpoint, attempt.accepted, client.status().failed_attempts) == (collector.endpoint, True, 0)
    assert client.status().trouble == {}, "nothing is wrong on this device"


def failure(make: Make, endpoint: str, transport: dither.HttpTransport | None = None) -> str:
    """Return why an upload to an endpoint failed, in words."""
    client = make(transport=transport, endpoint=endpoint)
    client.record("mobile", True)
    assert not client.flush(60)
    words, failures = last_result(client)
    assert (failures, client.status().queued, client.status().trouble) == (1, 1, {})
    return words


def test_reason_of_a_refused_connection_is_stated(make: Make) -> None:
    with kept_port() as port:
        assert failure(make, f"http://127.0.0.1:{port}") == "connection refused"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (socket.gaierror(socket.EAI_NONAME, "Very-Secret"), "the name nowhere.example is not known"),
        (socket.gaierror(socket.EAI_AGAIN, "Very-Secret"), "the name nowhere.example could not be looked up just now"),
        (OSError(101, "Very-Secret"), "Network is unreachable"),
    ],
)
def test_reason_of_an_unresolved_name_or_missing_network_is_stated(
    make: Make, monkeypatch: pytest.MonkeyPatch, error: OSError, words: str
) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise error

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    assert failure(make, "https://nowhere.example") == words


def test_reason_of_an_unverified_certificate_is_stated(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    invalid = "the certificate of localhost is not valid: "
    context = certificate(tmp_path, "unknown")
    with serving(lambda _, connection: request_of(connection), context) as peer:
        assert failure(make, peer.endpoint).startswith(f"{invalid}self")
    context = certificate(tmp_path, "other", "-addext", "subjectAltName=DNS:example.org")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "other.pem"))
    with serving(lambda _, connection: request_of(connection), context) as peer:
        assert failure(make, peer.endpoint).startswith(f"{invalid}Hostname mismatch")


def test_reason_of_a_server_of_another_protocol_is_stated(make: Make) -> None:
    with serving(lambda _, connection: connection.sendall(b"SSH-2.0-OpenSSH\r\n" + b"x" * 99)) as peer:
        assert failure(make, f"https://localhost:{peer.port}") == "no TLS with localhost: wrong version number"
        assert failure(make, f"http://localhost:{peer.port}") == "the answer is not HTTP"


@pytest.mark.usefixtures("nearly_over")
def test_reason_of_a_missing_answer_is_stated(make: Make) -> None:
    gone = threading.Event()
    with serving(lambda *_: gone.wait(PATIENCE)) as peer:
        words = failure(make, peer.endpoint, dither.HttpTransport(peer.endpoint, PATIENCE))
        assert words == "no answer in time"
        gone.set()


def test_reason_of_a_reset_connection_is_stated(make: Make) -> None:
    def hang_up(_: Peer, connection: socket.socket) -> None:
        request_of(connection)
        reset(connection)

    cut_off = {"the connection was cut off", "the connection was closed before the answer was complete"}
    with serving(hang_up) as peer:
        assert failure(make, peer.endpoint) in cut_off
