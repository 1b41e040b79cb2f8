"""Problems and faults as pages, for browsers."""

from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from dither_server.app import collector_of
from dither_server.store import Refusal
from server.collecting import THEME, TODAY, collector, problem


def test_browser_gets_a_problem_as_a_page(client: FlaskClient, tmp_path: Path) -> None:
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    with collector(tmp_path, open=frozenset()) as closed:
        shut, bare = (closed.test_client().get("/", headers=headers) for headers in (browser, {}))
    assert (shut.status_code, shut.mimetype) == (401, "text/html")
    assert shut.headers.getlist("WWW-Authenticate") == ['Basic realm="dither", charset="UTF-8"'], "or Chromium is mute"
    assert bare.headers["WWW-Authenticate"].startswith("Bearer "), "or any other site makes Chromium ask"
    assert "enter it as the password" in shut.text
    for path, status, said in (
        ("/m/nothing", 404, "No such metric"),
        ("/nowhere", 404, "No such page"),
        ("/v1/metrics/theme/estimate?since=soon", 400, "Since: not a date"),
        ("/?until=0001-01-01", 400, "Until: not a date"),
        ("/?since=9999-12-31", 400, "Since: not a date"),
        ("/m/theme?format=csv", 400, "Format: does not apply to pages"),
    ):
        response = client.get(path, headers=browser)
        assert (response.status_code, response.mimetype) == (status, "text/html")
        assert said in response.text
        assert int(response.headers["Content-Length"]) == len(response.data)
        assert problem(client.get(path, headers={"Accept": "*/*"}))[0] == status


def test_browser_gets_an_internal_error_as_a_page(
    app: Flask, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ArithmeticError("a secret")

    monkeypatch.setattr(collector_of(app).store, "history", fail)
    response = client.get("/m/theme", headers={"Accept": "text/html"})
    assert (response.status_code, response.mimetype) == (500, "text/html")
    assert "The collector failed" in response.text
    assert "secret" not in response.text


def test_refused_sealed_reports_are_counted_one_by_one(app: Flask, client: FlaskClient) -> None:
    """Each reason says what it counts; the table beside the longest list uses the same words."""
    malformed = {Refusal(f"other{number}", TODAY, "malformed"): 5 + number for number in range(9)}
    sealed = {Refusal("theme", TODAY, "sealed", THEME.version): 1412, Refusal("other0", TODAY, "sealed"): 3}
    one = {Refusal("other1", TODAY, "too-large"): 1}
    collector_of(app).store.add_refusals(malformed | sealed | one, b"s" * 16)
    text = client.get("/").text
    assert ">1,412 reports</data>" in text
    assert "Of sealed batches, the reports that do not open are counted." in text
    assert "not counted, 2026-11-14 to 2026-11-20" in text  # a week
    assert ">13 batches</data>" in text
    assert "And 1 batch and 3 sealed reports more, for other reasons or of other metrics or versions." in text
    assert ">1,412 reports</data>" in client.get("/m/theme").text
