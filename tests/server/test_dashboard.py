"""The pages: what they say, that nothing in them runs, and how a browser takes them."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from dither_server.answers import Row
from dither_server.app import collector_of, create_app
from dither_server.dashboard import in_words
from dither_shared import parse_metrics
from server.collecting import METRICS, THEME, TODAY, config, problem, rows_of, running, upload

HOSTILE = """
[metrics.hostile]
description = "<script>alert(1)</script>"
type = "choice"
values = ['<img src=x onerror="alert(2)">', "a&b", "=cmd()"]
epsilon = 1.0
"""


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Flask]:
    """A collector with hostile names, and three days of one metric."""
    app = create_app(config(tmp_path, metrics=parse_metrics(HOSTILE) | METRICS))
    store = collector_of(app).store
    for day in (0, 1, 4):
        store.commit([upload(THEME, rows_of(THEME, 300 * (day + 1)))], TODAY + timedelta(days=day), b"s" * 16)
    hostile = parse_metrics(HOSTILE)["hostile"]
    for day in (0, 1):
        rows = rows_of(hostile, 300, value="a&b")
        store.commit([upload(hostile, rows)], TODAY + timedelta(days=day), b"s" * 16)
    yield app
    collector_of(app).close()


def test_every_metric_is_on_the_first_page(client: FlaskClient) -> None:
    page = client.get("/").text
    assert page.count("<h2") == len(METRICS) + 1
    assert "2,400 reports" in page
    assert page.count('class="bar"') == len(THEME.labels) + 4
    assert "too few reports" in page
    assert "lists no candidates" in page
    assert 'href="/v1/metrics/theme/estimate?format=csv"' in page
    assert 'href="/m/theme"' in page


def test_a_page_shows_days_and_courses(client: FlaskClient) -> None:
    page = client.get("/m/theme").text
    assert "<title>2026-11-20: 300</title>" in page
    assert "<title>2026-11-24: 1,500</title>" in page
    assert 'y="0.0"' in page  # the highest day
    assert page.count("<polyline") == page.count("<polygon") == len(THEME.labels)
    points = re.findall(r'polyline class="line" points="([^"]*)"', page)[0].split()
    assert [float(point.split(",")[0]) for point in points] == [0.0, 150.0, 600.0]  # as far apart as the days
    first = re.findall(r"<figcaption>(\S*)", page)[0]
    assert first == "light"  # the most frequent value
    assert problem(client.get("/m/nothing")) == (404, "unknown-metric")
    assert "lists no candidates" in client.get("/m/open").text
    assert "<polyline" not in client.get("/m/mobile").text  # without reports there is nothing to draw


def test_nothing_in_a_page_runs(client: FlaskClient) -> None:
    for path in ("/", "/m/hostile"):
        response = client.get(path)
        assert response.status_code == 200
        assert "<script" not in response.text
        assert "<img" not in response.text
        assert "&lt;script&gt;" in response.text
        assert "style=" not in response.text  # which the policy would ignore
        policy = response.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy
        assert "http" not in policy
    table = client.get("/v1/metrics/hostile/estimate?format=csv").text
    assert ",'=cmd()," in table
    with client.get("/static/dashboard.css") as style:
        assert style.status_code == 200


def row(verdict: str, error: float | None) -> Row:
    return Row(
        value="v",
        frequency=0.1,
        count=10.0,
        noise_error=error,
        noise_low=0.0,
        noise_high=1.0,
        standard_error=error,
        low=0.0,
        high=1.0,
        repeat_error=error,
        consistent=0.1,
        gain_up=0.01,
        gain_down=0.01,
        verdict=verdict,  # type: ignore[typeddict-item]
    )


def test_verdicts_are_words() -> None:
    assert in_words(row("ok", 0.1), THEME, 100, 0.95) == "clear of noise"
    assert in_words(row("noise", 0.1), THEME, 100, 0.95) == "may be noise only"
    # 100 reports give 0.1; 0.02 / 1.96 takes 96.04 times as many: 9,604 in all.
    assert in_words(row("too-few", 0.1), THEME, 100, 0.95) == "too few reports: 9,510 more for ±2 points"
    needed = THEME.mechanism.variance() * (1.96 / 0.02) ** 2
    said = in_words(row("too-few", None), THEME, 0, 0.95)
    assert int(said.split()[3].replace(",", "")) == pytest.approx(needed, rel=0.01)


def test_a_browser_shows_it_without_complaint(tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        pytest.skip("no chromium here: apt-get install chromium")
    with running(tmp_path) as (url, _):
        flags = "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --enable-logging=stderr --v=0 --dump-dom"
        flags += " --disable-background-networking --disable-component-update --no-first-run"
        command = [browser, *flags.split(), f"--user-data-dir={tmp_path}/profile", "--window-size=390,1200", f"{url}/"]
        shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert "What people answered" in shown.stdout
    assert not [line for line in shown.stderr.splitlines() if "CONSOLE" in line]


def test_a_browser_is_told_of_a_problem_in_a_page(client: FlaskClient) -> None:
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    far = {"REMOTE_ADDR": "192.0.2.7"}
    shut = client.get("/", headers=browser, environ_overrides=far)
    assert (shut.status_code, shut.mimetype) == (401, "text/html")
    assert "Basic" in shut.headers["WWW-Authenticate"]
    assert "give it as the password" in shut.text
    for path, status, said in (
        ("/m/nothing", 404, "No such metric"),
        ("/nowhere", 404, "No such page"),
        ("/v1/metrics/theme/estimate?since=soon", 400, "since: not a date"),
    ):
        response = client.get(path, headers=browser)
        assert (response.status_code, response.mimetype) == (status, "text/html")
        assert said in response.text
        assert problem(client.get(path))[0] == status
