"""POST /v1/reports: how much of a body is read, which reports are counted or refused, and the answers to devices."""

import base64
import io
import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

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
from server.ingest.posting import JSON, changed, post


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


def encoded(rows: bytes) -> str:
    return base64.b64encode(rows).decode()


MALFORMED = {
    "blank": b" ",
    "not JSON": b"theme=dark",
    "deep brackets": b"[" * 20_000,
    "deep braces": b'{"a":' * 4000,
    "array": b'["a"]',
    "number": b"7",
    "NaN": changed().replace(b'"metric": "theme"', b'"metric": NaN'),
    "Infinity": changed().replace(b'"metric": "theme"', b'"metric": -Infinity'),
    "duplicate key": changed()[:-1] + b', "metric": "theme"}',
    "not UTF-8": changed().replace(b"theme", b"th\xffme"),
    "UTF-16": batch().encode().decode().encode("utf-16"),
    "byte order mark": b"\xef\xbb\xbf" + batch().encode(),
    "trailing text": batch().encode() + b"x",
    "unknown member": changed(user="me"),
    "missing batch": changed(batch=None),
    "missing reports": changed(reports=None),
    "null": batch().encode().replace(b'"theme"', b"null"),
    "bool": changed(batch=True),
    "int": changed(version=1),
    "float": changed(reports=1.5),
    "nested": changed(metric={"name": "theme"}),
    "huge number": batch().encode().replace(b'"theme"', b"9" * 5000),
    "batch too short": changed(batch="ab"),
    "batch upper case": changed(batch="AB" * 16),
    "version too long": changed(version="0" * 17),
    "no base64": changed(reports="!!!!"),
    "base64 with a line end": changed(reports="AAAA\nAAAA"),
    "base64 of the URL kind": changed(reports="__--"),
    "base64 unpadded": changed(reports="AA"),
    "base64 not canonical": changed(reports="AB=="),
    "base64 not ASCII": changed(reports="ÄÄÄÄ"),
    "no rows": changed(reports=""),
    "symbol beyond the last": changed(reports=encoded(b"\x00\x04")),
    "bits beyond the last": batch(VERSION, b"\x00\x00\x00\x10").encode(),
    "cohort beyond the last": batch(VERSION, b"\x03\x00\x00\x00").encode(),
    "half a row": batch(VERSION, rows_of(VERSION, 2)[:-1]).encode(),
}


def test_malformed_bodies_are_refused_and_leave_no_trace(door: FlaskClient, app: Flask) -> None:
    store, wrong = collector_of(app).store, []
    for name, body in MALFORMED.items():
        answer = problem(post(door, body))
        if answer != (400, "malformed") or store.tally(THEME).total or store.tally(VERSION).total:
            wrong.append((name, answer))
    assert not wrong


def test_only_json_without_a_content_encoding_is_accepted(door: FlaskClient) -> None:
    other = ["", "text/plain", "application/x-www-form-urlencoded", "application/jsonp", f"{JSON}; charset=latin-1"]
    unread: list[dict[str, Any]] = [{"content_type": content} for content in other]
    unread += [{"headers": {"Content-Encoding": encoding}} for encoding in ("gzip", "identity", "br")]
    for wrong in unread:
        assert problem(post(door, batch().encode(), **wrong)) == (415, "media-type"), wrong
    for right in (JSON, 'Application/JSON; charset="UTF-8"'):
        assert post(door, batch().encode(), content_type=right).status_code == 202, right


class Untouchable:
    """A body that nobody may read."""

    def read(self, *_: int) -> bytes:
        raise AssertionError("the body was read")


def environ(**changes: Any) -> dict[str, Any]:
    return {"REQUEST_METHOD": "POST", "PATH_INFO": "/v1/reports", "CONTENT_TYPE": JSON, **changes}


def call(door: FlaskClient, **changes: Any) -> TestResponse:
    """Post with an environment that no well-behaved client would make."""
    return door.open(environ_overrides=environ(**changes), path="/v1/reports", method="POST")


def test_body_that_is_too_large_or_of_no_length_is_refused_unread(door: FlaskClient) -> None:
    wrong = ["-1", "+5", "5,5", "5, 5", " 5", "1e3", "abc", "١", "²", "9" * 21, "9" * 4400]
    for length, answer in (
        *(dict.fromkeys(("20001", "10000000", "9" * 20), (413, "too-large")).items()),
        *(dict.fromkeys(wrong, (400, "malformed")).items()),
        ("", (411, "length-required")),
    ):
        sent = call(door, CONTENT_LENGTH=length, **{"wsgi.input": Untouchable()})
        assert problem(sent) == answer, length


def test_body_of_exactly_the_limit_is_read(door: FlaskClient) -> None:
    body = batch().encode()
    assert post(door, body + b" " * (20_000 - len(body))).status_code == 202
    assert problem(post(door, body + b" " * (20_001 - len(body)))) == (413, "too-large")


def test_content_length_is_not_required_if_the_server_knows_the_end(door: FlaskClient) -> None:
    body = batch().encode()
    chunked = {"CONTENT_LENGTH": "", "wsgi.input_terminated": True}
    assert call(door, **chunked, **{"wsgi.input": io.BytesIO(body)}).status_code == 202
    endless = io.BytesIO(body + b" " * 1_000_000)
    assert problem(call(door, **chunked, **{"wsgi.input": endless})) == (413, "too-large")
    assert endless.tell() <= 20_001


def test_body_shorter_than_its_length_is_refused(door: FlaskClient) -> None:
    """It is refused even if it happens to be complete JSON, because something may have been cut."""
    body = batch().encode()
    short = call(door, CONTENT_LENGTH=str(len(body) + 1), **{"wsgi.input": io.BytesIO(body)})
    assert problem(short) == (400, "malformed")


def test_batch_of_more_rows_than_the_limit_is_refused(door: FlaskClient, app: Flask) -> None:
    assert post(door, batch(rows=b"\x00" * 1000).encode()).json == {"accepted": 1000}
    assert problem(post(door, batch(rows=b"\x00" * 1001).encode())) == (413, "too-large")
    assert collector_of(app).store.tally(THEME).total == 1000


def test_answer_never_quotes_the_request(door: FlaskClient) -> None:
    marker = "Zm9vYmFyMTIz"
    members = [{"metric": marker}, {"batch": marker}, {"version": marker}, {"reports": marker}, {marker: "x"}]
    for body in [marker.encode(), changed(reports=marker + "!"), *(changed(**change) for change in members)]:
        response = post(door, body)
        assert response.status_code >= 400
        assert marker.encode() not in response.data
