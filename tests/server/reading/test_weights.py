"""Weighted estimates through the API, the pages and the commands: beside the raw ones, which they leave as they are."""

import csv
import io
import json
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from dither_server.app import collector_of, create_app
from dither_server.cli.examination.configuration import in_configuration
from dither_server.store import Store
from dither_shared import ParameterError, parse_metrics
from server.cli.invoking import invoke
from server.collecting import (
    LAYOUT,
    METRICS,
    METRICS_TOML,
    SPEED,
    STRATA,
    STRATA_TOML,
    THEME,
    TODAY,
    collect,
    collector,
    config,
)

POPULATION = 'source = "Sales of 2026"\n[margins.platform]\nlinux = 0.25\nwindows = 0.75\n'
COLUMNS = ["weighted", "weighted_error", "weighted_low", "weighted_high"]


def filled(store: Store) -> None:
    """Commit 900 reports from linux, who have tabs and 2 s, and 300 from windows, who have lists and 8 s."""
    store.register([LAYOUT, SPEED])
    for count, value, place in ((900, "tabs", 0), (300, "list", 2), (20, "tabs", 5)):
        collect(store, LAYOUT, count, value, stratum=place)
    for count, seconds, place in ((900, 2, 0), (300, 8, 1)):
        collect(store, SPEED, count, seconds, stratum=place)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Flask]:
    with collector(tmp_path, metrics=METRICS | STRATA, population=str(written(tmp_path))) as app:
        filled(collector_of(app).store)
        yield app


def written(folder: Path) -> Path:
    """Write the file of the population."""
    file = folder / "population.toml"
    file.write_text(POPULATION, encoding="utf-8")
    return file


def answer(app: Flask, path: str) -> dict[str, Any]:
    weighted = app.test_client().get(path).json
    assert isinstance(weighted, dict)
    return weighted


def test_weighted_shares_stand_beside_the_raw_ones(app: Flask) -> None:
    raw = answer(app, "/v1/metrics/layout/estimate")
    found = answer(app, "/v1/metrics/layout/estimate?weighted=true")
    weights = found.pop("weights")
    assert not set(COLUMNS) & set(raw["values"][0])
    for row, before in zip(found["values"], raw["values"], strict=True):
        weighted = [row.pop(name) for name in COLUMNS]
        assert row == before
        assert weighted[2] <= min(max(weighted[0], 0), 1) <= weighted[3]
    assert {name: value for name, value in found.items() if name != "values"} == {
        name: value for name, value in raw.items() if name != "values"
    }
    assert weights["population"] == "Sales of 2026"
    assert weights["attributes"] == ["platform"]
    assert weights["left_out"] == 20
    assert [(stratum["reports"], stratum["population"]) for stratum in weights["strata"]] == [(900, 0.25), (300, 0.75)]
    assert [stratum["weight"] for stratum in weights["strata"]] == pytest.approx([1 / 3, 3])
    assert weights["design_effect"] == pytest.approx(0.25 / 3 + 0.75 * 3)
    assert weights["effective_reports"] == pytest.approx(1200 / weights["design_effect"])


def test_weighted_shares_and_numbers_follow_the_population(app: Flask) -> None:
    shares = {row["value"]: row for row in answer(app, "/v1/metrics/layout/estimate?weighted=true")["values"]}
    assert shares["tabs"]["frequency"] == pytest.approx(0.75, abs=0.06)
    assert shares["tabs"]["weighted"] == pytest.approx(0.25, abs=0.08)
    weighted = answer(app, "/v1/metrics/speed/estimate?weighted=true&quantile=0.1&quantile=0.9&at=5")
    assert weighted["mean"]["value"] == pytest.approx(3.5, abs=0.5)
    assert weighted["mean"]["weighted_low"] < 6.5 < weighted["mean"]["weighted_high"]
    low, high = weighted["quantiles"]
    assert low["weighted_low"] <= 2 <= low["weighted_high"] < 8
    assert 2 < high["weighted_low"] <= 8 <= high["weighted_high"]
    (half,) = weighted["cdf"]
    assert half["weighted_low"] < 0.25 < half["weighted_high"] < half["share"]


def test_strata_and_days_can_be_weighted_separately(app: Flask) -> None:
    client = app.test_client()
    for place in (0, 2):
        day = TODAY - timedelta(days=1)
        collect(collector_of(app).store, LAYOUT, 40, "list", day=day, stratum=place, seed=bytes([place]))
    by_platform = client.get("/v1/metrics/layout/estimate?weighted=true&by=platform").json
    assert isinstance(by_platform, list)
    assert ["weights" in row for row in by_platform] == [True, True, False, True]  # nobody is "other"
    assert [row["weights"]["repeats"] > 1 for row in by_platform if "weights" in row] == [True] * 3
    by_day = client.get("/v1/metrics/layout/estimate?weighted=true&by_day=true").json
    assert isinstance(by_day, list)
    assert [row["weights"]["repeats"] for row in by_day] == [1.0, 1.0]
    distinct = answer(app, "/v1/metrics/layout/estimate?weighted=true&distinct=true")
    assert distinct["weights"]["repeats"] == 1


def test_tables_have_columns_of_weighted_estimates_and_json_rows_only_if_asked(app: Flask) -> None:
    client = app.test_client()
    for name in ("layout", "speed"):
        text = client.get(f"/v1/metrics/{name}/estimate?weighted=true&format=csv").text
        assert all(row["weighted"] for row in csv.DictReader(io.StringIO(text)))
        empty = list(csv.DictReader(io.StringIO(client.get(f"/v1/metrics/{name}/estimate?format=csv").text)))
        assert not any(row["weighted"] for row in empty)
    assert client.get("/v1/metrics/speed/estimate?weighted=true&format=arrow").status_code == 200


def test_uninformative_reports_stay_uninformative_when_weighted(tmp_path: Path) -> None:
    noisy = parse_metrics(STRATA_TOML.replace("epsilon = 2.0", "epsilon = 0.1"))
    layout, speed = noisy.values()
    with collector(tmp_path, metrics=noisy, population=str(written(tmp_path))) as app:
        for metric, value, place in (
            (layout, "tabs", 0), (layout, "tabs", 1), (layout, "tabs", 2), (speed, 2, 0), (speed, 2, 1),
        ):  # fmt: skip
            collect(collector_of(app).store, metric, 1, value, stratum=place)
        (first, *_) = answer(app, "/v1/metrics/layout/estimate?weighted=true")["values"]
        assert [first[name] for name in ("frequency", *COLUMNS)] == [None] * 5
        mean = answer(app, "/v1/metrics/speed/estimate?weighted=true")["mean"]
        assert [mean[name] for name in ("value", *COLUMNS)] == [None, None, None, 0, 10]


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        ("/v1/metrics/theme/estimate?weighted=true", "theme declares none of the attributes of the population"),
        ("/v1/metrics/layout/estimate?weighted=true&platform=other", "nobody of the population is in these strata"),
        ("/v1/metrics/layout/estimate?weighted=true&until=2026-01-02", "no report from linux"),
        ("/v1/metrics/layout/estimate?weighted=yes", "must be true or false"),
        ("/m/theme?weighted=true", "theme declares none of the attributes of the population"),
        ("/?weighted=true", "weighted"),
    ],
)
def test_what_cannot_be_weighted_is_refused(app: Flask, path: str, wrong: str) -> None:
    collect(collector_of(app).store, THEME, 50)
    response = app.test_client().get(path)
    assert (response.status_code, wrong in json.loads(response.data)["detail"]) == (400, True), response.text


def test_without_a_population_the_setting_is_named(tmp_path: Path) -> None:
    with collector(tmp_path, metrics=METRICS | STRATA) as app:
        filled(collector_of(app).store)
        response = app.test_client().get("/v1/metrics/layout/estimate?weighted=true")
        assert response.status_code == 400
        assert "setting population" in json.loads(response.data)["detail"]
        assert "Who answered" not in app.test_client().get("/m/layout").text


def test_a_collector_does_not_start_with_a_wrong_population(tmp_path: Path) -> None:
    file = tmp_path / "population.toml"
    file.write_text("[margins.platform]\nlinux = 2\n", encoding="utf-8")
    with pytest.raises(ParameterError, match=r"population.toml: margins.platform.linux: not a share"):
        create_app(config(tmp_path, metrics=METRICS | STRATA, population=str(file)))


def test_pages_say_who_answered_and_switch_to_weighted_estimates(app: Flask) -> None:
    client = app.test_client()
    plain = client.get("/m/layout").text
    assert "Who answered, by platform: linux 74% (population 25%), windows 25% (population 75%)" in plain
    assert '<a href="/m/layout?weighted=true">Weight to the population</a>' in plain
    assert "Weighted:" not in plain
    for name in ("layout", "speed"):
        weighted = client.get(f"/m/{name}?weighted=true").text
        assert f'<a href="/m/{name}">Show only what the reports say</a>' in weighted
        assert "(Sales of 2026)" in weighted
        assert '<td class="weighted">' in weighted
    assert "Who answered" not in client.get("/m/layout?platform=linux").text
    assert "Who answered" not in client.get("/m/theme").text


def test_commands_weigh(tmp_path: Path) -> None:
    (tmp_path / "metrics.toml").write_text(METRICS_TOML + STRATA_TOML, encoding="utf-8")
    population = ("--population", str(written(tmp_path)))
    with closing(Store(f"sqlite:///{tmp_path}/dither.db")) as store:
        store.register(METRICS.values())
        filled(store)
    shown = invoke(tmp_path, "estimate", "layout", "--weighted", *population)
    assert shown.exit_code == 0, shown.output
    assert "weighted to the population by platform (Sales of 2026); weights up to 3" in shown.stdout
    assert "; 20 reports of other strata left out" in shown.stdout
    assert "weighted %" in shown.stdout
    assert "weighted" in invoke(tmp_path, "estimate", "speed", "--weighted", *population).stdout
    exported = invoke(tmp_path, "export", "--weighted", *population)
    rows = list(csv.DictReader(io.StringIO(exported.stdout)))
    assert {row["metric"] for row in rows if row["weighted"]} == {"layout", "speed"}


def test_doctor_names_the_margins_or_what_is_wrong_with_them(tmp_path: Path) -> None:
    file = written(tmp_path)
    here = config(tmp_path, metrics=METRICS | STRATA, population=str(file))
    assert "population: margins.platform" in {finding.text for finding in in_configuration(here)}
    file.write_text("[margins.planet]\nearth = 1\n", encoding="utf-8")
    assert any("no metric declares planet" in finding.text for finding in in_configuration(here))
