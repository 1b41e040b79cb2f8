"""Reports from web pages: which origins may send them, how they are read, and whether the page may read the answer."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from dither_server.access.origins import Origins
from dither_server.access.tokens import Role, digest_of, draw_token
from dither_server.app import collector_of
from dither_server.store import Refusal, StoredToken, StoreError, Upload
from dither_serving.committer import QueueFullError
from server.collecting import THEME, TODAY, batch, problem
from server.ingest.posting import JSON, post

APP, FOREIGN = "https://app.example", "https://evil.example"
PLAIN = "text/plain;charset=UTF-8"
SHARED = {"Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Vary"}


@pytest.fixture
def app(make_app: Callable[..., Flask]) -> Flask:
    """An app that accepts reports from pages of two origins and from any client that is not a page."""
    listed, open_to = Origins((APP, "http://localhost:3000")), frozenset({Role.REPORT, Role.READ})
    return make_app(origins=listed, open=open_to, body_limit=20_000, rows_limit=1000)


def send(door: FlaskClient, origin: str | None, body: bytes = b"", content_type: str = PLAIN) -> TestResponse:
    headers = {} if origin is None else {"Origin": origin}
    return post(door, body or batch().encode(), content_type=content_type, headers=headers)


def shares(response: TestResponse, origin: str) -> bool:
    """Whether a page of that origin may read the answer with its Retry-After."""
    return {name: response.headers.get(name) for name in SHARED} == {
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Expose-Headers": "Retry-After",
        "Vary": "Origin",
    } and all(len(response.headers.getlist(name)) == 1 for name in SHARED)


def test_reports_of_a_listed_page_are_counted_as_text_and_as_json(door: FlaskClient, app: Flask) -> None:
    taken = [PLAIN, "text/plain", "Text/Plain; Charset=utf-8", 'text/plain;charset="utf-8"', JSON]
    for origin, content_type in product((APP, "http://localhost:3000"), taken):
        response = send(door, origin, content_type=content_type)
        assert (response.status_code, response.json) == (202, {"accepted": 3}), content_type
        assert shares(response, origin)
        assert "Access-Control-Allow-Credentials" not in response.headers
    assert collector_of(app).store.tally(THEME).total == 3 * 2 * len(taken)


def test_answer_to_a_listed_page_names_the_accepted_media_types(door: FlaskClient) -> None:
    charsets = ["text/plain;charset=latin-1", "text/plain;charset=utf8", "text/plain;x=y"]
    for content_type in ["", *charsets, "text/html", "multipart/form-data"]:
        response = send(door, APP, content_type=content_type)
        assert problem(response) == (415, "media-type"), content_type
        assert shares(response, APP)
        assert json.loads(response.data)["detail"] == "Content-Type: must be text/plain or application/json"


OTHERS = [FOREIGN, "null", "", f"{APP}:443", f"{APP}, {APP}", f"{APP} {FOREIGN}", APP + "x" * 20_000, f"{APP}\u00ff"]
"""Others that are not listed; tests/server/access/test_origins.py has many more."""


def test_reports_of_any_other_page_are_refused(door: FlaskClient, app: Flask) -> None:
    for origin, content_type in product(OTHERS, (PLAIN, JSON, "", "application/x-www-form-urlencoded")):
        response = send(door, origin, content_type=content_type)
        assert problem(response) == (403, "origin"), origin
        assert "Access-Control-Allow-Origin" not in response.headers
        assert response.headers["Vary"] == "Origin"
    assert collector_of(app).store.tally(THEME).total == 0


def test_refusals_of_pages_are_counted_as_origin(door: FlaskClient, app: Flask) -> None:
    for origin in (FOREIGN, "null"):
        send(door, origin)
    assert b'dither_refused_batches_total{metric="(unknown)",reason="origin",version="(unknown)"} 2.0' in (
        door.get("/metrics").data
    )
    collector_of(app).committer.close()
    assert collector_of(app).store.refusals.read() == {Refusal("", TODAY, "origin", ""): 2}


def test_a_page_may_read_every_answer(door: FlaskClient) -> None:
    assert send(door, APP).status_code == 202
    for body, expected in (
        (b"{}", (400, "malformed")),
        (b" " * 20_001, (413, "too-large")),
        (batch()._replace(metric="strange").encode(), (404, "unknown-metric")),
    ):
        response = send(door, APP, body)
        assert (problem(response), shares(response, APP)) == (expected, True)


def be_full(upload: Upload, then: Callable[[StoreError], object]) -> None:
    raise QueueFullError("full")


def fail(upload: Upload, then: Callable[[StoreError], object]) -> None:
    then(StoreError("no"))


def be_late(upload: Upload, then: Callable[[StoreError], object]) -> None:
    """Take longer than the door's patience."""


def test_report_that_is_not_committed_is_not_acknowledged_and_may_come_again(
    door: FlaskClient, app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector = collector_of(app)
    monkeypatch.setattr(collector, "ingest", replace(collector.ingest, patience=0.001))
    for submit, kind, after in (
        (be_full, "overloaded", "1"),
        (fail, "unavailable", "10"),
        (be_late, "unavailable", "10"),
    ):
        monkeypatch.setattr(collector.committer, "submit", submit)
        response = send(door, APP)
        assert (problem(response), response.headers["Retry-After"]) == ((503, kind), after)
        assert shares(response, APP)
    monkeypatch.undo()
    assert send(door, APP).status_code == 202
    collector.close()
    assert problem(send(door, APP)) == (503, "unavailable")


def test_page_without_a_required_token_gets_an_answer_that_says_so(make_app: Callable[..., Flask]) -> None:
    """Being listed opens nothing: any program may say that it is such a page."""
    app = make_app(origins=Origins((APP,)), open=frozenset())
    door, token = app.test_client(), draw_token(Role.REPORT)
    response = send(door, APP)
    assert (problem(response), shares(response, APP)) == ((401, "unauthorized"), True)
    collector_of(app).store.tokens.add(StoredToken(digest_of(token), "report", "", TODAY))
    headers = {"Origin": APP, "Authorization": f"Bearer {token}"}  # of the same origin pages may send one
    assert post(door, batch().encode(), headers=headers).status_code == 202
    assert problem(post(door, batch().encode(), headers=headers | {"Origin": FOREIGN})) == (403, "origin")


def test_no_page_reports_where_no_origin_is_listed(make_app: Callable[..., Flask]) -> None:
    """A collector on loopback is what a page of the web could reach in an operator's own browser."""
    app = make_app()
    origins = (APP, "null", "http://localhost", "http://127.0.0.1:80")
    for origin, content_type in product(origins, (PLAIN, JSON, "")):
        response = send(app.test_client(), origin, content_type=content_type)
        assert problem(response) == (403, "origin"), (origin, content_type)
        assert "Access-Control-Allow-Origin" not in response.headers
    assert collector_of(app).store.tally(THEME).total == 0
    for content_type, expected in ((PLAIN, 415), (JSON, 202), ("", 415)):
        response = send(app.test_client(), None, content_type=content_type)
        assert response.status_code == expected
        assert not SHARED & set(response.headers.keys())


def test_no_permission_is_given_beforehand_nor_for_other_routes(door: FlaskClient) -> None:
    asked = {"Origin": APP, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    preflight = door.options("/v1/reports", headers=asked)
    assert not any(name.lower().startswith("access-control-") for name in preflight.headers.keys())  # noqa: SIM118
    for method, path in (
        *product(("GET",), ("/v1/reports", "/v1/metrics", "/healthz", "/", "/metrics", "/nowhere")),
        ("PUT", "/v1/reports"),
    ):
        response = door.open(path, method=method, headers={"Origin": APP})
        assert not (SHARED - {"Vary"}) & set(response.headers.keys()), path
    assert send(door, None, content_type=JSON).headers["Vary"] == "Origin"
