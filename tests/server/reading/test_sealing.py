"""What came sealed, as programs, pages and terminals tell it."""

from pathlib import Path

from flask import Flask
from flask.testing import FlaskClient

from dither_server.app import collector_of
from dither_server.reading.sealing import about_sealed, words_of_sealed
from dither_server.store import Refusal, Sealed
from dither_shared import parse_metrics
from server.cli.invoking import invoke
from server.collecting import METRICS_TOML, THEME, TODAY, sealed_upload, upload

PERMANENT = parse_metrics(
    '[metrics.x]\ntype = "choice"\nvalues = ["a", "b"]\nepsilon = 1.0\npermanent_epsilon = 2.0\n'
)["x"]


def test_where_nothing_came_sealed_nothing_is_told(app: Flask, client: FlaskClient) -> None:
    collector_of(app).store.commit([upload()], TODAY, b"s" * 16)
    answer = client.get("/v1/metrics/theme/estimate").json
    assert answer is not None
    assert "sealed" not in answer
    assert "sealed" not in client.get("/m/theme").text
    assert (about_sealed(None), list(words_of_sealed(THEME, None))) == ({}, [])


def test_it_is_told_beside_the_estimate(app: Flask, client: FlaskClient, tmp_path: Path) -> None:
    collector_of(app).store.commit(
        [upload(), sealed_upload(total=900, refused=2), sealed_upload(total=800)], TODAY, b"s" * 16
    )
    told = {"batches": 2, "reports": 6, "least_total": 800, "refused": 2}
    for query in ("", "?since=2026-11-20", "?by_day=true"):
        answer = client.get(f"/v1/metrics/theme/estimate{query}").json
        assert answer is not None
        one = answer[0] if isinstance(answer, list) else answer
        assert (one["reports"], one["sealed"], one["epsilon"]) == (9, told, 1.0)
    assert "sealed" not in (client.get("/v1/metrics/theme/estimate?since=2026-11-21").json or {})
    page = client.get("/m/theme").text
    assert "6 of these reports came sealed, through a relay, in 2 batches; 2 more did not open." in page
    assert "each was shuffled among at least 800." in page
    assert "the relay and this collector do not work together" in page
    (tmp_path / "metrics.toml").write_text(METRICS_TOML, encoding="utf-8")
    shown = invoke(tmp_path, "estimate", "theme").stdout
    assert shown.startswith("6 of the reports came sealed, shuffled among at least 800 by what their relay says\n")


def test_permanent_draws_gain_nothing_by_shuffling() -> None:
    first, worth = words_of_sealed(PERMANENT, Sealed(1, 700, 700, 0))
    assert first.startswith("700 of these reports came sealed, through a relay, in 1 batch. ")
    assert worth.startswith("Shuffling adds nothing here: a device repeats its permanent draw")
    _, conditions = words_of_sealed(THEME, Sealed(1, 700, 700, 0))
    assert conditions.startswith("What shuffling adds to privacy stands beside ε, never in its place.")


def test_the_page_says_that_sealed_refusals_are_reports(app: Flask, client: FlaskClient) -> None:
    store = collector_of(app).store
    store.add_refusals({Refusal("theme", TODAY, "malformed", THEME.version): 3}, b"s" * 16)
    assert "each report counts that does not open" not in client.get("/").text
    store.add_refusals({Refusal("theme", TODAY, "sealed", THEME.version): 41}, b"s" * 16)
    page = client.get("/").text
    assert "Of sealed batches each report counts that does not open." in page
    assert "Sealed reports do not open" in page
    assert '<data value="41">41</data>' in page
