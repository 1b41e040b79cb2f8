"""The doctor: what it finds, what it says to do, and that it leaves everything as it was."""

import hashlib
import http.server
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner, Result

from dither_server.auth import Role, digest_of, draw_token
from dither_server.cli import cli
from dither_server.commands import doctor as module
from dither_server.config import utc_today
from dither_server.doctor import database, machine
from dither_server.doctor.field import in_field
from dither_server.doctor.findings import Finding, Level
from dither_server.doctor.machine import file_system_of, on_machine
from dither_server.doctor.peer import Peer, UnreachableError
from dither_server.doctor.running import of_running, seen
from dither_server.doctor.times import compared
from dither_server.store import Refusal, Store, StoredToken, StoreError
from dither_shared import ParameterError
from server.collecting import METRICS, METRICS_TOML, THEME, TODAY, batch, config, environment, running, upload
from server.test_process import PATIENCE
from torture.devices import post

SHARD = b"s" * 16


class Usage(NamedTuple):
    """What ``shutil`` tells of a disk."""

    total: float
    used: float
    free: float


STRANGE = "0123456789abcdef"


@pytest.fixture(autouse=True)
def _usual_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine that runs the tests is not the one under test."""
    monkeypatch.setattr(machine, "_fsync_times", lambda _: [0.001, 0.002, 0.004])
    monkeypatch.setattr(machine, "file_system_of", lambda _: "ext4")
    usage = Usage(100e9, 50e9, 50e9)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a collector has run today, and ended."""
    (tmp_path / "metrics.toml").write_text(METRICS_TOML, encoding="utf-8")
    with closing(Store(f"sqlite:///{tmp_path}/dither.db")) as store:
        store.register(METRICS.values())
        store.commit([upload()], utc_today(), SHARD)
        for role in Role:
            store.add_token(StoredToken(digest_of(draw_token(role)), role.value, "", TODAY))
    return tmp_path


def doctor(folder: Path, *options: str) -> Result:
    return CliRunner().invoke(cli, ["doctor", *options], env=environment(folder))


def found(result: Result, level: str) -> list[str]:
    return [line for line in result.stdout.splitlines() if line.startswith(level)]


def traces(folder: Path) -> dict[str, tuple[str, int, int]]:
    """Everything that could change in a folder."""
    return {
        file.name: (hashlib.sha256(file.read_bytes()).hexdigest(), file.stat().st_mtime_ns, file.stat().st_ino)
        for file in folder.iterdir()
        if not file.name.endswith("-shm")  # whoever reads marks there that they do
    }


def test_a_healthy_collector_gets_a_clean_bill(folder: Path) -> None:
    text = METRICS_TOML.replace('[metrics.open]\ntype = "string"\nepsilon = 2.0\n', "")
    (folder / "metrics.toml").write_text(text, encoding="utf-8")
    result = doctor(folder)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert all(line.startswith("ok       ") for line in lines), result.stdout
    abouts = {line.split()[1] for line in lines}
    assert abouts == {"configuration:", "database:", "reports:", "refused:", "disk:", "fsync:", "collector:"}
    assert "read whole, and not damaged" in result.stdout
    assert result.stderr == "0 problems, 0 warnings\n"


def test_it_tells_programs_too(folder: Path) -> None:
    result = doctor(folder, "--json")
    told = json.loads(result.stdout)
    assert told["status"] == result.exit_code == 1  # a metric lists no candidates
    assert {finding["level"] for finding in told["findings"]} == {"ok", "warning"}
    assert all(finding.keys() == {"level", "about", "text", "advice"} for finding in told["findings"])


def test_nothing_is_modified_of_a_collector_that_has_ended(folder: Path) -> None:
    before, when = traces(folder), folder.stat().st_mtime_ns
    assert doctor(folder).exit_code == 1
    assert CliRunner().invoke(cli, ["check"], env=environment(folder)).exit_code == 0
    assert (traces(folder), folder.stat().st_mtime_ns) == (before, when)
    assert {file.name for file in folder.iterdir()} == {"metrics.toml", "dither.db", "dither.db.lock"}


def test_nothing_is_modified_of_one_that_was_killed_and_its_log_is_read(folder: Path) -> None:
    script = f"""
import os, signal, sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from datetime import timedelta
from dither_server.store import Refusal, Store
from dither_server.commands import doctor as module
from dither_server.config import utc_today
store = Store("sqlite:///{folder}/dither.db")
store.add_refusals({{Refusal("theme", utc_today(), "version-conflict", "{STRANGE}"): 4321}}, b"s" * 16)
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -signal.SIGKILL
    before = traces(folder)
    assert before["dither.db-wal"]
    result = doctor(folder)
    (line,) = (line for line in found(result, "warning") if " versions: " in line)
    assert f"apps send theme in version {STRANGE}, 4,321 batches in the last 7 days; it is not known here" in line
    assert "Give the collector the metrics.toml of that release, and restart it" in line
    assert traces(folder) == before


def test_a_store_that_only_reads_cannot_write(folder: Path) -> None:
    with closing(Store(f"sqlite:///{folder}/dither.db", create=False, read_only=True)) as store:
        assert store.tally(THEME).total == 3
        with pytest.raises(StoreError, match="readonly"):
            store.add_token(StoredToken(b"d" * 32, "read", "", TODAY))


def test_one_that_has_not_run_yet(tmp_path: Path) -> None:
    (tmp_path / "metrics.toml").write_text(METRICS_TOML, encoding="utf-8")
    result = doctor(tmp_path)
    assert result.exit_code == 1
    assert "does not exist; a collector has not run on it yet" in result.stdout
    assert [file.name for file in tmp_path.iterdir()] == ["metrics.toml"]


def test_a_damaged_database_is_a_problem(folder: Path) -> None:
    file = folder / "dither.db"
    with closing(sqlite3.connect(file)) as connection:
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'estimates'").fetchone()
    with file.open("r+b") as raw:
        raw.seek((page - 1) * 4096)
        raw.write(b"\xff" * 4096)
    result = doctor(folder)
    assert result.exit_code == 2
    (line,) = found(result, "problem")
    assert "database: it is damaged: " in line
    assert line.endswith("Stop the collector, keep a copy of all its files, and restore the last backup")


def test_what_is_no_database_is_a_problem(folder: Path) -> None:
    (folder / "dither.db").write_bytes(b"no database" * 1000)
    result = doctor(folder)
    assert result.exit_code == 2
    assert any("not a database" in line for line in found(result, "problem")), result.stdout


def test_a_large_database_is_read_whole_only_if_asked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_LARGE", 1000)
    monkeypatch.setattr(database, "_LONG_LOG", -1)
    assert "not read whole, for it has" in doctor(folder).stdout
    result = doctor(folder, "--thorough")
    assert "read whole, and not damaged" in result.stdout
    assert "write-ahead log has 0 B. Some process has read for long" in result.stdout


def test_metrics_that_cannot_be_are_a_problem_and_the_rest_is_looked_at(folder: Path) -> None:
    (folder / "metrics.toml").write_text("metrics = 1", encoding="utf-8")
    result = doctor(folder)
    assert result.exit_code == 2
    assert "fsync:" in result.stdout


def test_tokens_about_to_end_are_told(folder: Path) -> None:
    with closing(Store(f"sqlite:///{folder}/dither.db")) as store:
        store.add_token(StoredToken(b"d" * 32, "read", "", TODAY, utc_today() + timedelta(days=3)))
    assert any("token 646464646464 (read) expires on" in line for line in found(doctor(folder), "warning"))


def levels(findings: Iterator[Finding], about: str = "") -> list[tuple[str, Level]]:
    return [(one.text, one.level) for one in findings if not about or one.about == about]


@pytest.mark.parametrize(
    ("free", "level"),
    [(50e9, Level.OK), (9e9, Level.WARNING), (0.9e9, Level.PROBLEM), (0, Level.PROBLEM)],
)
def test_room(free: float, level: Level, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = Usage(100e9, 100e9 - free, free)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    assert levels(on_machine(tmp_path), "disk")[0][1] is level


@pytest.mark.parametrize(
    ("name", "expected"),
    [("ext4", []), ("", []), ("tmpfs", [Level.PROBLEM]), ("nfs4", [Level.PROBLEM]), ("overlay", [Level.WARNING])],
)
def test_file_systems(name: str, expected: list[Level], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "file_system_of", lambda _: name)
    assert [level for _, level in levels(on_machine(tmp_path), "disk")][1:] == expected


def test_the_file_system_is_that_of_the_innermost_mount(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a b").mkdir()
    (tmp_path / "a c").mkdir()
    spaced = str(tmp_path / "a b").replace(" ", "\\040")
    lines = [
        "1 0 254:0 / / rw - ext4 /dev/a rw",
        f"2 1 0:21 / {spaced} rw,relatime shared:1 - tmpfs t rw",
        f"3 1 0:22 / {spaced}/c rw - nfs n rw",
    ]
    (tmp_path / "mountinfo").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setattr(machine, "_MOUNTS", tmp_path / "mountinfo")
    assert [file_system_of(tmp_path / name) for name in ("a b", "a c", "a b/d", "a b/c")] == [
        "tmpfs",
        "ext4",
        "tmpfs",
        "nfs",
    ]
    monkeypatch.setattr(machine, "_MOUNTS", tmp_path / "nothing")
    assert file_system_of(tmp_path) == ""


@pytest.mark.parametrize(
    ("seconds", "level"), [(4e-7, Level.WARNING), (1e-4, Level.OK), (4e-3, Level.OK), (0.1, Level.WARNING)]
)
def test_fsync(seconds: float, level: Level, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_fsync_times", lambda _: [seconds] * 10 + [1.0])
    assert levels(on_machine(tmp_path), "fsync")[0][1] is level


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_of_another_user_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert "cannot be measured" in doctor(tmp_path).stdout


def test_fsync_is_measured_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    when = tmp_path.stat().st_mtime_ns
    seconds = machine._fsync_times(tmp_path)
    assert len(seconds) == 20
    assert all(one > 0 for one in seconds)
    assert list(tmp_path.iterdir()) == []
    assert tmp_path.stat().st_mtime_ns == when
    assert file_system_of(tmp_path) != ""
    monkeypatch.setattr(tempfile, "TemporaryFile", _denied)
    assert levels(on_machine(tmp_path), "fsync")[0][1] is Level.WARNING


def _denied(**_: object) -> None:
    raise PermissionError(13, "Permission denied")


@pytest.mark.parametrize(
    ("apart", "said", "level"),
    [
        (timedelta(), "agrees", Level.OK),
        (timedelta(seconds=-5), "agrees", Level.OK),
        (timedelta(seconds=31), " seconds ahead of", Level.WARNING),
        (timedelta(minutes=-40), "40 minutes behind", Level.WARNING),
        (timedelta(days=400), "400 days ahead of", Level.PROBLEM),
    ],
)
def test_clocks(apart: timedelta, said: str, level: Level) -> None:
    now = datetime.now(UTC)
    finding = compared("it", (now + apart).replace(microsecond=0), now - timedelta(seconds=0.1), now)
    assert finding.level is level
    assert said in finding.text


def test_what_comes_from_the_field(store: Store) -> None:
    assert levels(in_field(store, TODAY)) == [
        ("none have come yet", Level.OK),
        ("nothing in the last 7 days", Level.OK),
    ]
    store.commit([upload()], TODAY, SHARD)
    assert levels(in_field(store, TODAY), "reports") == [(f"the last came on {TODAY}", Level.OK)]
    assert levels(in_field(store, TODAY + timedelta(days=1)), "reports")[0][1] is Level.OK
    assert levels(in_field(store, TODAY + timedelta(days=2)), "reports")[0][1] is Level.WARNING
    assert levels(in_field(store, TODAY - timedelta(days=1)), "clock")[0][1] is Level.PROBLEM
    many = {Refusal("theme", TODAY, "version-conflict", f"{number:016x}"): 100 - number for number in range(8)}
    now_known = Refusal("theme", TODAY, "version-conflict", THEME.version)
    store.add_refusals(
        {
            **many,
            now_known: 1000,
            Refusal("theme", TODAY, "version-conflict"): 7,
            Refusal("", TODAY, "malformed"): 3,
            Refusal("", TODAY - timedelta(days=7), "malformed"): 9999,
        },
        SHARD,
    )
    told = levels(in_field(store, TODAY))
    assert "1,782 batches in the last 7 days (version-conflict 1,779, malformed 3)" in told[1][0]
    assert (told[2][1], "registered by now" in told[2][0]) == (Level.OK, True)
    assert [level for _, level in told[3:]] == [Level.WARNING] * 5
    assert told[3][0].startswith("apps send theme in version 0000000000000000, 100 batches")
    assert told[-1][0].startswith(f"{96 + 95 + 94 + 93 + 7} batches more")


SIGHT: Mapping[str, Any] = {
    "address": "10.0.0.7",
    "loopback": False,
    "proxy": False,
    "forwarded_for": None,
    "signs": [],
    "local": False,
}


@pytest.mark.parametrize(
    ("sight", "near", "level", "said"),
    [
        ({}, False, Level.OK, "this machine's own address"),
        ({"loopback": True}, True, Level.OK, "none, by this address"),
        ({"loopback": True}, False, Level.WARNING, "passes requests on, and hides it"),
        ({"signs": ["Via"]}, False, Level.WARNING, "10.0.0.7 passes requests on (Via), and is not declared"),
        ({"signs": ["HTTP/1.0"], "loopback": True}, False, Level.OK, "on the collector's machine passes requests on"),
        ({"signs": ["X-Forwarded-For"], "proxy": True}, False, Level.WARNING, "tells no address: 100 requests"),
        ({"signs": ["X"], "proxy": True, "forwarded_for": "1.2.3.4"}, False, Level.OK, "for whom it asks"),
        ({"local": True, "loopback": True}, False, Level.PROBLEM, "passes for this machine's own"),
    ],
)
def test_proxies(sight: dict[str, Any], near: bool, level: Level, said: str) -> None:
    finding = next(seen({**SIGHT, **sight}, near, 100))
    assert finding.level is level
    assert said in finding.text
    assert bool(finding.advice) == (level is not Level.OK)


def test_a_collector_that_runs(tmp_path: Path) -> None:
    """It is asked over HTTP: what it knows, what it sees; and what it refused is in its database soon."""
    with running(tmp_path, "--log-level", "error") as (url, process):
        token = draw_token(Role.ADMIN)
        with closing(Store(f"sqlite:///{tmp_path}/dither.db")) as store:
            store.add_token(StoredToken(digest_of(token), "admin", "", TODAY))
        assert post(url, batch().encode()) is not None
        before = traces(tmp_path)
        result = doctor(tmp_path, "--url", url + "/", "--token", token)
        assert traces(tmp_path).keys() == before.keys()
        assert result.exit_code == 1, result.output
        assert re.sub(r"(?m)^.*lists no candidates.*\n|^ok .*\n", "", result.stdout) == ""
        for said in ("collector: answers", "counts what metrics.toml asks", "proxies: none, by this address"):
            assert said in result.stdout
        (tmp_path / "metrics.toml").write_text(METRICS_TOML.replace("epsilon = 1.0", "epsilon = 1.5"), encoding="utf-8")
        stale = doctor(tmp_path, "--url", url, "--token", "nonsense")
        assert stale.exit_code == 2
        (line,) = found(stale, "problem")
        assert "does not count theme in version" in line
        assert any("proxies: not looked at (401)" in line for line in found(stale, "warning"))
        process.terminate()
        process.communicate(timeout=PATIENCE)
    gone = doctor(tmp_path, "--url", url)
    assert found(gone, "problem")[0].startswith("problem  collector: it cannot be reached: Connection refused. Is it")


@contextmanager
def answering(
    status: int, body: bytes = b"{}", when: datetime | None = None, headers: Mapping[str, str] = {}
) -> Iterator[str]:
    """Something on HTTP that is no collector; its URL."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.headers.get("Authorization"))
            self.send_response_only(status)
            for name, value in {"Date": format_datetime(when or datetime.now(UTC)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    asked: list[str | None] = []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
    assert asked == [None] * len(asked), "nobody but a collector is shown the token"


@pytest.mark.parametrize(
    ("status", "body", "headers", "said"),
    [
        (404, b"no", {}, "no collector (404)"),
        (200, b"welcome", {}, "no collector (200)"),
        (200, b"[]", {}, "no collector (200)"),
        (301, b"", {"Location": "https://evil.example/"}, "leads elsewhere (301)"),
        (502, b"", {}, "no collector (502)"),
    ],
)
def test_what_answers_may_be_something_else(
    status: int, body: bytes, headers: dict[str, str], said: str, tmp_path: Path
) -> None:
    with answering(status, body, headers=headers) as url:
        findings = list(of_running(Peer(url, "secret"), config(tmp_path), METRICS))
    assert findings[0].level is Level.PROBLEM
    assert said in findings[0].text


def test_a_clock_that_answers_is_compared(tmp_path: Path) -> None:
    with answering(200, b'{"status": "ok"}', datetime.now(UTC) - timedelta(days=2)) as url:
        findings = list(of_running(Peer(url), config(tmp_path), {}))
    assert [one.level for one in findings if one.about == "clock"] == [Level.PROBLEM]


@pytest.mark.parametrize(
    "url",
    ["", "telemetry.example.org", "ftp://a", "http://", "http://a:b", "http://me:pw@a", "http://a?b", "http://[a"],
)
def test_what_is_no_address_is_told(url: str, folder: Path) -> None:
    result = doctor(folder, "--url", url)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--url: not " in result.stderr


@pytest.mark.parametrize("host", ["a..b", "x" * 70, "127.0.0.1:1", "[::1]:1"])
def test_an_address_that_leads_nowhere_is_a_finding(host: str) -> None:
    with pytest.raises(UnreachableError, match="cannot be reached"):
        Peer(f"http://{host}").get("healthz")
    with pytest.raises(ParameterError, match="--token"):
        Peer("http://a", "line\nbreak")


def test_a_terminal_gets_lines_that_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", type("Terminal", (), {"isatty": lambda _: True})())
    monkeypatch.setenv("COLUMNS", "60")
    lines = module._shown(str(Finding(Level.WARNING, "disk", "a word " * 20, "Do it. " * 10))).splitlines()
    assert len(lines) > 3
    assert max(map(len, lines)) <= 60
    assert all(line.startswith(" " * 9) for line in lines[1:])
