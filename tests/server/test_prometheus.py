"""The metrics that Prometheus reads."""

import math
import os
import platform
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from dither_server.app import collector_of, create_app
from dither_server.ingest.committer import ReportCommitter
from dither_server.prometheus import Prometheus
from dither_serving.settings import ServerSettings
from server.collecting import THEME, TODAY, batch, config, rows_of, upload
from server.ingest.test_committer import PATIENCE, Gate, submitted


def samples(text: bytes | str) -> dict[str, float]:
    """Every sample of an answer, by its name and labels."""
    lines = (text.decode() if isinstance(text, bytes) else text).splitlines()
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}


def test_counters_follow_accepted_repeated_and_refused_posts(client: FlaskClient) -> None:
    body = batch(THEME, rows_of(THEME, 7)).encode()
    for sent in (body, body, b"nonsense"):
        client.post("/v1/reports", data=sent, content_type="application/json")
    response = client.get("/metrics")
    assert response.mimetype == "text/plain"
    expected = {
        'dither_reports_acknowledged_total{metric="theme"}': 14,
        'dither_reports_acknowledged_total{metric="mobile"}': 0,  # so that its first reports are a rise
        'dither_ingest_answers_total{status="202"}': 2,
        'dither_ingest_answers_total{status="400"}': 1,
        "dither_commit_batches_sum": 2,
        "dither_commit_seconds_count": 2,
        "dither_commit_failures_total": 0,
        "dither_batches_waiting": 0,
    }
    assert expected.items() <= samples(response.text).items()
    assert "_created" not in response.text, "the time of the first report must not be exported"


def test_gauges_describe_the_database_and_its_disk(client: FlaskClient, tmp_path: Path) -> None:
    client.post("/v1/reports", data=batch().encode(), content_type="application/json")
    values = samples(client.get("/metrics").text)
    labels = f'database="sqlite {sqlite3.sqlite_version}",python="{platform.python_version()}",version="0.1.0"'
    assert values[f"dither_build_info{{{labels}}}"] == 1
    assert values["dither_database_up"] == 1
    assert values["dither_batch_ids"] == 1
    files = [tmp_path / "dither.db", tmp_path / "dither.db-wal"]
    assert values["dither_database_wal_bytes"] == files[1].stat().st_size > 0
    assert values["dither_database_bytes"] == sum(file.stat().st_size for file in files)
    assert 0 < values["dither_disk_free_bytes"] < values["dither_disk_bytes"]


def test_damaged_database_is_down_and_the_counters_remain(tmp_path: Path) -> None:
    with closing(collector_of(app := create_app(config(tmp_path)))):
        (tmp_path / "dither.db").write_bytes(b"this is no database" * 1000)
        for file in tmp_path.glob("dither.db-*"):
            file.unlink()
        values = samples(app.test_client().get("/metrics").text)
        assert values["dither_database_up"] == 0
        assert values['dither_reports_acknowledged_total{metric="theme"}'] == 0
        assert not any(name.startswith(("dither_batch_ids", "dither_disk")) for name in values)


def test_oldest_batch_age_follows_the_batch_that_waits_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    name, gate, now = "dither_oldest_batch_age_seconds", Gate(), [0.0]
    prometheus = Prometheus(clock=lambda: now[0])
    since: list[float | None] = []

    def oldest(oldest_at: float | None) -> None:
        since.append(oldest_at)
        Prometheus.oldest(prometheus, oldest_at)

    monkeypatch.setattr(prometheus, "oldest", oldest)
    committer = ReportCommitter(gate, lambda: TODAY, ServerSettings(), prometheus)
    assert samples(prometheus.text())[name] == 0
    first, second = submitted(committer, upload()), submitted(committer, upload())
    assert since[0] is not None
    now[0] = since[0] + 12
    assert samples(prometheus.text())[name] == pytest.approx(12)  # the clock counts from the boot: sums round
    gate.let(1)
    first.result(PATIENCE)
    gate.let(1)
    second.result(PATIENCE)
    committer.close()
    assert samples(prometheus.text())[name] == 0
    times = [oldest_at for oldest_at in since[:-1] if oldest_at is not None]
    assert since[-1] is None
    assert times == sorted(times)
    assert all(math.isfinite(oldest_at) for oldest_at in times)


def test_killed_worker_no_longer_counts_as_waiting(tmp_path: Path) -> None:
    script = """
import os, subprocess, sys, time
from dither_server.prometheus import Prometheus
prometheus = Prometheus()
prometheus.oldest(time.monotonic() - (1000.0 if len(sys.argv) > 1 else 5.0))
prometheus.waiting(700 if len(sys.argv) > 1 else 3)
prometheus.answered(202)
if len(sys.argv) == 1:
    subprocess.run([sys.executable, "-c", os.environ["SCRIPT"], "first"], check=True)
    print(prometheus.text().decode())
"""
    printed = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path), "SCRIPT": script},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.rstrip()
    numbers = samples(printed)
    assert 5 <= numbers["dither_oldest_batch_age_seconds"] < 1000
    assert numbers["dither_batches_waiting"] == 3
    assert numbers['dither_ingest_answers_total{status="202"}'] == 2  # what it did, it did
