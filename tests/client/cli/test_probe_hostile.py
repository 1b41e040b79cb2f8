"""Probing a hostile collector is bounded in time and memory, and prints nothing raw to the terminal."""

import json
import socket
import tracemalloc
from contextlib import suppress

import pytest

from client.cli.probed import OPEN, answering, listening, probe_results
from client.devices import THEME
from client.peers import Handler
from dither import __main__ as program
from dither.cli import probe


def pouring(head: bytes, piece: bytes) -> Handler:
    """Return a script that sends without end until the client hangs up."""

    def handle(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(head)
        while True:
            connection.sendall(piece)

    return handle


POURS = {  # heads without end are those of tests/client/upload/test_hostile_peer.py
    "body": pouring(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 65536),
    "long body": pouring(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % 10**15, b"x" * 65536),
    "negative chunk": pouring(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", b"x" * 65536),
    "large chunk": pouring(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffff\r\n", b"x" * 65536),
    "tiny chunks": pouring(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 1000),
    "trailers": pouring(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"A: b\r\n" * 1000),
}


@pytest.mark.parametrize("what", POURS)
def test_probe_does_not_read_an_endless_body(what: str) -> None:
    with listening(POURS[what]) as port:
        probe_results(f"http://127.0.0.1:{port}")  # the first call loads modules
        tracemalloc.start()
        try:
            finding = probe_results(f"http://127.0.0.1:{port}")[-1]
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert (finding.step, finding.result) == ("collector", "failed")
    assert peak < 1_250_000, "64 KiB in chunks of a byte take 1.12 MB in Python 3.14; all that is sent takes 1.5 MB"


def dripping(connection: socket.socket) -> None:
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 200 OK\r\nX-A: ")
    connection.settimeout(0.02)
    while True:
        with suppress(TimeoutError):
            if not connection.recv(1):  # the client has hung up
                return
        connection.sendall(b"a")


def test_probe_has_one_deadline_for_all_its_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """One deadline covers all metrics if a collector stops answering."""
    monkeypatch.setattr(probe, "_SECONDS", 0.5 - 5)
    remaining = [answering((200, OPEN))]

    def tiring(connection: socket.socket) -> None:
        (remaining.pop() if remaining else dripping)(connection)

    with listening(tiring) as port:
        findings = probe_results(f"http://127.0.0.1:{port}", *[THEME] * 5)
    assert [finding.result for finding in findings[-5:]] == ["failed"] * 5
    assert all("took too long" in finding.says for finding in findings[-5:])


HOSTILE = "\x1b]0;owned\x07\x1b[2J\u202e\x9b31m"


@pytest.mark.parametrize("options", [[], ["--json"]])
@pytest.mark.parametrize("status", [200, 302, 404])
def test_probe_escapes_everything_that_a_collector_answers(
    status: int, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    more = f"Location: https://elsewhere/{HOSTILE}\r\nServer: {HOSTILE}\r\n"
    body = json.dumps({"type": HOSTILE, "detail": HOSTILE, "collector": HOSTILE}, ensure_ascii=False)
    with listening(answering((status, body, more))) as port:
        assert program.main(["test", "--endpoint", f"http://127.0.0.1:{port}", *options]) == 1
    printed = capsys.readouterr().out
    assert printed.isascii()
    assert printed.replace("\n", "").isprintable()
    assert ("https://elsewhere/" in printed) is (status == 302)
