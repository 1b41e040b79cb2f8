"""Versions combined: only when asked, by the inverse of their variances."""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from flask.testing import FlaskClient

from dither_server.analysis.columns import Table
from dither_server.analysis.combine import Version, combined
from dither_server.app import collector_of, create_app
from dither_server.estimation.intervals.score import Law, noise_law, score_interval, third_moment
from dither_server.estimation.numeric.mean import mean_of
from dither_server.estimation.numeric.tabulated import law_of
from dither_server.reading.summaries.number_changes import combined_means
from dither_server.reading.summaries.summary import CollectedReports
from dither_server.store import Store
from dither_server.tally.arrays import Floats
from dither_server.tally.repeats import DISTINCT, Repeats
from dither_server.tally.tally import Tally
from dither_shared import Mechanism, Metric, RandomizedResponse, Rappor, parse_metrics
from dither_simulations.samplers import sample_tally
from dither_simulations.users.populations import Population
from server.cli.invoking import invoke
from server.collecting import METRICS, METRICS_TOML, THEME, TODAY, config, problem, rows_of, upload

FORMER = parse_metrics(
    '[metrics.theme]\ntype = "choice"\nmechanism = "randomized-response"\nvalues = ["light", "dark"]\nepsilon = 3.0\n'
)["theme"]

NOISIER = parse_metrics(METRICS_TOML.replace("epsilon = 1.0", "epsilon = 0.5", 1))["theme"]


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
    estimates = [
        Table({"version": "v", "reports": 200}, {"value": names, "frequency": f, "standard_error": e})
        for f, e in zip(frequency, error, strict=True)
    ]
    rows = combined("x", [Version(table, mechanism, DISTINCT) for table in estimates], 0.95).rows()
    off = np.array([row["frequency"] for row in rows]) - 0.02
    assert abs(off.mean()) < 0.08 * off.std()
    assert np.mean([(row["low"] or 0) <= 0.02 <= (row["high"] or 0) for row in rows]) > 0.93


@pytest.mark.parametrize(("permanent", "days"), [(None, 0), (None, 1), (None, 3), (6.0, 3)])
def test_two_equal_surveys_are_combined_by_the_law_of_their_mean(permanent: float | None, days: int) -> None:
    """Its variance is half of theirs, its third moment a quarter, at the share in [0, 1] that is nearest.

    People who report on these days under both versions share their answer: a pair of reports in ``days`` / n.
    """
    mechanism, repeats = RandomizedResponse.calibrate(3, 5.0, permanent), Repeats((60 // max(days, 1),) * days)
    frequency, law = np.array([1.01, 0.03, -0.01, np.nan]), noise_law(mechanism, repeats.effect).sampled()
    share = np.clip(frequency, 0, 1)
    error = law.error(share, np.full(4, 60))
    table = Table(
        {"version": "v", "reports": 60}, {"value": [*"abcd"], "frequency": frequency, "standard_error": error}
    )
    found = combined("x", [Version(table, mechanism, repeats)] * 2, 0.9).columns
    mean = Law(*(np.array([law.constant, law.slope, law.thinning + days]) / 120))

    def skewness(at: Floats) -> Floats:
        cube = third_moment(mechanism, at, np.array([60]), repeats.effect, sampled=True) / 4
        return np.asarray(cube / mean.variance(at) ** 1.5)

    low, high = score_interval(mean, frequency, np.ones(4), 0.1, skewness=skewness)
    expected = {"frequency": frequency, "standard_error": np.sqrt(mean.variance(share)), "low": low, "high": high}
    for name, column in expected.items():
        assert np.isnan(column[3]), "nobody estimated it"
        assert found[name] == pytest.approx(column, nan_ok=True)


def test_regressions_are_combined_by_the_inverse_of_their_own_variances() -> None:
    rappor = Rappor.calibrate(None, 4.0, bits=32, hashes=2, cohorts=4)
    tables = [
        Table({"version": "v", "reports": 500}, {"value": ["a"], "frequency": [share], "standard_error": [error]})
        for share, error in ((0.2, 0.02), (0.3, 0.04))
    ]
    (row,) = combined("x", [Version(table, rappor, DISTINCT) for table in tables], 0.9).rows()
    mean, error = 0.8 * 0.2 + 0.2 * 0.3, (1 / (0.02**-2 + 0.04**-2)) ** 0.5
    assert (row["frequency"], row["standard_error"]) == pytest.approx((mean, error))
    assert (row["low"], row["high"]) == pytest.approx((mean - 1.6448536 * error, mean + 1.6448536 * error))


@pytest.fixture
def client(tmp_path: Path) -> Iterator[FlaskClient]:
    """A collector of reports of three versions of theme: of less noise and fewer values, as it is, and noisier."""
    app = create_app(config(tmp_path, metrics={**METRICS, "speed": SPEEDS[0]}))
    store = collector_of(app).store
    store.register([FORMER, NOISIER, *SPEEDS, OTHER_RANGE])
    counts = ((THEME, 900), (FORMER, 400), (NOISIER, 400))
    uploads = [upload(metric, rows_of(metric, number)) for metric, number in counts]
    uploads += [upload(metric, rows_of(metric, 500, value=4)) for metric in (*SPEEDS, OTHER_RANGE)]
    store.commit(uploads, TODAY, b"s" * 16)
    yield app.test_client()
    collector_of(app).close()


def answered(client: FlaskClient, path: str) -> dict[str, Any]:
    found: dict[str, Any] | None = client.get(f"/v1/metrics/{path}").json
    assert found is not None
    return found


def test_the_combination_weighs_by_the_inverse_variance(client: FlaskClient) -> None:
    """Reports of the smaller version may all be of people of the larger one."""
    combination = answered(client, "theme/combined?same_question=true&confidence=0.9")
    assert (combination["reports"], combination["confidence"]) == (1300, 0.9)
    assert set(combination["versions"]) == {THEME.version, NOISIER.version}
    each = [
        {row["value"]: row for row in answered(client, f"theme/estimate?version={metric.version}")["values"]}
        for metric in (THEME, NOISIER)
    ]
    assert [row["value"] for row in combination["values"]] == list(THEME.labels)
    for row in combination["values"]:
        share = min(1.0, max(0.0, row["frequency"]))
        errors = np.array([error_at(THEME.mechanism, share, 900), error_at(NOISIER.mechanism, share, 400)])
        weights = errors**-2 / (errors**-2).sum()
        assert row["frequency"] == pytest.approx(weights @ [of[row["value"]]["frequency"] for of in each], abs=1e-3)
        variance = weights**2 @ errors**2 + 2 * weights.prod() * share * (1 - share) / 900
        assert row["standard_error"] ** 2 == pytest.approx(variance, rel=1e-3)
        assert 0 <= row["low"] <= share <= row["high"] <= 1
    assert answered(client, "theme/estimate")["reports"] == 900  # never unasked


def test_versions_with_other_values_are_combined_in_those_that_all_list(client: FlaskClient) -> None:
    everything = answered(client, "theme/combined")
    assert set(everything["versions"]) == {THEME.version, FORMER.version, NOISIER.version}
    assert {row["value"] for row in everything["values"]} == {"dark", "light", "other"}


def test_combination_of_unknown_metrics_and_parameters_is_refused(client: FlaskClient) -> None:
    assert problem(client.get("/v1/metrics/nothing/combined")) == (404, "unknown-metric")
    for name in ("since=soon", "version=0", "format=csv", "simultaneous=true", "forged=0.1"):  # nothing is ignored
        assert problem(client.get(f"/v1/metrics/theme/combined?{name}")) == (400, "parameter")
    assert answered(client, "open/combined")["values"] == []


SPEED_TOML = '[metrics.speed]\ntype = "number"\nlow = 0\nhigh = 10\nunit = "s"\nepsilon = {}\n'
SPEEDS = [parse_metrics(SPEED_TOML.format(epsilon))["speed"] for epsilon in (2.0, 1.0)]
OTHER_RANGE = parse_metrics(SPEED_TOML.format(2.0).replace("10", "20"))["speed"]


def test_means_of_versions_of_one_range_are_combined(client: FlaskClient) -> None:
    refused = client.get("/v1/metrics/speed/combined")
    assert problem(refused) == (400, "parameter")
    assert "same_question" in refused.text
    found = answered(client, "speed/combined?same_question=true")
    assert set(found["versions"]) == {metric.version for metric in SPEEDS}
    (row,) = found["values"]
    assert row["value"] == "mean"
    assert row["low"] < 4 < row["high"]
    each = [answered(client, f"speed/estimate?version={metric.version}")["mean"] for metric in SPEEDS]
    assert row["standard_error"] < min(version["standard_error"] for version in each)
    assert min(version["value"] for version in each) < row["frequency"] < max(version["value"] for version in each)
    empty = answered(client, "speed/combined?same_question=true&until=2026-01-02")
    assert (empty["values"], empty["reports"]) == ([], 0)


def mean_alone(metric: Metric, _labels: tuple[str, ...], tally: Tally, confidence: float, _: bool) -> SimpleNamespace:
    """Estimate without the curve, which takes longest."""
    return SimpleNamespace(mean=mean_of(law_of(metric.mechanism), tally, confidence))


def test_the_mean_of_versions_covers_though_the_same_people_report_under_both() -> None:
    """A thousand people report once under each version: without the covariance 89 of 100 intervals hold at ε = 8.

    Of 400 surveys the coverage is below 89.5% once in 10^6.
    """
    metrics = [parse_metrics(SPEED_TOML.format(f"{epsilon}\nresolution = 4"))["speed"] for epsilon in (8, 7)]
    rng, held = np.random.default_rng(1), 0
    points = [np.arange(law_of(metric.mechanism).points) for metric in metrics]
    repeats = Repeats((1_000,))
    for _ in range(400):
        people = rng.beta(0.5, 0.5, 1_000)
        surveys = []
        for metric, grid in zip(metrics, points, strict=True):
            values = rng.binomial(1, people * (len(grid) - 1) % 1) + (people * (len(grid) - 1)).astype(int)
            users = Population(tuple(map(str, grid)), np.bincount(values, minlength=len(grid)))
            tally = replace(sample_tally(metric.mechanism, users, rng), repeats=repeats)
            surveys.append(CollectedReports(metric, tally, (TODAY, TODAY), {}, mean_alone))
        (row,) = combined_means("speed", surveys, 0.95).rows()
        held += row["low"] <= 5 <= row["high"]
    assert held / 400 > 0.9


def test_combine_command_prints_the_combined_estimates(tmp_path: Path) -> None:
    (tmp_path / "metrics.toml").write_text(METRICS_TOML + SPEED_TOML.format(2.0), encoding="utf-8")
    with closing(Store(f"sqlite:///{tmp_path}/dither.db")) as store:
        store.register([*METRICS.values(), *SPEEDS])
        store.commit([upload(metric, rows_of(metric, 500, value=4)) for metric in SPEEDS], TODAY, b"s" * 16)
        store.commit([upload(THEME, rows_of(THEME, 300))], TODAY, b"s" * 16)
    shown = invoke(tmp_path, "combine", "speed", "--same-question")
    assert shown.exit_code == 0, shown.output
    assert "speed: 1,000 reports of 2 versions, 95% intervals" in shown.stdout
    assert "theme: 300 reports of 1 version" in invoke(tmp_path, "combine", "theme").stdout
    assert invoke(tmp_path, "combine", "speed").exit_code == 2
    assert json.loads(invoke(tmp_path, "combine", "theme", "--json").stdout)["reports"] == 300
