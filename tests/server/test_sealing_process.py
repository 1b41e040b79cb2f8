"""Sealed batches and a collector that is killed, that restarts, or whose peer hangs up within a body."""

import http.client
import json
import signal
import socket
from contextlib import closing
from pathlib import Path

import pytest

from dither_server.store import Sealed, Store
from server.collecting import THEME, batch, by_kind, running
from server.database import url_of
from server.ingest.sealed.sealing import batch_of, drawn, keep, sealed_rows
from torture.replay import replayed


def posted(url: str, body: bytes, path: str = "/v1/sealed") -> tuple[int, dict[str, object]]:
    with closing(http.client.HTTPConnection(url.removeprefix("http://"), timeout=30)) as connection:
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, json.loads(response.read())


def test_acknowledged_sealed_batch_is_counted_once_after_kill_and_restart(tmp_path: Path) -> None:
    """Both collectors have a spool; the second can no longer open what the first has taken."""
    key, options = drawn(), ["--spool", f"{tmp_path}/spool"]
    keep(tmp_path / "seal-keys.json", key)
    body = batch_of(THEME, sealed_rows(THEME, key.public, 40)).encode()
    with running(tmp_path, *options) as (url, process):
        assert posted(url, body) == (202, {"accepted": 40, "refused": 0})
        process.send_signal(signal.SIGKILL)
        process.wait()
    keep(tmp_path / "seal-keys.json", drawn())
    with running(tmp_path, *options) as (url, process):
        assert posted(url, body) == (202, {"accepted": 0, "refused": 40})
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
    with closing(Store(url_of(tmp_path), create=False)) as store:
        assert (store.tally(THEME).total, store.sealed(THEME)) == (40, Sealed(1, 40, 40, 0))
        assert by_kind(store, "theme") == {"sealed": 40}


def test_sealed_body_that_ends_early_counts_nothing_and_may_come_again(tmp_path: Path) -> None:
    key = drawn()
    keep(tmp_path / "seal-keys.json", key)
    body = batch_of(THEME, sealed_rows(THEME, key.public, 300)).encode()
    with running(tmp_path) as (url, process):
        host, port = url.removeprefix("http://").split(":")
        head = f"POST /v1/sealed HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        with socket.create_connection((host, int(port)), timeout=30) as torn:
            torn.sendall(head.encode() + b"Content-Length: %d\r\n\r\n" % len(body) + body[:-9])
            torn.shutdown(socket.SHUT_WR)
            torn.recv(1000)  # until the collector has hung up or answered an error
        assert posted(url, batch(THEME).encode(), "/v1/reports")[0] == 202
        with closing(Store(url_of(tmp_path), create=False)) as store:
            assert store.sealed(THEME) is None
        assert posted(url, body) == (202, {"accepted": 300, "refused": 0})
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
    with closing(Store(url_of(tmp_path), create=False)) as store:
        assert store.tally(THEME).total == 303


@pytest.mark.parametrize("way", ["sqlite", "spool", "postgresql"])
def test_a_row_that_relays_replay_in_40_bodies_is_counted_once(
    tmp_path: Path, way: str, request: pytest.FixtureRequest
) -> None:
    """Each body also holds a row of the relay's own, so that no two are equal and the answers reveal nothing."""
    url = request.getfixturevalue("postgresql_url") if way == "postgresql" else None
    options = ["--spool", f"{tmp_path}/spool"] if way == "spool" else []
    counted, sealed = replayed(tmp_path, 10, url, *options)
    assert counted == 1 + 40
    assert sealed == Sealed(40, 41, 2, refused=39)  # batches after the first hide nobody
