"""The doctor as a command: what it finds, what it says to do, and that it leaves everything as it was."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from dither_server.cli.examination import database
from dither_server.store import Store, StoredToken
from dither_shared.metrics.period import utc_today
from forkserver import run
from server.cli.doctoring import doctor, found, patient, traces, usual_disk
from server.collecting import METRICS_TOML, TODAY, environment

SHARD = b"s" * 16


STRANGE = "0123456789abcdef"


@pytest.fixture(autouse=True)
def _usual_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    usual_disk(monkeypatch)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return patient(tmp_path)


def test_healthy_collector_has_no_warnings(folder: Path) -> None:
    text = METRICS_TOML.replace('[metrics.open]\ntype = "string"\nepsilon = 2.0\n', "")
    (folder / "metrics.toml").write_text(text, encoding="utf-8")
    result = doctor(folder)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert all(line.startswith("ok       ") for line in lines), result.stdout
    abouts = {line.split()[1] for line in lines}
    assert abouts == {"configuration:", "database:", "reports:", "refused:", "disk:", "fsync:", "collector:"}
    assert "checked completely, and not damaged" in result.stdout
    assert result.stderr == "0 problems, 0 warnings\n"


def test_json_of_the_doctor_lists_its_findings(folder: Path) -> None:
    (folder / "metrics.toml").write_text("metrics = 1", encoding="utf-8")
    result = doctor(folder, "--json")
    answer = json.loads(result.stdout)
    assert answer["status"] == result.exit_code == 2
    assert {finding["level"] for finding in answer["findings"]} == {"ok", "problem"}
    assert "fsync" in {finding["about"] for finding in answer["findings"]}, "the rest is examined"
    assert all(finding.keys() == {"level", "about", "text", "advice"} for finding in answer["findings"])


def test_doctor_modifies_nothing_of_a_stopped_collector(folder: Path) -> None:
    before, when = traces(folder), folder.stat().st_mtime_ns
    assert doctor(folder).exit_code == 1
    assert doctor(folder, "--before-start").exit_code == 0, "a warning does not count"
    assert (traces(folder), folder.stat().st_mtime_ns) == (before, when)
    assert {file.name for file in folder.iterdir()} == {"metrics.toml", "dither.db", "dither.db.lock"}


def test_doctor_reads_the_log_of_a_killed_collector_and_modifies_nothing(folder: Path) -> None:
    script = f"""
import os, signal
from dither_server.store import Refusal, Store
from dither_shared.metrics.period import utc_today
store = Store("sqlite:///{folder}/dither.db")
store.add_refusals({{Refusal("theme", utc_today(), "version-conflict", "{STRANGE}"): 4321}}, b"s" * 16)
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert run("-c", script).returncode == -signal.SIGKILL
    before = traces(folder)
    assert before["dither.db-wal"]
    result = doctor(folder)
    (line,) = (line for line in found(result, "warning") if " versions: " in line)
    assert f"apps send theme in version {STRANGE}, 4,321 batches in the last 7 days; it is not known here" in line
    assert "Give the collector the metrics.toml of that release, and restart it" in line
    assert traces(folder) == before


def test_damaged_database_is_a_problem(folder: Path) -> None:
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
    (folder / "dither.db").write_bytes(b"no database" * 1000)
    result = doctor(folder)
    assert result.exit_code == 2
    assert any("not a SQLite database" in line for line in found(result, "problem")), result.stdout


def test_large_database_is_read_whole_only_on_request(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_LARGE", 1000)
    monkeypatch.setattr(database, "_LONG_LOG", -1)
    assert "not checked completely, because it has" in doctor(folder).stdout
    result = doctor(folder, "--thorough")
    assert "checked completely, and not damaged" in result.stdout
    assert "write-ahead log has 0 B. A process that has been reading for a long time" in result.stdout


def test_token_that_ends_soon_is_a_warning(folder: Path) -> None:
    with closing(Store(f"sqlite:///{folder}/dither.db")) as store:
        store.tokens.add(StoredToken(b"d" * 32, "read", "", TODAY, utc_today() + timedelta(days=3)))
    assert any("token 646464646464 (read) expires on" in line for line in found(doctor(folder), "warning"))


def test_lines_fit_the_terminal(folder: Path) -> None:
    ours, theirs = os.openpty()
    with os.fdopen(ours, "rb", buffering=0) as terminal, os.fdopen(theirs, "wb") as end:
        command = [sys.executable, "-m", "dither_server", "doctor"]
        subprocess.run(
            command, check=False, stdout=end, stderr=subprocess.DEVNULL, env={**environment(folder), "COLUMNS": "60"}
        )
        lines = terminal.read(1 << 16).decode().splitlines()
    assert max(map(len, lines)) <= 60
    findings = [line for line in lines if line.startswith(("ok       ", "warning  ", "problem  "))]
    rest = [line for line in lines if line not in findings]
    assert len(findings) > 3
    assert rest
    assert all(line.startswith(" " * 9) for line in rest)
