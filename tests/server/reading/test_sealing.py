"""Sealed reports in the answers for programs, in pages and on terminals."""

import re
from pathlib import Path

from flask import Flask
from flask.testing import FlaskClient

from dither_server.analysis.shuffling.amplified import CONDITIONS, amplified
from dither_server.app import collector_of
from dither_server.dashboard.card import words_of_sealed
from dither_server.reading.sources import about_sealed
from dither_server.store import Sealed
from dither_shared import parse_metrics
from server.cli.invoking import invoke
from server.collecting import METRICS_TOML, THEME, TODAY, rows_of, sealed_upload, upload

PERMANENT = parse_metrics(
    '[metrics.x]\ntype = "choice"\nvalues = ["a", "b"]\nepsilon = 1.0\npermanent_epsilon = 2.0\n'
)["x"]


def test_answers_without_sealed_reports_do_not_mention_sealing(app: Flask, client: FlaskClient) -> None:
    collector_of(app).store.commit([upload()], TODAY, b"s" * 16)
    answer = client.get("/v1/metrics/theme/estimate").json
    assert answer is not None
    assert "sealed" not in answer
    assert "sealed" not in client.get("/m/theme").text
    assert about_sealed(None, THEME) == {}


def test_sealed_reports_are_counted_in_answers_pages_and_commands(
    app: Flask, client: FlaskClient, tmp_path: Path
) -> None:
    collector_of(app).store.commit(
        [
            upload(),
            sealed_upload(total=900, refused=2, rows=rows_of(THEME, 450)),
            sealed_upload(total=800, rows=rows_of(THEME, 400)),
        ],
        TODAY,
        b"s" * 16,
    )
    sealing = {"batches": 2, "reports": 850, "least_total": 800, "refused": 2}
    for query in ("", "?since=2026-11-20", "?by_day=true"):
        answer = client.get(f"/v1/metrics/theme/estimate{query}").json
        assert answer is not None
        estimate = answer[0] if isinstance(answer, list) else answer
        worth = estimate["sealed"].pop("shuffled", None)
        assert (estimate["reports"], estimate["sealed"], estimate["epsilon"]) == (853, sealing, 1.0)
        assert (worth is None) == ("by_day" in query)
    assert "sealed" not in (client.get("/v1/metrics/theme/estimate?since=2026-11-21").json or {})
    page = client.get("/m/theme").text
    assert "850 of these reports came sealed, through a relay, in 2 batches; 2 more were not counted." in page
    assert "each was shuffled among at least 800." in page
    assert "the shuffler and the collector do not collude" in page
    (tmp_path / "metrics.toml").write_text(METRICS_TOML, encoding="utf-8")
    shown = invoke(tmp_path, "estimate", "theme").stdout
    assert shown.startswith(
        "850 of the reports came sealed, shuffled among at least 800 according to their relay; "
        "to someone who sees only a batch, ε of a report is 0."
    )


def test_permanent_draws_gain_nothing_by_shuffling() -> None:
    summary = about_sealed(Sealed(1, 700, 700, 0), PERMANENT)["sealed"]
    first, worth = words_of_sealed(summary)
    assert first.startswith("700 of these reports came sealed, through a relay, in 1 batch. ")
    assert worth.startswith("Shuffling adds nothing here: reports of one device repeat its permanent draw")


def test_epsilon_after_shuffling_is_an_upper_bound_and_comes_with_its_conditions() -> None:
    for least, among, delta in ((7, 7, 1e-6), (10_999, 10_000, 1e-6), (1_234_567, 1_200_000, 1e-8)):
        worth = about_sealed(Sealed(3, 2_000_000, least, 0), THEME, 30)["sealed"]["shuffled"]
        bound = amplified(THEME.mechanism, among, delta)
        assert (worth["reports"], worth["delta"], worth["epsilon"]) == (among, delta, bound.best)
        assert (worth["together"], worth["together_delta"]) == bound.after(30)
        assert worth["together"] <= amplified(THEME.mechanism, among, delta, own=30).best
        assert worth["epsilon"] >= amplified(THEME.mechanism, least, delta).best
    assert about_sealed(Sealed(3, 20_000, 10_999, 1_000), THEME)["sealed"]["shuffled"]["reports"] == 9_900
    assert about_sealed(Sealed(3, 20, 9, 10), THEME)["sealed"]["shuffled"]["epsilon"] == THEME.mechanism.epsilon
    sealed = about_sealed(Sealed(3, 20_000, 10_999, 0), THEME, 30)["sealed"]
    _, worth_in_words, conditions = words_of_sealed(sealed)
    assert "for n = 10,000 and δ = 1e-06 the ε of one report is 0.0" in worth_in_words
    assert "that of 30 of one device, one in each period, ε = " in worth_in_words
    worth = sealed["shuffled"]
    for shown, bound in zip(
        re.findall("[εδ] (?:= |of one report is )([0-9.e-]+)", worth_in_words),
        (worth["delta"], worth["epsilon"], worth["together"], worth["together_delta"]),
        strict=True,
    ):
        assert bound <= float(shown.rstrip(".")) <= 1.01 * bound  # a bound that is rounded down is none
    assert conditions.startswith("This does not replace ε, and is true only if ")
    for condition in CONDITIONS:
        assert condition in conditions
    (_, alone, _) = words_of_sealed(about_sealed(Sealed(1, 9, 9, 0), THEME)["sealed"])
    assert "one device" not in alone


def test_relay_cannot_claim_more_reports_than_have_come() -> None:
    for reports in (1, 40):
        worth = about_sealed(Sealed(1, reports, 10**12 - 1, 0), THEME)["sealed"]["shuffled"]
        assert worth["reports"] == reports
        assert worth["epsilon"] == amplified(THEME.mechanism, reports, worth["delta"]).best
        assert about_sealed(Sealed(2, reports, reports, 0), THEME)["sealed"]["shuffled"] == worth
