"""Versions combined: only when asked, by the inverse of their variances."""

from pathlib import Path

import numpy as np
import pytest

from dither_server.analysis.columns import Table
from dither_server.analysis.combine import Version, combined
from dither_server.app import collector_of, create_app
from dither_server.estimation.intervals.score import noise_law
from dither_server.tally.tally import DISTINCT
from dither_shared import Mechanism, parse_metrics
from server.collecting import METRICS, THEME, TODAY, config, problem, rows_of, upload

FORMER = parse_metrics(
    '[metrics.theme]\ntype = "choice"\nmechanism = "randomized-response"\nvalues = ["light", "dark"]\nepsilon = 3.0\n'
)["theme"]


def error_at(mechanism: Mechanism, share: float, reports: int) -> float:
    return float(noise_law(mechanism).sampled().error(np.array([share]), np.array([reports]))[0])


def test_the_combination_of_few_reports_of_a_rare_value_is_not_too_low() -> None:
    """200 reports and 200, of a value that 2% hold; weighed by the told errors the bias is -0.25 errors, and 85% cover.

    Of 4,000 surveys the mean strays by 0.08 errors, and the coverage from 95% by 1.7 points, once in 10^6.
    """
    metric = parse_metrics(
        '[metrics.x]\ntype = "choice"\nmechanism = "randomized-response"\nvalues = ["a", "b", "c"]\nepsilon = 5.0\n'
    )["x"]
    mechanism, rng, surveys = metric.mechanism, np.random.default_rng(1), 4_000
    p, q = float(mechanism.p), float(mechanism.q)
    frequency = (rng.binomial(200, q + 0.02 * (p - q), (2, surveys)) / 200 - q) / (p - q)
    error = noise_law(mechanism).sampled().error(np.clip(frequency, 0, 1), np.array([200]))
    names = [str(place) for place in range(surveys)]
    told = [
        Table({"version": "v", "reports": 200}, {"value": names, "frequency": f, "standard_error": e})
        for f, e in zip(frequency, error, strict=True)
    ]
    rows = combined("x", [Version(one, mechanism, DISTINCT) for one in told], 0.95).rows()
    off = np.array([row["frequency"] for row in rows]) - 0.02
    assert abs(off.mean()) < 0.08 * off.std()
    assert np.mean([(row["low"] or 0) <= 0.02 <= (row["high"] or 0) for row in rows]) > 0.93


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
    mechanisms = {one.version: one.mechanism for one in (THEME, FORMER)}
    for row in told["values"]:
        pairs = [(of[row["value"]]["frequency"], mechanisms[version], version) for version, of in each.items()]
        share = min(1.0, max(0.0, row["frequency"]))
        errors = [
            error_at(mechanism, share, 900 if version == THEME.version else 400) for _, mechanism, version in pairs
        ]
        weights = sum(error**-2 for error in errors)
        mean = sum(pair[0] * error**-2 for pair, error in zip(pairs, errors, strict=True)) / weights
        assert row["frequency"] == pytest.approx(mean, abs=1e-3)
        shared = 2 * np.prod([error**-2 for error in errors]) / weights**2 * share * (1 - share) / 900
        variance = 1 / weights + shared  # those of the smaller version may all be of the larger one, too
        assert row["standard_error"] ** 2 == pytest.approx(variance, rel=1e-3)
        assert 0 <= row["low"] <= share <= row["high"] <= 1
    assert client.get("/v1/metrics/theme/estimate").json["reports"] == 900  # type: ignore[index]  # never unasked
    collector_of(app).close()


def test_combination_of_unknown_metrics_and_parameters_is_refused(tmp_path: Path) -> None:
    app = create_app(config(tmp_path, metrics=METRICS))
    client = app.test_client()
    assert problem(client.get("/v1/metrics/nothing/combined")) == (404, "unknown-metric")
    assert problem(client.get("/v1/metrics/theme/combined?since=soon")) == (400, "parameter")
    for name in ("version=0", "format=csv", "simultaneous=true", "by_day=true", "forged=0.1"):  # nothing is ignored
        assert problem(client.get(f"/v1/metrics/theme/combined?{name}")) == (400, "parameter")
    assert client.get("/v1/metrics/open/combined").json["values"] == []  # type: ignore[index]
    collector_of(app).close()
