"""What Prometheus reads."""

import math
import os
import platform
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy
from flask.testing import FlaskClient

from dither_server.app import collector_of, create_app
from dither_server.ingest.committer import Committer
from dither_server.observability.database_gauges import Vitals
from dither_server.observability.prometheus import Prometheus
from dither_server.store import Condition, Store, StoreError
from dither_server.store.batch_ids import recent as journal
from dither_server.store.condition import Disk
from dither_server.store.tables.schema import BATCH_FILTERS, BATCHES, JOURNAL
from dither_serving.committer import Limits
from server.collecting import THEME, TODAY, batch, config, rows_of, upload
from server.database import connected, execute, url_of
from server.ingest.test_committer import PATIENCE, Gate, submitted

SHARD = b"s" * 16
TABLES = (JOURNAL, BATCH_FILTERS, BATCHES)


def samples(text: bytes | str) -> dict[str, float]:
    """Every sample of an answer, by its name and labels."""
    lines = (text.decode() if isinstance(text, bytes) else text).splitlines()
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}


def test_counts_follow_what_happens(client: FlaskClient) -> None:
    body = batch(THEME, rows_of(THEME, 7)).encode()
    for sent in (body, body, b"nonsense"):
        client.post("/v1/reports", data=sent, content_type="application/json")
    response = client.get("/metrics")
    assert response.mimetype == "text/plain"
    lines = response.text.splitlines()
    assert 'dither_reports_acknowledged_total{metric="theme"} 14.0' in lines
    assert 'dither_reports_acknowledged_total{metric="mobile"} 0.0' in lines  # so that its first reports are a rise
    assert 'dither_ingest_answers_total{status="202"} 2.0' in lines
    assert 'dither_ingest_answers_total{status="400"} 1.0' in lines
    assert "dither_commit_batches_sum 2.0" in lines
    assert "dither_commit_seconds_count 2.0" in lines
    assert "dither_commit_failures_total 0.0" in lines
    assert "dither_batches_waiting 0.0" in lines
    assert not any("_created" in line for line in lines)  # when the first report of all came is told to nobody


def test_the_database_is_told_of(client: FlaskClient, tmp_path: Path) -> None:
    client.post("/v1/reports", data=batch().encode(), content_type="application/json")
    told = samples(client.get("/metrics").text)
    labels = f'database="sqlite {sqlite3.sqlite_version}",python="{platform.python_version()}",version="0.1.0"'
    assert told[f"dither_build_info{{{labels}}}"] == 1
    assert told["dither_database_up"] == 1
    assert told["dither_batch_ids"] == 1
    files = [tmp_path / "dither.db", tmp_path / "dither.db-wal"]
    assert told["dither_database_wal_bytes"] == files[1].stat().st_size > 0
    assert told["dither_database_bytes"] == sum(file.stat().st_size for file in files)
    assert 0 < told["dither_disk_free_bytes"] < told["dither_disk_bytes"]


def test_a_database_that_is_away_is_told_and_nothing_else_is_lost(tmp_path: Path) -> None:
    with closing(collector_of(app := create_app(config(tmp_path)))):
        (tmp_path / "dither.db").write_bytes(b"this is no database" * 1000)
        for file in tmp_path.glob("dither.db-*"):
            file.unlink()
        told = samples(app.test_client().get("/metrics").text)
        assert told["dither_database_up"] == 0
        assert told['dither_reports_acknowledged_total{metric="theme"}'] == 0
        assert not any(name.startswith(("dither_batch_ids", "dither_disk")) for name in told)


def test_ids_are_counted_in_the_journal_in_days_that_are_open_and_by_the_filters_of_others(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "_SETTLE", 300)
    for days in range(3):
        for _ in range(5):
            store.commit([upload(rows=b"\x00") for _ in range(100)], TODAY + timedelta(days=days), SHARD)
            while store.tend():
                pass
        store.commit([upload(rows=b"\x00") for _ in range(20)], TODAY + timedelta(days=days), SHARD)
    with connected(url_of(tmp_path)) as connection:
        parts = [connection.scalar(sqlalchemy.select(sqlalchemy.func.count()).select_from(table)) for table in TABLES]
    assert all(parts), "ids are in all three"
    told = store.condition().ids
    assert abs(told - 3 * 520) <= 5 * 3


class Told:
    """A database that counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0
        self.now = 0.0
        self.takes = 0.0
        self.failure: Exception | None = None

    def condition(self) -> Condition:
        self.asked += 1
        self.now += self.takes
        if self.failure is not None:
            raise self.failure
        return Condition("sqlite 3", 1, 0, self.asked, Disk(1, 2))


def told_by(vitals: Vitals) -> dict[str, float]:
    return samples(Prometheus().text(vitals.families()))


def test_a_database_is_not_asked_more_often_than_it_is_worth() -> None:
    database = Told()
    vitals = Vitals(database, lambda: database.now)
    assert [told_by(vitals)["dither_batch_ids"] for _ in range(3)] == [1, 1, 1]
    database.now += 10
    database.takes = 3.0
    assert told_by(vitals)["dither_batch_ids"] == 2
    database.now += 599
    assert told_by(vitals)["dither_batch_ids"] == 2  # it took 3 s: that is done every 10 minutes
    database.now += 1
    database.failure = StoreError("database: gone")
    told = told_by(vitals)
    assert told["dither_database_up"] == 0
    assert next(name for name in told if name.startswith("dither_build_info")).count('database="sqlite 3"') == 1


def test_one_asks_and_the_others_do_not_wait_for_it() -> None:
    asked, may_end = threading.Event(), threading.Event()

    class Slow(Told):
        def condition(self) -> Condition:
            asked.set()
            assert may_end.wait(PATIENCE)
            return super().condition()

    vitals = Vitals(Slow())
    first = threading.Thread(target=lambda: list(vitals.families()))
    first.start()
    assert asked.wait(PATIENCE)
    assert told_by(vitals)["dither_database_up"] == 0  # nothing is known as yet
    may_end.set()
    first.join(PATIENCE)
    assert told_by(vitals)["dither_database_up"] == 1


@pytest.fixture
def gate() -> Gate:
    return Gate()


def test_the_age_of_what_waits_is_that_of_the_oldest(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "dither_oldest_batch_age_seconds"
    now = [0.0]
    prometheus = Prometheus(clock=lambda: now[0])
    since: list[float | None] = []

    def oldest(one: float | None) -> None:
        since.append(one)
        Prometheus.oldest(prometheus, one)

    monkeypatch.setattr(prometheus, "oldest", oldest)
    committer = Committer(gate, lambda: TODAY, Limits(), prometheus=prometheus)
    assert samples(prometheus.text())[name] == 0
    first, second = submitted(committer, upload()), submitted(committer, upload())
    assert since[0] is not None
    now[0] = since[0] + 12
    assert samples(prometheus.text())[name] == 12
    gate.let(1)
    first.result(PATIENCE)
    gate.let(1)
    second.result(PATIENCE)
    committer.close()
    assert samples(prometheus.text())[name] == 0
    times = [one for one in since[:-1] if one is not None]
    assert since[-1] is None
    assert times == sorted(times)
    assert all(math.isfinite(one) for one in times)


def test_counting_ids_takes_no_scan_of_days_that_are_over(store: Store, tmp_path: Path) -> None:
    for days in range(3):
        store.commit([upload(rows=b"\x00")], TODAY + timedelta(days=days), SHARD)
    plan = execute(
        url_of(tmp_path),
        "EXPLAIN QUERY PLAN SELECT count(*) FROM batches "
        "WHERE day IN (SELECT day FROM batch_days WHERE closed IS NULL)",
    )
    statements = [row[3] for row in plan]
    assert any("SEARCH batches USING PRIMARY KEY (day=?)" in one for one in statements), statements


def test_a_worker_that_was_killed_waits_no_more(tmp_path: Path) -> None:
    """As several processes tell it, of which one is gone: its number stays in the folder."""
    script = """
import os, subprocess, sys, time
from dither_server.observability.prometheus import Prometheus
prometheus = Prometheus()
prometheus.oldest(time.monotonic() - (1000.0 if len(sys.argv) > 1 else 5.0))
prometheus.waiting(700 if len(sys.argv) > 1 else 3)
prometheus.answered(202)
if len(sys.argv) == 1:
    subprocess.run([sys.executable, "-c", os.environ["SCRIPT"], "first"], check=True)
    print(prometheus.text().decode())
"""
    told = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path), "SCRIPT": script},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.rstrip()
    numbers = samples(told)
    assert 5 <= numbers["dither_oldest_batch_age_seconds"] < 1000
    assert numbers["dither_batches_waiting"] == 3
    assert numbers['dither_ingest_answers_total{status="202"}'] == 2  # what it did, it did
