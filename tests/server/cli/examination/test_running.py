"""What the doctor reports about a running collector, and about a server that is not one."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from socket import socket

import pytest

from client.peers import Peer as Server
from client.peers import request_of, serving
from dither_server.access.tokens import Role, digest_of, draw_token
from dither_server.cli.examination.findings import Level
from dither_server.cli.examination.running import Peer, of_running, seen
from dither_server.store import Store, StoredToken
from dither_serving.collector_url import NoAnswerError
from dither_shared import ParameterError
from server.cli.doctoring import doctor, found, patient, traces, usual_disk
from server.collecting import METRICS, METRICS_TOML, TODAY, batch, config, running
from server.test_process import PATIENCE
from torture.devices import post

SHARD = b"s" * 16


@pytest.fixture(autouse=True)
def _usual_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    usual_disk(monkeypatch)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return patient(tmp_path)


def test_what_the_collector_sees_of_a_request_shows_how_proxies_are_set() -> None:
    for sight, near, level, said in (
        ({}, False, Level.OK, "this machine's own address"),
        ({"loopback": True}, True, Level.OK, "none on the way to this address"),
        ({"loopback": True}, False, Level.WARNING, "forwards requests, and hides it"),
        ({"signs": ["Via"]}, False, Level.WARNING, "10.0.0.7 forwards requests (Via), and is not declared"),
        ({"signs": ["HTTP/1.0"], "loopback": True}, False, Level.OK, "on the collector's machine forwards requests"),
        (
            {"signs": ["X"], "proxy": True},
            False,
            Level.WARNING,
            "forwards no addresses: all devices behind it share 100",
        ),
        ({"signs": ["X"], "proxy": True, "forwarded_for": "1"}, False, Level.OK, "forwards the addresses of devices"),
        ({"local": True, "loopback": True}, False, Level.PROBLEM, "taken for this machine's own"),
    ):
        finding = next(seen({"address": "10.0.0.7", "signs": [], **sight}, near, 100))
        assert (finding.level, said in finding.text) == (level, True), finding
        assert bool(finding.advice) == (level is not Level.OK)


def test_doctor_asks_a_running_collector_for_its_counts_and_its_view_of_requests(tmp_path: Path) -> None:
    with running(tmp_path, "--log-level", "error") as (url, process):
        token, reader = draw_token(Role.ADMIN), draw_token(Role.READ)
        with closing(Store(f"sqlite:///{tmp_path}/dither.db")) as store:
            store.tokens.add(StoredToken(digest_of(token), "admin", "", TODAY))
            store.tokens.add(StoredToken(digest_of(reader), "read", "", TODAY))
        assert post(url, batch().encode()) is not None
        before = traces(tmp_path)
        result = doctor(tmp_path, "--url", url + "/", "--token", token)
        assert traces(tmp_path).keys() == before.keys()
        assert result.exit_code == 1, result.output
        assert re.sub(r"(?m)^.*lists no candidates.*\n|^ok .*\n", "", result.stdout) == ""
        assert "collector: counts all metrics of metrics.toml" in result.stdout
        assert "proxies: none on the way to this address" in result.stdout
        (tmp_path / "metrics.toml").write_text(METRICS_TOML.replace("epsilon = 1.0", "epsilon = 1.5"), encoding="utf-8")
        other = doctor(tmp_path, "--url", url, "--token", reader)
        assert any("proxies: not checked, because this token has another role" in line for line in found(other, "ok"))
        assert not any("proxies" in line for line in found(other, "warning"))
        stale = doctor(tmp_path, "--url", url, "--token", "nonsense")
        assert stale.exit_code == 2
        (line,) = found(stale, "problem")
        assert "does not count theme in version" in line
        assert any("proxies: not checked (401)" in line for line in found(stale, "warning"))
        process.terminate()
        process.communicate(timeout=PATIENCE)
    assert (
        "collector: it cannot be reached: Connection refused. Check"
        in found(doctor(tmp_path, "--url", url), "problem")[0]
    )


@contextmanager
def answering(status: int, body: bytes = b"{}", headers: Mapping[str, str] = {}, shown: bytes = b"") -> Iterator[str]:
    """Yield the URL of a server that is not a collector. It gets no token, but ``shown`` if it passes for one."""
    asked: list[bytes] = []

    def handle(_: Server, connection: socket) -> None:
        asked.extend(re.findall(rb"\r\nAuthorization: (.*)\r\n", request_of(connection)))
        fields = {"Date": format_datetime(datetime.now(UTC)), "Content-Length": str(len(body)), **headers}
        head = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
        connection.sendall("\r\n".join(head).encode() + body)

    with serving(handle) as peer:
        yield peer.endpoint
    assert {shown}.issuperset(asked), "nobody but a collector is shown the token"


def test_doctor_names_a_server_that_is_not_a_collector_or_has_another_clock(tmp_path: Path) -> None:
    for status, body, headers, said in (
        (404, b"no", {}, "not a collector (404)"),
        (200, b"welcome", {}, "not a collector (200)"),
        (200, b"[]", {}, "not a collector (200)"),
        (301, b"", {"Location": "https://evil.example/"}, "redirects elsewhere (301)"),
        (502, b"", {}, "not a collector (502)"),
    ):
        with answering(status, body, headers) as url:
            finding = next(of_running(Peer(url, "secret"), config(tmp_path), METRICS))
        assert (finding.level, said in finding.text) == (Level.PROBLEM, True), finding
    late = {"Date": format_datetime(datetime.now(UTC) - timedelta(days=2))}
    with answering(200, b'{"status": "ok"}', late) as url:
        findings = list(of_running(Peer(url), config(tmp_path), {}))
    assert [one.level for one in findings if one.about == "clock"] == [Level.PROBLEM]


def test_nonsense_answers_do_not_end_the_examination(tmp_path: Path) -> None:
    for nonsense in ({}, {"seen": "x"}, {"seen": None}, {"seen": {"signs": None}}, {"seen": {"signs": [1, {}]}}):
        body = json.dumps({"status": "ok", **nonsense}).encode()
        for year in ("1", "9999", "9" * 30):
            headers = {"Date": f"Mon, 01 Jan {year} 00:00:00 +2300"}
            with answering(200, body, headers, shown=b"Bearer secret") as url:
                about = [finding.about for finding in of_running(Peer(url, "secret"), config(tmp_path), {})]
            assert about[0] == "collector"
            assert about[-1] == "proxies", nonsense


def test_wrong_url_is_refused_and_unreachable_one_is_named(folder: Path) -> None:
    result = doctor(folder, "--url", "http://me:pw@a")
    assert (result.exit_code, result.stdout, "--url: not " in result.stderr) == (2, "", True)
    for host in ("a..b", "x" * 70, "127.0.0.1:1", "[::1]:1"):
        with pytest.raises(NoAnswerError, match="cannot be reached"):
            Peer(f"http://{host}").get("healthz")
    with pytest.raises(ParameterError, match="--token"):
        Peer("http://a", "line\nbreak")
