"""Versions combined: only when asked, by the inverse of their variances."""

from pathlib import Path

import pytest

from dither_server.app import collector_of, create_app
from dither_shared import parse_metrics
from server.collecting import METRICS, THEME, TODAY, config, problem, rows_of, upload

FORMER = parse_metrics(
    '[metrics.theme]\ntype = "choice"\nmechanism = "randomized-response"\nvalues = ["light", "dark"]\nepsilon = 3.0\n'
)["theme"]


def test_the_combination_weighs_by_the_inverse_variance(tmp_path: Path) -> None:
    app = create_app(config(tmp_path))
    store, client = collector_of(app).store, app.test_client()
    assert client.get("/v1/metrics/theme/combined").json["values"] == []  # type: ignore[index]
    store.register([FORMER])
    store.commit([upload(THEME, rows_of(THEME, 900)), upload(FORMER, rows_of(FORMER, 400))], TODAY, b"s" * 16)
    told = client.get("/v1/metrics/theme/combined?confidence=0.9").json
    assert told is not None
    assert (told["reports"], told["confidence"]) == (1300, 0.9)
    assert sorted(told["versions"]) == sorted([THEME.version, FORMER.version])
    assert {row["value"] for row in told["values"]} == {"dark", "light", "other"}  # that both list
    each = {}
    for version in told["versions"]:
        answer = client.get(f"/v1/metrics/theme/estimate?version={version}").json
        assert answer is not None
        each[version] = {row["value"]: row for row in answer["values"]}
    for row in told["values"]:
        pairs = [(of[row["value"]]["frequency"], of[row["value"]]["standard_error"]) for of in each.values()]
        weights = sum(error**-2 for _, error in pairs)
        assert row["frequency"] == pytest.approx(sum(f * error**-2 for f, error in pairs) / weights)
        assert row["standard_error"] == pytest.approx(weights**-0.5)
        assert row["standard_error"] < min(error for _, error in pairs)
        assert row["high"] - row["frequency"] == pytest.approx(1.6448536 * row["standard_error"])
    assert client.get("/v1/metrics/theme/estimate").json["reports"] == 900  # type: ignore[index]  # never unasked
    collector_of(app).close()


def test_what_cannot_be_combined(tmp_path: Path) -> None:
    app = create_app(config(tmp_path, metrics=METRICS))
    client = app.test_client()
    assert problem(client.get("/v1/metrics/nothing/combined")) == (404, "unknown-metric")
    assert problem(client.get("/v1/metrics/theme/combined?since=soon")) == (400, "parameter")
    assert client.get("/v1/metrics/open/combined").json["values"] == []  # type: ignore[index]
    collector_of(app).close()
