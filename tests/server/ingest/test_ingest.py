"""POST /v1/reports: which reports are counted or refused, and the answers to devices."""

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from dither.upload.schedule import GONE
from dither_server.app import collector_of
from dither_server.store import Refusal
from dither_server.tally.tally import Tally
from dither_shared import parse_metrics
from server.collecting import (
    LAYOUT,
    METRICS,
    METRICS_TOML,
    MOBILE,
    STRATA,
    STRATA_TOML,
    THEME,
    TODAY,
    VERSION,
    batch,
    problem,
    rows_of,
    same,
)
from server.database import execute, url_of
from server.ingest.posting import JSON, post


def test_reports_are_counted_and_acknowledged(door: FlaskClient, app: Flask) -> None:
    for metric in (THEME, MOBILE, VERSION):
        rows = rows_of(metric, 10)
        response = post(door, batch(metric, rows).encode())
        assert (response.status_code, response.json) == (202, {"accepted": 10})
        assert (response.mimetype, response.headers["Cache-Control"]) == (JSON, "no-store")
        assert same(collector_of(app).store.tally(metric), Tally.fold(metric.mechanism, rows))


def test_a_retry_gets_the_same_answer_and_counts_once(door: FlaskClient, app: Flask) -> None:
    body = batch().encode()
    answers = [post(door, body) for _ in range(3)]
    assert [(answer.status_code, answer.data) for answer in answers] == [(202, answers[0].data)] * 3
    assert collector_of(app).store.tally(THEME).total == 3


BARE = parse_metrics(STRATA_TOML.split("\nstrata")[0])
FORMER = parse_metrics(METRICS_TOML.replace("epsilon = 1.0", "epsilon = 2.0"))


@pytest.fixture
def layered(make_app: Callable[..., Flask]) -> Flask:
    """An app whose metrics have strata, and one of which had none before."""
    make_app(metrics=BARE)
    return make_app(metrics=STRATA)


def test_reports_are_counted_in_their_stratum(layered: Flask) -> None:
    collector, client = collector_of(layered), layered.test_client()
    assert LAYOUT.strata is not None
    places = {label: place for place, label in enumerate(LAYOUT.strata.labels)}
    sent = batch(LAYOUT, stratum="windows/other")
    again = sent._replace(stratum="linux/stable")  # counts nothing under an id that is known
    for body in (sent, sent, again, batch(LAYOUT, rows_of(LAYOUT, 5), stratum="linux/stable")):
        assert post(client, body.encode()).status_code == 202
    assert collector.store.history(LAYOUT).strata() == {places["linux/stable"]: 5, places["windows/other"]: 3}


def test_a_version_without_strata_is_still_counted(layered: Flask) -> None:
    collector, client, former = collector_of(layered), layered.test_client(), BARE["layout"]
    assert post(client, batch(former).encode()).status_code == 202
    assert (collector.store.tally(former).total, collector.store.tally(LAYOUT).total) == (3, 0)
    refused = post(client, batch(former, stratum="linux/stable").encode())
    assert problem(refused) == (400, "malformed")
    assert json.loads(refused.data)["detail"] == "stratum: this version of the metric has none; leave it out"


def test_undeclared_stratum_is_refused_and_the_refusal_counted(layered: Flask) -> None:
    collector, labels = collector_of(layered), "linux/stable, linux/other, windows/stable, windows/other, other/stable"
    for stratum in (None, "linux", "linux/beta", "stable/linux", "LINUX/stable", "linux/stable "):
        refused = post(layered.test_client(), batch(LAYOUT, stratum=stratum).encode())
        assert problem(refused) == (400, "malformed"), stratum
        wrong = "missing" if stratum is None else "not one of this version of the metric"
        assert json.loads(refused.data)["detail"] == f"stratum: {wrong}; known: {labels}, other/other"
    collector.close()
    assert collector.store.tally(LAYOUT).total == 0
    assert collector.store.refusals.read() == {Refusal("layout", TODAY, "malformed", LAYOUT.version): 6}


def test_a_disabled_metric_is_gone_until_it_is_enabled(door: FlaskClient, app: Flask) -> None:
    store = collector_of(app).store
    store.definitions.disable("theme", None, TODAY)
    assert problem(post(door, batch().encode())) == (GONE, "metric-disabled")
    assert post(door, batch(MOBILE).encode()).status_code == 202
    assert door.get("/v1/metrics/theme").json["disabled"] == [THEME.version]  # type: ignore[index]
    store.definitions.enable("theme", None)
    assert post(door, batch().encode()).status_code == 202


def test_former_versions_are_counted_beside_the_current_one(make_app: Callable[..., Flask]) -> None:
    """Apps in the field go on sending them."""
    before, after = (make_app(metrics=metrics) for metrics in (FORMER, METRICS))
    versions = FORMER["theme"], THEME
    answers = [post(app.test_client(), batch(one).encode()) for app, one in product((before, after), versions)]
    assert [answer.status_code for answer in answers] == [202, 409, 202, 202]
    assert [collector_of(after).store.tally(one).total for one in versions] == [6, 3]
    for one, reports in zip(versions, (6, 3), strict=True):
        path = f"/v1/metrics/theme/versions/{one.version}"
        assert json.loads(after.test_client().get(path).text)["reports"] == "accepted"
        path = f"/v1/metrics/theme/estimate?version={one.version}"
        shown = json.loads(after.test_client().get(path).text)
        assert (shown["reports"], shown["version"], shown["epsilon"]) == (reports, one.version, one.mechanism.epsilon)


def test_a_former_version_that_no_one_can_read_is_not_counted(make_app: Callable[..., Flask], tmp_path: Path) -> None:
    make_app(metrics=FORMER)
    execute(url_of(tmp_path), "UPDATE metrics SET definition = replace(definition, 'randomized-response', 'forgotten')")
    client = make_app().test_client()
    assert problem(post(client, batch(FORMER["theme"]).encode())) == (409, "version-conflict")
    assert post(client, batch().encode()).status_code == 202


def test_unexpected_error_is_answered_500_and_logged(
    door: FlaskClient, app: Flask, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise ArithmeticError

    monkeypatch.setattr(collector_of(app).committer, "submit", fail)
    assert problem(post(door, batch().encode())) == (500, "internal")
    assert "ArithmeticError" in caplog.text
