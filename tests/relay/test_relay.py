"""A real relay process: its socket, its limits, its memory of addresses, and its end."""

import json
import resource
import shutil
import signal
import socket
import sys
import threading
from collections import Counter
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from dither_relay.relay import Relay
from dither_relay.store import RelayStore
from dither_server.store import StoreError
from dither_shared.sealed import Pool, SealedReport
from relay.fake_collector import collecting
from relay.relaying import (
    LAYOUT,
    PATIENCE,
    POOLS,
    THEME,
    ask,
    bytes_of,
    config,
    forward,
    problem_of,
    rounds,
    rows,
    running,
    send,
    stored,
    until_ready,
    url_of,
    waiting,
)

ADDRESS = "198.51.100.77"


def test_relay_process_forwards_reports_of_devices_to_the_collector(tmp_path: Path) -> None:
    some = rows(7)
    with collecting(POOLS) as collector:
        with running(tmp_path, collector.url, "--token", "secret") as (url, process):
            assert url.startswith("http://127.0.0.1:")
            until_ready(url)
            for row in [*some, *some[:3]]:
                assert ask(url, "POST", "/v1/sealed", SealedReport(THEME, row).encode()) == (202, b'{"accepted": 1}')
            assert send(url, some[0], LAYOUT) == 202
            assert send(url, rows(1, length=1139)[0]) == 202
            process.send_signal(signal.SIGTERM)
            output, errors = process.communicate(timeout=PATIENCE)
        assert (process.returncode, output, errors) == (0, "", "")
        assert not (tmp_path / "relay.db-wal").exists()
        assert collector.tokens == {"Bearer secret"}
        with stored(tmp_path) as store:
            forward(store, collector.url)
            assert waiting(store) == [(1, 0, 0, 0), (0, 0, 7, 0), (1, 0, 0, 0)]
        assert collector.rows() == Counter(some)


def test_invalid_requests_get_their_problem(tmp_path: Path) -> None:
    good = SealedReport(THEME, rows(1)[0]).encode()
    with collecting(POOLS) as collector, running(tmp_path, collector.url) as (url, _):
        until_ready(url)
        for status, kind, body in (
            (404, "unknown-pool", SealedReport(Pool("theme", "0" * 16), rows(1)[0]).encode()),
            (404, "unknown-pool", SealedReport(Pool(*LAYOUT[:2], "windows"), rows(1)[0]).encode()),
            (400, "malformed", SealedReport(THEME, rows(1)[0][1:]).encode()),
            (400, "malformed", SealedReport(THEME, rows(1, length=1138)[0]).encode()),
            (400, "malformed", b"garbage"),
            (400, "malformed", b""),
            (400, "malformed", b"[" * 60_000),
            (400, "malformed", good[:-2] + b', "address": "192.0.2.1"}'),
            (413, "too-large", b"x" * 65_537),
            (413, "too-large", b"x" * 2_000_000),
        ):
            try:
                answer = ask(url, "POST", "/v1/sealed", body)
            except (ConnectionError, OSError):
                assert status == 413  # it did not wait for the end
                continue
            assert (answer[0], problem_of(answer[1])) == (status, kind)
        assert ask(url, "POST", "/v1/sealed", good, Content_Type="text/plain")[0] == 415
        assert ask(url, "GET", "/v1/sealed") == (200, b'{"relay": "dither"}')
        assert ask(url, "PUT", "/v1/sealed", good)[0] == 405
        assert ask(url, "POST", "/v1/reports", good)[0] == 404
        assert ask(url, "GET", "/healthz") == (200, b'{"status": "ok"}')
        assert ask(url, "POST", "/v1/sealed", good)[0] == 202
        numbers = ask(url, "GET", "/metrics")[1].decode()
        assert 'dither_relay_refused_total{reason="unknown-pool"} 2.0' in numbers
        assert f'dither_relay_waiting{{pool="{THEME.series}",suite="x25519"}} 1.0' in numbers
        assert ask(url, "GET", "/metrics", X_Forwarded_For=ADDRESS)[0] == 403
    with stored(tmp_path) as store:
        assert waiting(store) == [(1, 0, 0, 0)]


def test_no_address_is_kept_anywhere(tmp_path: Path) -> None:
    options = ("--proxies", "127.0.0.1", "--rate", "3", "--log-level", "debug", "--open-metrics")
    with collecting(POOLS) as collector, running(tmp_path, collector.url, *options) as (url, process):
        until_ready(url)
        seen = [send(url, row, X_Forwarded_For=f"203.0.113.9, {ADDRESS}") for row in rows(5)]
        assert seen == [202, 202, 202, 429, 429]
        assert send(url, rows(9)[8], X_Forwarded_For="198.51.100.78") == 202
        assert send(url, rows(1)[0][1:], X_Forwarded_For="198.51.100.79") == 400
        answer = ask(url, "POST", "/v1/sealed", b"{}", X_Forwarded_For=ADDRESS)
        assert problem_of(answer[1]) == "crowded"
        outputs = [bytes_of(tmp_path), ask(url, "GET", "/metrics")[1], ask(url, "GET", "/healthz")[1]]
        process.terminate()
        output, errors = process.communicate(timeout=PATIENCE)
    outputs += [bytes_of(tmp_path), output.encode(), errors.encode()]
    outputs += [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    packed = socket.inet_aton(ADDRESS)
    for text in outputs:
        assert b"198.51" not in text
        assert b"203.0.113" not in text
        assert packed not in text
        assert packed[::-1] not in text


def test_relay_without_a_list_of_pools_answers_503(tmp_path: Path) -> None:
    with running(tmp_path, "http://127.0.0.1:1") as (url, process):
        status, body = ask(url, "POST", "/v1/sealed", SealedReport(THEME, rows(1)[0]).encode())
        assert (status, problem_of(body)) == (503, "unavailable")
        assert ask(url, "GET", "/readyz")[0] == 503
        process.terminate()
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert "cannot be reached" in json.loads(errors.splitlines()[0])["message"]


@pytest.mark.skipif(sys.platform != "linux", reason="another process's limit is set by Linux alone")
def test_a_disk_that_takes_no_more_is_not_ready(tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk: a write beyond it fails, and later writes succeed."""
    with collecting(POOLS) as collector, running(tmp_path, collector.url) as (url, process):
        until_ready(url)
        some = rows(3)
        assert send(url, some[0]) == 202
        endless = resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
        assert send(url, some[1]) == 503
        assert [ask(url, "GET", "/readyz")[0] for _ in range(2)] == [503, 503]
        assert ask(url, "GET", "/healthz")[0] == 200
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, endless)
        assert ask(url, "GET", "/readyz")[0] == 200
        assert [send(url, row) for row in some[1:]] == [202, 202]
    with stored(tmp_path) as store:
        assert waiting(store) == [(3, 0, 0, 0)]


def test_a_disk_that_is_nearly_full_is_not_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with collecting(POOLS) as collector, Relay(config(tmp_path, collector.url)) as relay:
        relay.ready()
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1 << 22, total=1 << 30))
        with pytest.raises(StoreError, match="4,194,304 bytes are left on its disk, 67,108,864 are needed"):
            relay.ready()


def test_a_second_relay_on_the_database_is_refused(tmp_path: Path) -> None:
    with collecting(POOLS) as collector, running(tmp_path, collector.url) as (first, _):
        assert first
        with running(tmp_path, collector.url) as (second, process):
            _, errors = process.communicate(timeout=PATIENCE)
        assert second == ""
        assert process.returncode == 1
        message = "another relay already uses it; a second one would give each address a second limit"
        assert errors == f"dither-relay: database: {message}\n"


@pytest.mark.slow  # it waits for 5 seconds, as the relay does for a post
def test_relay_asked_to_end_during_a_post_ends_soon_and_the_next_posts_the_same_body(tmp_path: Path) -> None:
    """It does not wait for long, and the next process posts the same body."""
    with collecting(POOLS) as collector:
        with stored(tmp_path) as store:
            with running(tmp_path, collector.url) as (url, process):
                until_ready(url)
                for row in rows(9):
                    assert send(url, row) == 202
                process.terminate()
                assert process.wait(PATIENCE) == 0
            one = rounds(store, collector.url)
            one.freeze()
        collector.gate.clear()
        with running(tmp_path, collector.url) as (url, process):
            assert collector.arrived.wait(PATIENCE)
            process.terminate()
            assert process.wait(PATIENCE) == 0
        collector.gate.set()
        with stored(tmp_path) as store:
            assert rounds(store, collector.url).post({}).is_over
        assert collector.rows() == Counter(rows(9))
        assert set(collector.bodies) == {collector.bodies[0]}


@pytest.mark.parametrize("lost", ["listing", "database"])
def test_relay_that_fails_at_the_start_releases_its_lock(tmp_path: Path, lost: str) -> None:
    """It closes what it opened: the next relay takes the lock."""
    with collecting(POOLS) as collector:
        if lost == "database":
            (tmp_path / "relay.db").write_bytes(b"no database" * 100)
            with pytest.raises(Exception, match="not a SQLite database"):
                Relay(config(tmp_path, collector.url))
            (tmp_path / "relay.db").unlink()
        for _ in range(2):
            Relay(config(tmp_path, collector.url)).close()


def test_same_report_sent_twice_at_once_is_counted_once(tmp_path: Path) -> None:
    with collecting(POOLS) as collector, running(tmp_path, collector.url) as (url, _):
        until_ready(url)
        seen: list[int] = []
        threads = [threading.Thread(target=lambda: seen.append(send(url, rows(1)[0]))) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        assert seen == [202] * 12
        with closing(RelayStore(url_of(tmp_path), create=False, read_only=True)) as store:
            assert waiting(store) == [(1, 0, 0, 0)]


def test_clients_of_an_unnamed_proxy_share_the_limit_of_one_address(tmp_path: Path) -> None:
    """The operator notices, because devices get 429."""
    with collecting(POOLS) as collector, running(tmp_path, collector.url, "--rate", "4") as (url, process):
        until_ready(url)
        seen = [send(url, row, X_Forwarded_For=f"192.0.2.{place}") for place, row in enumerate(rows(6))]
        assert seen == [202] * 4 + [429] * 2
        assert send(url, rows(7)[6]) == 202  # of this machine itself
        process.terminate()
        _, errors = process.communicate(timeout=PATIENCE)
    (line,) = errors.splitlines()
    assert "name it in proxies" in json.loads(line)["message"]
