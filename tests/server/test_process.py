"""A real collector process: its socket, its signals, and what survives kill -9."""

import base64
import http.client
import json
import signal
import socket
import sqlite3
import struct
import sys
import threading
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from dither_server.store import Store
from dither_server.tally.tally import Tally
from dither_serving.server import listen
from dither_shared import Metric, ParameterError
from end_to_end.searching import disk
from server.collecting import METRICS, METRICS_TOML, THEME, VERSION, batch, by_kind, rows_of, running, same
from server.ingest.sealed.sealing import drawn

JSON = {"Content-Type": "application/json"}
PATIENCE = 60.0
"""Timeout in seconds of steps that take a moment; it passes only if a test fails or the machine is overloaded."""


def connect(url: str) -> http.client.HTTPConnection:
    address = urlsplit(url)
    return http.client.HTTPConnection(address.hostname or "", address.port, timeout=PATIENCE)


def tally(folder: Path, metric: Metric) -> Tally:
    with closing(Store(f"sqlite:///{folder}/dither.db", create=False)) as store:
        return store.tally(metric)


def test_collector_serves_until_it_is_asked_to_end(tmp_path: Path) -> None:
    with running(tmp_path) as (url, process):
        assert url.startswith("http://127.0.0.1:")
        with closing(connect(url)) as connection:
            connection.request("POST", "/v1/reports", batch().encode(), JSON)
            response = connection.getresponse()
            assert (response.status, response.read()) == (202, b'{"accepted": 3}')
            connection.request("GET", "/v1/metrics/theme/estimate")
            assert connection.getresponse().read().count(b'"value"') == 4
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, output) == (0, "")
    assert not (tmp_path / "dither.db-wal").exists()  # the file is whole by itself
    assert [line.split(":")[0] for line in errors.splitlines()] == list(METRICS)
    assert "theme: randomized-response, ε = 1 for each report; if your answer is dark, we see it" in errors
    assert tally(tmp_path, THEME).total == 3


def test_chunked_bodies_are_read_and_large_ones_refused_unread(tmp_path: Path) -> None:
    """Chunked bodies are read to their end; one that is too large is refused before that."""
    with running(tmp_path) as (url, process):
        body = batch().encode()
        with closing(connect(url)) as connection:
            connection.request("POST", "/v1/reports", iter([body[:20], body[20:]]), JSON, encode_chunked=True)
            response = connection.getresponse()
            assert (response.status, response.read()) == (202, b'{"accepted": 3}')
        with closing(connect(url)) as connection:
            for headers in (JSON | {"Authorization": "Bearer x"}, JSON):  # one by a thread, one without
                connection.request("POST", "/v1/reports", batch().encode(), headers)
                response = connection.getresponse()
                assert (response.status, response.read()) == (202, b'{"accepted": 3}')
        for length in (1_048_577, 10_000_000):
            with closing(connect(url)) as connection:
                connection.putrequest("POST", "/v1/reports")
                connection.putheader("Content-Type", "application/json")
                connection.putheader("Content-Length", str(length))
                connection.endheaders()  # and not a byte of the body
                response = connection.getresponse()
                assert (response.status, response.headers["Content-Type"]) == (413, "application/problem+json")
                assert b"urn:dither:problem:too-large" in response.read()
        with socket.create_connection((urlsplit(url).hostname, urlsplit(url).port), PATIENCE) as stray:
            stray.sendall(b"no HTTP at all\r\n\r\n")
            assert b"400 Bad Request" in (answer := stray.makefile("rb").read())
            assert b"application/problem+json" in answer
        with closing(connect(url)) as connection:
            connection.request("POST", "/v1/reports", body + b" " * (1_048_576 - len(body)), JSON)
            assert connection.getresponse().status == 202
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0


def test_collector_that_is_asked_to_end_answers_what_it_has_taken(tmp_path: Path) -> None:
    with (
        running(tmp_path, "--lock-wait", "20") as (url, process),
        closing(sqlite3.connect(tmp_path / "dither.db", isolation_level=None)) as other,
        ExitStack() as stack,
    ):
        other.execute("BEGIN IMMEDIATE")  # nothing can be committed yet
        devices = [stack.enter_context(closing(connect(url))) for _ in range(20)]
        for device in devices:
            device.request("POST", "/v1/reports", batch().encode(), JSON)
        with closing(connect(url)) as connection:  # its answer comes when all that was sent before has been read
            connection.request("GET", "/healthz")
            assert connection.getresponse().status == 200
        process.send_signal(signal.SIGTERM)
        other.execute("ROLLBACK")
        assert [device.getresponse().status for device in devices] == [202] * 20
        assert process.wait(PATIENCE) == 0
    assert tally(tmp_path, THEME).total == 60


@pytest.mark.slow  # it waits for 5 seconds, as the collector does for peers
def test_collector_that_is_asked_to_end_cuts_peers_that_do_not_read(tmp_path: Path) -> None:
    values = ", ".join(f'"{number:032}"' for number in range(20_000))
    toml = f'[metrics.wide]\ntype = "choice"\nvalues = [{values}]\nepsilon = 2.0\n'
    with running(tmp_path, "--request-seconds", "600", toml=toml) as (url, process), ExitStack() as stack:
        for _ in range(2):
            peer = stack.enter_context(socket.socket())
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            peer.settimeout(PATIENCE)
            peer.connect((urlsplit(url).hostname, urlsplit(url).port))
            peer.sendall(b"GET /v1/metrics/wide/estimate?limit=20000 HTTP/1.1\r\n\r\n")
            assert peer.recv(12) == b"HTTP/1.1 200"  # the first part was sent
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert [line.split(":")[0] for line in errors.splitlines()] == ["wide"]  # no request is reported as failed


def test_device_that_hangs_up_does_not_disturb_the_others(tmp_path: Path) -> None:
    with running(tmp_path) as (url, process):
        address = (urlsplit(url).hostname, urlsplit(url).port)
        body = batch().encode()
        head = b"POST /v1/reports HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        for _ in range(20):
            with socket.create_connection(address, PATIENCE) as rude:
                rude.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # resets, at once
                rude.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        with socket.create_connection(address, PATIENCE) as eager:  # several at once on one connection
            request = head + b"Content-Length: %d\r\n\r\n" % len(body) + body
            eager.sendall(request * 5 + request.replace(b"HTTP/1.1", b"HTTP/1.0"))
            assert eager.makefile("rb").read().count(b'{"accepted": 3}') == 6
        process.terminate()
        _, errors = process.communicate(timeout=PATIENCE)
    assert "could not be written" not in errors
    assert tally(tmp_path, THEME).total == 3


def test_start_names_a_seal_key_without_its_private_key(tmp_path: Path) -> None:
    """Otherwise a relay would find no pool, and all reports would wait in vain."""
    key = drawn().public
    with running(tmp_path, toml=f'{METRICS_TOML}[seal]\nkey = "{key}"\n') as (_, process):
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=PATIENCE)
    assert f"seal.key is {key.fingerprint}, which {tmp_path}/seal-keys.json does not hold" in errors


def test_port_in_use_is_reported_in_one_line(tmp_path: Path) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        running(tmp_path, "--port", str(taken.getsockname()[1])) as (url, process),
    ):
        _, errors = process.communicate(timeout=PATIENCE)
    assert (url, process.returncode) == ("", 1)
    assert errors.count("\n") == 1
    assert "cannot listen there: Address already in use" in errors


def test_nonexistent_host_is_reported_in_words() -> None:
    with pytest.raises(ParameterError, match=r"^a\.\.b:0: cannot listen there: not an address of this machine; choose"):
        listen("a..b", 0)


class Device(threading.Thread):
    """Sends bodies one by one; keeps for the next try what was not acknowledged."""

    def __init__(self, url: str, bodies: Sequence[bytes], acknowledged: threading.Semaphore) -> None:
        super().__init__()
        self.url = url
        self.bodies = bodies
        self.left: list[bytes] = []
        self.acknowledged = acknowledged

    def run(self) -> None:
        with closing(connect(self.url)) as connection:
            for position, body in enumerate(self.bodies):
                try:
                    connection.request("POST", "/v1/reports", body, JSON)
                    response = connection.getresponse()
                    response.read()
                except (OSError, http.client.HTTPException):
                    self.left = list(self.bodies[position:])
                    return
                assert response.status == 202
                self.acknowledged.release()


def send(url: str, bodies: Sequence[bytes], kill_after: int, kill: "threading.Event") -> list[bytes]:
    """Send bodies from several devices; set ``kill`` after some are acknowledged; return those that were not."""
    acknowledged = threading.Semaphore(0)
    devices = [Device(url, bodies[first::8], acknowledged) for first in range(8)]
    for device in devices:
        device.start()
    for _ in range(min(kill_after, len(bodies))):
        assert acknowledged.acquire(timeout=PATIENCE)
    kill.set()
    for device in devices:
        device.join()
    return [body for device in devices for body in device.left]


def test_acknowledged_report_is_counted_once_after_kill_9(tmp_path: Path) -> None:
    rows = {metric: [rows_of(metric, 1, bytes([n % 251, n // 251])) for n in range(200)] for metric in (THEME, VERSION)}
    waiting = [batch(metric, row).encode() for metric in rows for row in rows[metric]]
    for cycle in range(3):
        with running(tmp_path) as (url, process):
            kill = threading.Event()
            killer = threading.Thread(target=lambda e=kill, p=process: (e.wait(), p.kill()))
            killer.start()
            before = len(waiting)
            waiting = send(url, waiting, 40 + 17 * cycle, kill)
            killer.join()
            process.communicate(timeout=PATIENCE)
        assert 0 < len(waiting) < before
    with running(tmp_path) as (url, process):
        assert send(url, waiting, len(waiting), threading.Event()) == []
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
    for metric, sent in rows.items():
        assert same(tally(tmp_path, metric), Tally.fold(metric.mechanism, b"".join(sent)))


def test_a_length_that_cannot_be_is_answered_logged_once_and_counted(tmp_path: Path) -> None:
    lengths = ["9" * 4400, "+5", "-1", "5,5", "5\r\nContent-Length: 5", "5\r\nContent-Length: 6", "\xb2", "0x5"]
    with running(tmp_path) as (url, process):
        address = (urlsplit(url).hostname, urlsplit(url).port)
        for length in lengths:
            head = "POST /v1/reports HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            with socket.create_connection(address, PATIENCE) as stray:
                stray.sendall(f"{head}Content-Length: {length}\r\n\r\n12345".encode("latin-1"))
                assert b" 400 " in stray.makefile("rb").readline()
        with closing(connect(url)) as connection:
            connection.request("GET", "/metrics")
            metrics = connection.getresponse().read().decode()
        process.terminate()
        _, errors = process.communicate(timeout=PATIENCE)
    assert f'dither_ingest_answers_total{{status="400"}} {len(lengths)}.0' in metrics
    (line,) = [line for line in errors.splitlines() if line.startswith("{")]
    assert json.loads(line)["message"].startswith(
        "a batch was refused: malformed, metric unknown, version unknown, unread; 1 refused since the last such line"
    )
    assert f'dither_unread_requests_total{{status="400"}} {len(lengths)}.0' in metrics
    with closing(Store(f"sqlite:///{tmp_path}/dither.db", create=False)) as store:
        assert by_kind(store, "") == {"malformed": len(lengths)}


@pytest.mark.skipif(sys.platform != "linux", reason="the whole of 127.0.0.0/8 is this machine on Linux alone")
def test_sender_of_a_report_is_written_nowhere(tmp_path: Path) -> None:
    """Neither counted nor refused reports leave their address, User-Agent, token or batch's bytes behind."""
    rows = rows_of(THEME, 60)
    sent = batch(rows=rows).encode()
    mine = ("127.9.83.21", "Spy/7.83 (of somebody)", "a-token-of-nobody")
    with running(tmp_path, "--log-level", "debug") as (url, process):
        address = urlsplit(url)
        for body, status in ((sent, 202), (b'{"batch": "no such thing"}', 400)):
            sender = http.client.HTTPConnection(
                address.hostname or "", address.port, timeout=PATIENCE, source_address=(mine[0], 0)
            )
            with closing(sender):
                headers = {"User-Agent": mine[1], "Authorization": f"Bearer {mine[2]}", "X-Request-Id": mine[1]}
                sender.request("POST", "/v1/reports", body, JSON | headers)
                assert sender.getresponse().status == status
        while_it_runs = b"".join(disk(tmp_path))
        process.terminate()
        output, errors = process.communicate(timeout=PATIENCE)
    held = while_it_runs + b"".join(disk(tmp_path)) + (output + errors).encode()
    assert THEME.version.encode() in held  # the search finds bytes that are there
    assert tally(tmp_path, THEME).total == 60
    for content in (*(text.encode() for text in mine), rows, base64.b64encode(rows), b"no such thing"):
        assert content not in held, content
