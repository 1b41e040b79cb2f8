"""Numbers in every channel: the API, exports, SQL, commands, and what they cost."""

import csv
import io
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import jsonschema_rs
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from click.testing import CliRunner, Result
from flask import Flask
from flask.testing import FlaskClient

from dither_server.app import collector_of
from dither_server.cli.main import cli
from dither_server.reading.analysis_limiter import effort
from dither_shared import parse_metrics
from server.collecting import METRICS, METRICS_TOML, THEME, TODAY, collect, collector, environment, problem

TOML = """
[metrics.startup]
description = "How long does the app take to <b>start</b>?"
type = "number"
low = 0.05
high = 60.0
log = true
unit = "=s<i>"
epsilon = 2.0

[metrics.table]
type = "number"
low = 0
high = 10
mechanism = "discrete-laplace"
epsilon = 2.0
resolution = 8
"""
NUMBERS = parse_metrics(TOML)
STARTUP, TABLE = NUMBERS.values()
FORMER = parse_metrics('[metrics.startup]\ntype = "choice"\nvalues = ["slow", "fast"]\nepsilon = 1.0\n')["startup"]
DAYS = 3
URL = "/v1/metrics/startup"


@contextmanager
def filled(folder: Path, **changed: object) -> Iterator[Flask]:
    with collector(folder, metrics=METRICS | NUMBERS, **changed) as app:
        for day in (TODAY - timedelta(days=ago) for ago in range(DAYS)):
            for metric, count, value in ((STARTUP, 200, 1), (STARTUP, 400, 2), (TABLE, 300, 5), (THEME, 60, "light")):
                collect(collector_of(app).store, metric, count, value, day=day, seed=f"{day} {value}".encode())
        yield app


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Flask]:
    with filled(tmp_path) as app:
        yield app


def body_schema(client: FlaskClient, path: str) -> dict[str, Any]:
    """The schema of a route's answer, with all that it refers to."""
    document = client.get("/openapi.json").get_json()
    content = document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]
    return {**content["schema"], "components": document["components"]}


def test_answers_about_numbers_match_the_described_schema(app: Flask) -> None:
    client = app.test_client()
    for end in ("estimate", "compare", "trend"):
        schema = body_schema(client, f"/v1/metrics/{{name}}/{end}")
        for name in ("startup", "table", "theme"):
            response = client.get(f"/v1/metrics/{name}/{end}")
            assert response.status_code == 200, response.text
            jsonschema_rs.validate(schema, response.get_json())
    days = client.get(f"{URL}/estimate?by_day=true&quantile=0.9&at=1&at=2").get_json()
    jsonschema_rs.validate(body_schema(client, "/v1/metrics/{name}/estimate"), days)
    assert [(answer["since"], answer["reports"], len(answer["quantiles"])) for answer in days] == [
        ((TODAY - timedelta(days=day)).isoformat(), 600, 1) for day in reversed(range(DAYS))
    ]
    assert [row["at"] for row in days[0]["cdf"]] == [1, 2]


def test_bad_parameters_of_numbers_are_refused_and_named(app: Flask) -> None:
    client = app.test_client()
    for path, what in (
        (f"{URL}/estimate?at=61", "at: 61 is not within the range, from 0.05 to 60"),
        (f"{URL}/estimate?at=inf", "at: not a number"),
        (f"{URL}/estimate?quantile=0", "quantile: not a number strictly between 0 and 1"),
        (f"{URL}/estimate?quantile=1", "quantile: not a number"),
        (f"{URL}/estimate?quantile=nan", "quantile: not a number"),
        (f"{URL}/estimate?values=slow", "values: does not apply to this metric, which has no listed values"),
        (f"{URL}/trend?top=1", "no listed values"),
        (f"{URL}/compare?other=theme", "startup is a number, theme a choice; only metrics of like kinds"),
        ("/m/startup?quantile=0.5", "does not apply to pages"),
        ("/m/startup?simultaneous=true", "does not apply to numbers"),
    ):
        response = client.get(path)
        assert problem(response) == (400, "parameter"), path
        assert what in response.get_json()["detail"], path


def test_each_version_is_read_as_the_kind_that_it_was(app: Flask) -> None:
    store, client = collector_of(app).store, app.test_client()
    store.register([FORMER])
    collect(store, FORMER, 90, "slow")
    old = client.get(f"{URL}/estimate?version={FORMER.version}").get_json()
    assert [row["value"] for row in old["values"]] == ["slow", "fast", "other"]
    assert client.get(f"/m/startup?version={FORMER.version}").status_code == 200
    assert problem(client.get(f"{URL}/compare?other_version={FORMER.version}")) == (400, "parameter")
    assert problem(client.get(f"{URL}/combined")) == (400, "parameter")
    assert client.get(f"{URL}/estimate").get_json()["mean"]["kind"] == "geometric"


def command(folder: Path, *arguments: str) -> Result:
    (folder / "metrics.toml").write_text(METRICS_TOML + TOML, encoding="utf-8")
    return CliRunner().invoke(cli, arguments, env=dict(environment(folder)), catch_exceptions=False)


@pytest.mark.usefixtures("app")
def test_export_of_several_kinds_has_the_columns_of_all(tmp_path: Path) -> None:
    def exported(form: str) -> bytes:
        target = tmp_path / f"out.{form}"
        result = command(tmp_path, "export", "theme", "startup", "--by-day", "--format", form, "--output", str(target))
        assert result.exit_code == 0, result.output
        return target.read_bytes()

    text = list(csv.DictReader(io.StringIO(exported("csv").decode())))
    table = pa.ipc.open_stream(exported("arrow")).read_all().to_pylist()
    lines = [json.loads(line) for line in exported("ndjson").splitlines()]
    for rows, empty in ((text, ""), (table, None), (lines, None)):
        shares, numbers = ([row for row in rows if row["metric"] == name] for name in ("theme", "startup"))
        assert (len(shares), len(numbers)) == (4 * DAYS, 39 * DAYS)
        assert {row.get("statistic", empty) for row in shares} == {empty}
        assert {row.get("value", empty) for row in numbers} == {empty}
    assert all(list(row) == list(other) == list(text[0]) for row, other in zip(text, table, strict=True))
    assert {row["unit"] for row in text} == {"", "'=s<i>"}  # no spreadsheet runs it


def test_commands_answer_in_words_and_as_the_api_does(tmp_path: Path, app: Flask) -> None:
    for verb, word in (("estimate", "p95"), ("compare", "nothing to compare"), ("trend", "slope")):
        for name in ("startup", "table"):
            printed = command(tmp_path, verb, name)
            assert printed.exit_code == 0, printed.output
            assert word in printed.output
            same = json.loads(command(tmp_path, verb, name, "--json").output)
            assert same == app.test_client().get(f"/v1/metrics/{name}/{verb}").get_json()


SELECT = "SELECT day, reports, mean, mean_error, mean_low, mean_high, p50, p50_low, p50_high, p95, p95_low, p95_high"


def test_view_of_daily_numbers_says_what_the_api_says_until_a_day_is_purged(app: Flask, tmp_path: Path) -> None:
    assert command(tmp_path, "refresh").exit_code == 0
    days = app.test_client().get(f"{URL}/estimate?by_day=true").get_json()
    with closing(sqlite3.connect(tmp_path / "dither.db")) as view:
        rows = view.execute(f"{SELECT} FROM daily_numbers WHERE metric = 'startup' ORDER BY day").fetchall()
        both = view.execute("SELECT metric, count(*) FROM daily_numbers GROUP BY metric").fetchall()
        shares = view.execute("SELECT DISTINCT metric FROM daily_estimates ORDER BY metric").fetchall()
        collector_of(app).store.days.purge(STARTUP.version, TODAY)
        kept = view.execute("SELECT count(*) FROM numbers").fetchone()
    assert dict(both) == {"startup": DAYS, "table": DAYS}
    assert shares == [("theme",)]
    assert kept == (2 * DAYS - 1,)
    for row, day in zip(rows, days, strict=True):
        of = {quantile["share"]: quantile for quantile in day["quantiles"]}
        mean = day["mean"]
        assert row[:2] == (day["since"], 600)
        assert row[2:6] == pytest.approx([mean[name] for name in ("value", "standard_error", "low", "high")])
        assert row[6:] == pytest.approx([of[share][name] for share in (0.5, 0.95) for name in ("value", "low", "high")])


def test_year_by_day_is_affordable_on_the_usual_grid_and_refused_on_the_finest(tmp_path: Path) -> None:
    assert 365 * effort(STARTUP) < 500_000
    finest = parse_metrics(TOML.replace("epsilon = 2.0\n", "epsilon = 2.0\nsteps = 1023\nresolution = 256\n", 1))
    assert effort(finest["startup"]) > 500_000
    with filled(tmp_path, estimates_limit=2 * effort(STARTUP)) as app:
        client = app.test_client()
        for path in (f"{URL}/estimate?by_day=true", f"{URL}/trend"):
            assert problem(client.get(path)) == (413, "too-costly")
        assert client.get(f"{URL}/trend?step=week").status_code == 200
    with collector(tmp_path, metrics=METRICS | finest) as app:
        response = app.test_client().get(f"{URL}/estimate")
        assert problem(response) == (413, "too-costly")
        assert "smaller resolution or fewer steps" in response.get_json()["detail"]
