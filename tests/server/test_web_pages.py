"""Real collectors and the requests of browsers, byte by byte: which pages report, and what they may read."""

import re
import signal
import socket
import sqlite3
from contextlib import closing
from datetime import date
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from dither_server.store import Store
from server.collecting import THEME, batch, running
from server.test_process import PATIENCE, tally

APP = b"https://app.example"
LISTED = ("--open", "report", "--origins", f"{APP.decode()}, http://localhost:3000")
CLOSED = ("--open", "")


def ask(
    url: str, *headers: bytes, body: bytes | None = None, content_type: bytes = b"text/plain;charset=UTF-8"
) -> bytes:
    """The whole answer to a POST with these headers; of the collector's host, unless they name another."""
    content = batch().encode() if body is None else body
    lines = [b"POST /v1/reports HTTP/1.1", b"Connection: close", *headers]
    if not any(line.startswith(b"Host:") for line in headers):
        lines.append(b"Host: " + url.removeprefix("http://").encode())
    if not any(line.startswith(b"Content-Length:") for line in headers):
        lines.append(b"Content-Length: %d" % len(content))
    return raw(url, b"\r\n".join([*lines, b"Content-Type: " + content_type, b"", content]))


def raw(url: str, request: bytes) -> bytes:
    with socket.create_connection((urlsplit(url).hostname, urlsplit(url).port), PATIENCE) as connection:
        connection.sendall(request)
        return connection.makefile("rb").read()


def status(answer: bytes) -> int:
    return int(answer.split()[1])


def shared_with(answer: bytes) -> list[bytes]:
    """The origins whose pages may read the answer."""
    return re.findall(rb"(?i)access-control-allow-origin: ([^\r]*)\r\n", answer.partition(b"\r\n\r\n")[0])


def test_only_listed_pages_report(tmp_path: Path) -> None:
    with running(tmp_path, *LISTED) as (url, process):
        for header in (b"Origin: " + APP, b"oRIGIN:\t" + APP + b" ", b"Origin:http://localhost:3000"):
            answer = ask(url, header)
            assert (status(answer), shared_with(answer)) == (202, [header.partition(b":")[2].strip()])
            assert b"\r\nVary: Origin\r\n" in answer
            assert b"\r\nAccess-Control-Expose-Headers: Retry-After\r\n" in answer
        for headers in (
            [b"Origin: " + APP] * 2,
            [b"Origin: " + APP, b"origin: https://evil.example"],
            [b"Origin: https://evil.example", b"Origin: " + APP],
            [b"Origin: " + APP, b"Origin:"],
            *(
                [b"Origin: " + value]
                for value in (
                    b"https://evil.example", b"null", b"", b"HTTPS://app.example", b"https://App.example", APP + b".",
                    APP + b":443", APP + b"/", APP + b"," + APP, b"https://user@app.example", b"https://app.example@x",
                    APP + b"\xff", APP + b"\xa0", APP + b"\x85", b"\xa0" + APP, b"https://\xc3\xa4pp.example",
                    b"http://localhost:3001", b"http://app.example", APP + b"x" * 20_000, url.encode(),
                )
            ),
        ):  # fmt: skip
            for content_type in (b"text/plain", b"application/json"):
                answer = ask(url, *headers, content_type=content_type)
                assert (status(answer), shared_with(answer)) == (403, []), headers
        assert status(ask(url, b"Origin: " + APP + b"x" * 400_000)) == 431
        assert status(ask(url, b"Origin_: " + APP)) == 415  # another header is none
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    assert tally(tmp_path, THEME).total == 9
    with closing(Store(f"sqlite:///{tmp_path}/dither.db", create=False)) as store:
        counts = {one.kind: batches for one, batches in store.refusals.read(None, date.min, date.max).items()}
    assert counts == {"origin": 48, "malformed": 1, "media-type": 1}


def test_listed_page_may_read_errors_that_come_before_its_report_is_read(tmp_path: Path) -> None:
    options = ("--proxies=127.0.0.1", "--connections-per-address=1", "--lock-wait=20", "--request-seconds=1")
    of_page, forwarded = b"Origin: " + APP, b"X-Forwarded-For: 192.0.2.7"
    with (
        running(tmp_path, *LISTED, *options) as (url, _),
        closing(sqlite3.connect(tmp_path / "dither.db", isolation_level=None)) as other,
        closing(socket.socket()) as first,
    ):
        first.settimeout(PATIENCE)
        cases = (
            (413, ask(url, of_page, b"Content-Length: 2000000", body=b"")),
            (400, ask(url, of_page, b"Content-Length: 5", b"Content-Length: 6", body=b"")),
            (408, ask(url, of_page, b"Content-Length: 5", body=b"1")),
        )
        for expected, answer in cases:
            assert (status(answer), shared_with(answer)) == (expected, [APP])
        doubled = ask(url, of_page, of_page, b"Content-Length: 2000000", body=b"")
        assert (status(doubled), shared_with(doubled)) == (413, [])
        other.execute("BEGIN IMMEDIATE")  # what is taken waits
        body = batch().encode()
        head = b"POST /v1/reports HTTP/1.1\r\nContent-Type: text/plain\r\n" + of_page + b"\r\n" + forwarded + b"\r\n"
        first.connect((urlsplit(url).hostname, urlsplit(url).port))
        first.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        tries = iter(range(1000))
        while status(answer := ask(url, of_page, forwarded, body=b"{}")) != 429 and next(tries, None) is not None:
            pass  # the first has not come in yet
        assert status(answer) == 429
        assert b"\r\nRetry-After: 1\r\n" in answer
        assert shared_with(answer) == [APP]
        elsewhere = raw(
            url, b"GET /healthz HTTP/1.1\r\nConnection: close\r\n" + of_page + b"\r\n" + forwarded + b"\r\n\r\n"
        )
        assert (status(elsewhere), shared_with(elsewhere)) == (429, [])
        other.execute("ROLLBACK")
        assert first.recv(1000).startswith(b"HTTP/1.1 202 ")


def test_answers_without_origins_have_no_header_for_pages(tmp_path: Path) -> None:
    with running(tmp_path) as (url, _):
        for expected, answer in (
            (202, ask(url, content_type=b"application/json")),
            (415, ask(url)),
            (413, ask(url, b"Content-Length: 2000000", body=b"")),
        ):
            head = answer.partition(b"\r\n\r\n")[0]
            assert (status(answer), b"Access-Control" in head, b"Vary" in head) == (expected, False, False)


@pytest.mark.parametrize("options", [CLOSED, ("--open", "report")])
def test_web_page_cannot_report_to_a_collector_on_loopback(options: tuple[str, ...], tmp_path: Path) -> None:
    """Not even a page that has rebound its own name to this machine, because its origin stays its own."""
    with running(tmp_path, *options) as (url, _):
        evil = b"evil.example:%d" % (urlsplit(url).port or 0)
        rebound = [b"Host: " + evil, b"Origin: http://" + evil]
        for content_type in (b"text/plain", b"application/json"):
            for headers in ([b"Origin: null"], [b"Origin: " + url.encode()], rebound):
                answer = ask(url, *headers, content_type=content_type)
                assert (status(answer), shared_with(answer)) == (403, [])
        for path in ("/v1/metrics/theme/estimate", "/metrics", "/", "/v1/metrics"):  # by GET no Origin is sent
            line = f"GET {path} HTTP/1.1\r\nConnection: close\r\n".encode()
            assert status(raw(url, line + rebound[0] + b"\r\n\r\n")) == 401
    assert tally(tmp_path, THEME).total == 0
