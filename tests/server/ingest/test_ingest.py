"""POST /v1/reports, through both of its doors: the WSGI layer, and the Flask route behind it."""

import base64
import io
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from dither.upload.retry import GONE
from dither_server.app import collector_of, create_app
from dither_server.ingest.committer import Limits, Then
from dither_server.ingest.ingest import IngestLayer
from dither_server.store import StoreError, Upload
from dither_server.tally.tally import Tally
from dither_shared import parse_metrics
from server.collecting import (
    METRICS,
    METRICS_TOML,
    MOBILE,
    OPEN,
    THEME,
    TODAY,
    VERSION,
    batch,
    config,
    full_disk,
    problem,
    rows_of,
    same,
)

JSON = "application/json"


@pytest.fixture(params=["layer", "route"])
def door(request: pytest.FixtureRequest, app: Flask) -> FlaskClient:
    if request.param == "route":
        layer = app.wsgi_app
        assert isinstance(layer, IngestLayer)
        app.wsgi_app = layer.app  # type: ignore[method-assign, assignment]
    return app.test_client()


def post(door: FlaskClient, body: bytes, **more: Any) -> TestResponse:
    return door.post("/v1/reports", data=body, content_type=more.pop("content_type", JSON), **more)


def changed(**members: object) -> bytes:
    """A good body with some members changed; None takes one away."""
    values = json.loads(batch().encode()) | members
    return json.dumps({name: value for name, value in values.items() if value is not None}).encode()


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
    assert [(one.status_code, one.data) for one in answers] == [(202, answers[0].data)] * 3
    assert collector_of(app).store.tally(THEME).total == 3


def test_another_body_under_the_same_id_conflicts(door: FlaskClient, app: Flask) -> None:
    first = batch()
    assert post(door, first.encode()).status_code == 202
    for other in (batch(rows=rows_of(THEME, 4), name=first.batch), batch(MOBILE, b"\x00", first.batch)):
        assert problem(post(door, other.encode())) == (409, "batch-conflict")
    assert collector_of(app).store.tally(THEME).total == 3
    assert collector_of(app).store.tally(MOBILE).total == 0


def encoded(rows: bytes) -> str:
    return base64.b64encode(rows).decode()


MALFORMED = {
    "blank": b" ",
    "not JSON": b"theme=dark",
    "deep brackets": b"[" * 1000,
    "deep braces": b'{"batch":' * 100,
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


@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_bodies_are_refused_and_leave_no_trace(body: bytes, door: FlaskClient, app: Flask) -> None:
    assert problem(post(door, body)) == (400, "malformed")
    assert collector_of(app).store.tally(THEME).total == 0
    assert collector_of(app).store.tally(VERSION).total == 0


@pytest.mark.parametrize("opening", [b"[[[[", b'{"a":'])
def test_deep_nesting_is_no_recursion(opening: bytes, tmp_path: Path) -> None:
    wide = create_app(config(tmp_path))
    assert problem(post(wide.test_client(), opening * 100_000)) == (400, "malformed")
    collector_of(wide).close()


def test_what_is_not_ours_is_told_apart(door: FlaskClient) -> None:
    assert problem(post(door, changed(metric="no-such"))) == (404, "unknown-metric")
    assert problem(post(door, changed(metric="\ud800"))) == (404, "unknown-metric")
    assert problem(post(door, changed(version="0" * 16))) == (409, "version-conflict")
    assert problem(post(door, changed(version=MOBILE.version))) == (409, "version-conflict")


def test_a_disabled_metric_is_gone_until_it_is_enabled(door: FlaskClient, app: Flask) -> None:
    store = collector_of(app).store
    store.disable("theme", None, TODAY)
    assert problem(post(door, batch().encode())) == (GONE, "metric-disabled")
    assert post(door, batch(MOBILE).encode()).status_code == 202
    assert door.get("/v1/metrics/theme").json["disabled"] == [THEME.version]  # type: ignore[index]
    store.enable("theme", None)
    assert post(door, batch().encode()).status_code == 202


def test_former_versions_are_counted_beside_the_current_one(tmp_path: Path) -> None:
    """Apps in the field go on sending them."""
    former = parse_metrics(METRICS_TOML.replace("epsilon = 1.0", "epsilon = 2.0"))
    for metrics in (former, METRICS):
        app = create_app(config(tmp_path, metrics=metrics))
        with closing(collector_of(app)) as collector:
            for metric in (former["theme"], METRICS["theme"]):
                sent = post(app.test_client(), batch(metric).encode())
                if metrics is METRICS or metric.version == former["theme"].version:
                    assert sent.status_code == 202
                else:
                    assert problem(sent) == (409, "version-conflict")
    assert [collector.store.tally(metric).total for metric in (former["theme"], METRICS["theme"])] == [6, 3]


def test_a_former_version_that_no_one_can_read_is_not_counted(tmp_path: Path) -> None:
    former = parse_metrics(METRICS_TOML.replace("epsilon = 1.0", "epsilon = 2.0"))
    collector_of(create_app(config(tmp_path, metrics=former))).close()
    with closing(sqlite3.connect(tmp_path / "dither.db")) as connection, connection:
        connection.execute("UPDATE metrics SET definition = replace(definition, 'randomized-response', 'forgotten')")
    app = create_app(config(tmp_path))
    assert problem(post(app.test_client(), batch(former["theme"]).encode())) == (409, "version-conflict")
    assert post(app.test_client(), batch().encode()).status_code == 202
    collector_of(app).close()


@pytest.mark.parametrize(
    "content_type",
    ["", "text/plain", "application/x-www-form-urlencoded", "application/jsonp", "application/json; charset=latin-1"],
)
def test_other_media_types_are_refused(content_type: str, door: FlaskClient) -> None:
    assert problem(post(door, batch().encode(), content_type=content_type)) == (415, "media-type")


@pytest.mark.parametrize("content_type", ["application/json", 'Application/JSON; charset="UTF-8"'])
def test_ways_to_write_the_right_media_type(content_type: str, door: FlaskClient) -> None:
    assert post(door, batch().encode(), content_type=content_type).status_code == 202


@pytest.mark.parametrize("encoding", ["gzip", "identity", "br"])
def test_any_content_encoding_is_refused(encoding: str, door: FlaskClient) -> None:
    response = post(door, batch().encode(), headers={"Content-Encoding": encoding})
    assert problem(response) == (415, "media-type")


class Untouchable:
    """A body that nobody may read."""

    def read(self, *_: int) -> bytes:
        raise AssertionError("the body was read")


def environ(**changes: Any) -> dict[str, Any]:
    return {"REQUEST_METHOD": "POST", "PATH_INFO": "/v1/reports", "CONTENT_TYPE": JSON, **changes}


def call(door: FlaskClient, **changes: Any) -> TestResponse:
    """Post with an environment that no well-behaved client would make."""
    return door.open(environ_overrides=environ(**changes), path="/v1/reports", method="POST")


@pytest.mark.parametrize("length", ["20001", "10000000", "9" * 20])
def test_a_large_body_is_refused_unread(length: str, door: FlaskClient) -> None:
    assert problem(call(door, CONTENT_LENGTH=length, **{"wsgi.input": Untouchable()})) == (413, "too-large")


def test_a_body_of_the_very_limit_is_read(door: FlaskClient) -> None:
    body = batch().encode()
    assert post(door, body + b" " * (20_000 - len(body))).status_code == 202
    assert problem(post(door, body + b" " * (20_001 - len(body)))) == (413, "too-large")


def test_a_length_is_needed_unless_the_server_knows_the_end(door: FlaskClient) -> None:
    body = batch().encode()
    assert problem(call(door, CONTENT_LENGTH="", **{"wsgi.input": Untouchable()})) == (411, "length-required")
    chunked = {"CONTENT_LENGTH": "", "wsgi.input_terminated": True}
    assert call(door, **chunked, **{"wsgi.input": io.BytesIO(body)}).status_code == 202
    endless = io.BytesIO(body + b" " * 1_000_000)
    assert problem(call(door, **chunked, **{"wsgi.input": endless})) == (413, "too-large")
    assert endless.tell() <= 20_001


@pytest.mark.parametrize("length", ["-1", "+5", "5,5", "5, 5", " 5", "1e3", "abc", "١", "²", "9" * 21, "9" * 4400])
def test_a_length_that_is_no_number(length: str, door: FlaskClient) -> None:
    assert problem(call(door, CONTENT_LENGTH=length, **{"wsgi.input": Untouchable()})) == (400, "malformed")


def test_a_body_that_ends_early(door: FlaskClient) -> None:
    """Even if it happens to be whole JSON: who knows what was cut."""
    body = batch().encode()
    short = call(door, CONTENT_LENGTH=str(len(body) + 1), **{"wsgi.input": io.BytesIO(body)})
    assert problem(short) == (400, "malformed")


def test_too_many_rows(door: FlaskClient, app: Flask) -> None:
    assert post(door, batch(rows=b"\x00" * 1000).encode()).json == {"accepted": 1000}
    assert problem(post(door, batch(rows=b"\x00" * 1001).encode())) == (413, "too-large")
    assert collector_of(app).store.tally(THEME).total == 1000


def test_what_was_sent_is_never_repeated_in_the_answer(door: FlaskClient) -> None:
    marker = "Zm9vYmFyMTIz"
    bodies = [
        marker.encode(),
        changed(metric=marker),
        changed(batch=marker),
        changed(version=marker),
        changed(reports=marker),
        changed(reports=marker + "!"),
        changed(**{marker: "x"}),
    ]
    for body in bodies:
        response = post(door, body)
        assert response.status_code >= 400
        assert marker.encode() not in response.data


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH"])
def test_other_methods(method: str, door: FlaskClient) -> None:
    response = door.open("/v1/reports", method=method)
    assert problem(response) == (405, "method-not-allowed")
    assert "POST" in response.headers["Allow"]


@pytest.mark.parametrize(
    ("failure", "kind"),
    [(StoreError("database: full"), "unavailable"), (None, "unavailable")],
    ids=["the store refuses", "the commit takes too long"],
)
def test_without_a_commit_there_is_no_acknowledgement(
    failure: StoreError | None, kind: str, door: FlaskClient, app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    def submit(_: Upload, then: Then) -> None:
        if failure is not None:
            then(failure)

    collector = collector_of(app)
    with monkeypatch.context() as patch:
        patch.setattr(collector.committer, "submit", submit)
        patch.setitem(collector.ingest.__dict__, "patience", 0.001)
        response = post(door, batch().encode())
    assert problem(response) == (503, kind)
    assert int(response.headers["Retry-After"]) > 0
    assert post(door, batch().encode()).status_code == 202


def test_a_full_queue_asks_to_come_again(door: FlaskClient, app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector_of(app).committer, "_limits", Limits(queue=0))
    response = post(door, batch().encode())
    assert problem(response) == (503, "overloaded")
    assert int(response.headers["Retry-After"]) > 0


def test_a_closed_collector_asks_to_come_again(door: FlaskClient, app: Flask) -> None:
    collector_of(app).close()
    assert problem(post(door, batch().encode())) == (503, "unavailable")


def test_a_full_disk_is_not_acknowledged_and_passes(door: FlaskClient, app: Flask) -> None:
    store = collector_of(app).store
    body = batch(OPEN, rows_of(OPEN, 800)).encode()
    assert post(door, batch().encode()).status_code == 202
    with full_disk(store):
        response = post(door, body)
        assert problem(response) == (503, "unavailable")
        assert int(response.headers["Retry-After"]) > 0
        assert store.tally(OPEN).total == 0
    assert post(door, body).status_code == 202
    assert store.tally(OPEN).total == 800


def test_a_fault_of_ours_is_a_problem_too(
    door: FlaskClient, app: Flask, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise ArithmeticError

    monkeypatch.setattr(collector_of(app).committer, "submit", fail)
    assert problem(post(door, batch().encode())) == (500, "internal")
    assert "ArithmeticError" in caplog.text
