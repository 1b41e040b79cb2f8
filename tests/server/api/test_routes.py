"""The queries of an analyst, and the answers to wrong ones."""

import json
import resource
import shutil
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from dither_server.app import collector_of
from dither_server.estimation.estimate import estimate
from dither_server.store import StoreError
from dither_server.tally.tally import Tally
from server.collecting import METRICS, SHARD, THEME, TODAY, batch, problem, rows_of, running, upload
from server.test_process import connect
from torture.devices import post


def strictly(text: str) -> Any:
    """Read JSON as a browser does: NaN and Infinity are none."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


def test_estimate_route_answers_the_estimate_of_the_tally(client: FlaskClient) -> None:
    rows = rows_of(THEME, 800)
    client.post("/v1/reports", data=batch(THEME, rows).encode(), content_type="application/json")
    answer = strictly(client.get("/v1/metrics/theme/estimate?confidence=0.9").text)
    expected = estimate(THEME.mechanism, THEME.labels, Tally.fold(THEME.mechanism, rows), 0.9)
    assert list(answer) == [
        "metric", "version", "mechanism", "epsilon", "epsilon_after_10", "epsilon_forever", "privacy",
        "reports", "periods", "repeats", "refused", "since", "until", "confidence", "simultaneous", "poisoning",
        "health", "unlisted", "values",
    ]  # fmt: skip
    assert (answer["metric"], answer["version"], answer["mechanism"]) == ("theme", THEME.version, "randomized-response")
    assert (answer["epsilon"], answer["reports"], answer["confidence"]) == (THEME.mechanism.epsilon, 800, 0.9)
    assert (answer["epsilon_after_10"], answer["epsilon_forever"]) == (THEME.mechanism.epsilon_after(10), None)
    assert (answer["since"], answer["until"]) == ("2026-11-20", "2026-11-20")
    assert [row["value"] for row in answer["values"]] == ["dark", "light", "=1+1", "other"]
    for name in (
        "frequency", "count", "noise_error", "noise_low", "noise_high", "standard_error", "low", "high", "consistent",
    ):  # fmt: skip
        assert [row[name] for row in answer["values"]] == pytest.approx(getattr(expected, name).tolist(), abs=0)
    assert [row["verdict"] for row in answer["values"]] == list(expected.verdicts)
    assert {row["found"] for row in answer["values"]} == {None}
    assert answer["values"][1]["frequency"] > 0.5


def test_confidence_is_answered_within_its_limits_and_refused_beyond(client: FlaskClient) -> None:
    client.post("/v1/reports", data=batch(THEME, rows_of(THEME, 300)).encode(), content_type="application/json")
    for confidence in ("0.9999999999999999", "0", "-0.5", "nan", "inf", "1e-300", "", "much"):
        for question in ("estimate", "trend", "combined", "compare"):
            answer = client.get(f"/v1/metrics/theme/{question}?confidence={confidence}")
            assert problem(answer) == (400, "parameter"), confidence
            assert "confidence: not a number between 0.000001 and 0.999999999" in answer.text
    for confidence in ("0.000001", "0.999999999"):
        for question in ("estimate?simultaneous=true&", "estimate?", "trend?", "combined?", "compare?other=mobile&"):
            assert client.get(f"/v1/metrics/theme/{question}confidence={confidence}").status_code in {200, 400}
        answer = strictly(client.get(f"/v1/metrics/theme/estimate?confidence={confidence}").text)
        assert all(0 <= row["low"] <= row["high"] <= 1 for row in answer["values"])


def test_reports_of_the_days_since_and_until_are_included(app: Flask, client: FlaskClient) -> None:
    for day in range(4):
        uploads = [upload(rows=b"\x00" * 10**day)]
        collector_of(app).store.commit(uploads, TODAY + timedelta(days=day), SHARD)

    def reports(query: str) -> int:
        return int(strictly(client.get(f"/v1/metrics/theme/estimate?{query}").text)["reports"])

    assert reports("") == 1111
    assert reports("since=2026-11-21&until=2026-11-22") == 110
    assert reports("since=2026-11-23") == 1000
    assert reports("until=2026-11-20") == 1
    assert reports("since=2026-12-01") == 0
    shown = strictly(client.get("/v1/metrics/theme/estimate?since=2020-01-01").text)
    assert (shown["since"], shown["until"]) == ("2020-01-01", "2026-11-23")


def test_wrong_parameters_and_unknown_names_are_refused_and_named(client: FlaskClient) -> None:
    for query, named in (
        ("since=yesterday", "since"),
        ("since=2026-11-31", "since"),
        ("since=20261120", "since"),
        ("until=2026-W47-5", "until"),
        ("until=", "until"),
        ("since=2026-11-20&until=2026-11-19", "since"),
        ("since=2026-11-20&since=2026-11-20", "since"),
        ("format=xml", "format"),
        ("simultaneous=yes", "simultaneous"),
        ("untill=2026-11-20", "untill"),
        ("%F0%9F%98%80=1", "U0001f600"),
    ):
        response = client.get(f"/v1/metrics/theme/estimate?{query}")
        assert problem(response) == (400, "parameter"), query
        assert named in response.get_json()["detail"].split(":")[0], query
    assert problem(client.get("/v1/metrics/nothing")) == (404, "unknown-metric")
    assert problem(client.get("/v1/metrics/nothing/estimate")) == (404, "unknown-metric")
    assert problem(client.get("/v1/metrics/theme/estimate?version=nope")) == (404, "unknown-version")
    assert problem(client.get("/v1/metrics/open/estimate")) == (400, "no-candidates")
    assert problem(client.get("/nowhere")) == (404, "not-found")
    response = client.delete("/v1/metrics")
    assert problem(response) == (405, "method-not-allowed")
    assert "GET" in response.headers["Allow"]


def test_metrics_are_listed_with_their_privacy(client: FlaskClient) -> None:
    listed = strictly(client.get("/v1/metrics").text)["metrics"]
    assert [metric["metric"] for metric in listed] == list(METRICS)
    theme = listed[0]
    assert theme["epsilon"] == THEME.mechanism.epsilon
    assert theme["values"] == list(THEME.labels)
    assert "times in 100" in theme["odds"]
    assert strictly(client.get("/v1/metrics/theme").text) == theme | {"versions": [THEME.version], "disabled": []}


def test_readyz_fails_with_the_database_and_healthz_does_not(
    app: Flask, client: FlaskClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert client.get("/healthz").json == {"status": "ok"}
    assert client.get("/readyz").json == {"status": "ready"}

    def fail() -> None:
        raise StoreError("database: gone")

    monkeypatch.setattr(collector_of(app).store, "ping", fail)
    for _ in range(3):  # a probe may ask each second
        response = client.get("/readyz")
        assert problem(response) == (503, "unavailable")
    assert int(response.headers["Retry-After"]) > 0
    assert caplog.text.count("database: gone") == 1
    assert client.get("/healthz").status_code == 200


def test_collector_with_a_nearly_full_disk_is_not_ready(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    for free, status in (((1 << 22) - 1, 503), (1 << 22, 200)):
        monkeypatch.setattr(shutil, "disk_usage", lambda _, free=free: SimpleNamespace(free=free, total=1 << 40))
        assert client.get("/readyz").status_code == status


@pytest.mark.skipif(sys.platform != "linux", reason="another process's limit is set by Linux alone")
def test_collector_is_not_ready_while_its_disk_takes_no_writes(tmp_path: Path) -> None:
    """A limit on file sizes simulates the full disk: a write beyond it fails; afterwards writes succeed again."""
    with running(tmp_path) as (url, process):
        assert _taken(url) == 202
        endless = resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
        assert _status(url, "/readyz") == 200, "nothing has failed yet, and nothing is tried"
        assert _taken(url) == 503
        assert [_status(url, "/readyz") for _ in range(2)] == [503, 503]
        assert _status(url, "/healthz") == 200
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, endless)
        assert _status(url, "/readyz") == 200
        assert _taken(url) == 202


def _taken(url: str) -> int | None:
    answer = post(url, batch().encode())
    return None if answer is None else answer.status


def _status(url: str, path: str) -> int:
    with closing(connect(url)) as connection:
        connection.request("GET", path)
        return connection.getresponse().status


def test_every_answer_has_security_headers(client: FlaskClient) -> None:
    for path in ("/", "/m/theme", "/v1/metrics", "/nowhere", "/v1/metrics/theme/estimate?x=1"):
        headers = client.get(path).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers.getlist("Cache-Control") == ["no-store"]
        assert "Content-Security-Policy" in headers


def test_programming_error_is_answered_500_without_its_text(
    app: Flask, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ArithmeticError("a secret")

    monkeypatch.setattr(collector_of(app).store, "snapshot", fail)
    response = client.get("/v1/metrics/theme/estimate")
    assert problem(response) == (500, "internal")
    assert "secret" not in response.text
