"""The samples for Prometheus and Grafana: every metric name in them is exported and every query has an answer."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from flask.testing import FlaskClient

from dither_server.analysis.estimate_table import estimate_table
from dither_server.app import collector_of, create_app
from dither_server.reading.exports import refresh
from dither_server.store import Refusal, Store
from dither_serving.problems import Kind
from dither_shared import Metric, parse_metrics
from server.collecting import METRICS, THEME, TODAY, config, rows_of, upload
from server.postgresql import WHY_NOT, server

DEPLOY = Path(__file__).parents[2] / "server" / "deploy"
ALERTS = DEPLOY / "prometheus" / "alerts.yml"
DASHBOARD = json.loads((DEPLOY / "grafana" / "dashboard.json").read_text(encoding="utf-8"))
PANELS = {panel["title"]: panel for panel in DASHBOARD["panels"] if panel["type"] != "row"}
VARIABLES = {variable["name"]: variable for variable in DASHBOARD["templating"]["list"]}
QUERIES = [target["expr"] for panel in PANELS.values() for target in panel["targets"] if "expr" in target]
ODD = "it's = 1"
"""A value that SQL would stumble over if it were not quoted."""
QUOTED = parse_metrics(f'[metrics.quoted]\ntype = "choice"\nepsilon = 2.0\nvalues = ["{ODD}", "b"]\n')["quoted"]
SHARD = b"s" * 16


@pytest.fixture
def spooling(tmp_path: Path) -> Iterator[FlaskClient]:
    """A collector that spools, whose spool was folded."""
    with closing(collector_of(app := create_app(config(tmp_path, spool=f"{tmp_path}/spool")))) as collector:
        collector.store.folds.begin(b"r" * 16, datetime(2026, 11, 20, tzinfo=UTC))
        collector.store.folds.finish(b"r" * 16)
        yield app.test_client()


def test_alerts_and_dashboard_name_only_what_the_collector_exports(spooling: FlaskClient) -> None:
    families = re.findall(r"^# TYPE (\S+) (\S+)$", spooling.get("/metrics").text, re.MULTILINE)
    endings = {"histogram": ("_bucket", "_sum", "_count")}
    exported = {name + ending for name, kind in families for ending in endings.get(kind, ("",))}
    for text in (ALERTS.read_text(encoding="utf-8"), "\n".join(QUERIES)):
        asked = set(re.findall(r"\bdither_(?!relay_)\w+", text))  # tests/relay/test_prometheus.py asks a relay
        assert asked
        assert asked <= exported
    named = re.findall(r'reason!?[=~]+"([a-z|-]+)"', ALERTS.read_text(encoding="utf-8"))
    assert {reason for group in named for reason in group.split("|")} <= {kind.slug for kind in Kind}
    assert len(named) == 6


def promtool() -> str:
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("no promtool here: apt-get install prometheus")
    return found


def checked(*command: object) -> None:
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("page", ["upkeep.md", "relay.md"])
def test_prometheus_reads_the_settings_of_the_pages(page: str, tmp_path: Path) -> None:
    text = (DEPLOY.parents[1] / "docs" / "how-to" / page).read_text(encoding="utf-8")
    (settings,) = re.findall(r"```yaml\n(# prometheus.yml\n.*?)```", text, re.DOTALL)
    (tmp_path / "prometheus.yml").write_text(settings, encoding="utf-8")
    checked(promtool(), "check", "config", "--syntax-only", tmp_path / "prometheus.yml")


TESTS = sorted(Path(__file__).parent.glob("*alerts_test.yml"))


def test_every_alert_is_valid_and_has_a_test() -> None:
    checked(promtool(), "check", "rules", ALERTS)
    tried = "".join(file.read_text(encoding="utf-8") for file in TESTS)
    alerts = re.findall(r"- alert: (\w+)", ALERTS.read_text(encoding="utf-8"))
    assert len(alerts) == len(set(alerts)) == 27
    assert all(f'alertname="{alert}"' in tried for alert in alerts)


@pytest.mark.slow  # promtool computes weeks of 27 alerts, which change seldom
def test_each_alert_fires_for_its_fault_and_for_no_other(tmp_path: Path) -> None:
    tests = [shutil.copy(file, tmp_path) for file in TESTS]
    shutil.copy(ALERTS, tmp_path)
    checked(promtool(), "test", "rules", *tests)


def test_prometheus_parses_the_dashboards_queries_and_the_collectors_answer(
    tmp_path: Path, client: FlaskClient
) -> None:
    rules = [
        {"record": f"panel:{place}", "expr": query.replace("$__rate_interval", "5m").replace("$instance", ".*")}
        for place, query in enumerate(QUERIES)
    ]
    assert len(rules) > 20
    file = tmp_path / "rules.yml"
    file.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}), encoding="utf-8")  # JSON is YAML
    checked(promtool(), "check", "rules", file)
    read = subprocess.run(
        [promtool(), "check", "metrics"], input=client.get("/metrics").data, capture_output=True, check=False
    )
    assert read.returncode == 0, read.stdout + read.stderr


@pytest.fixture(scope="module")
def filled() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """A PostgreSQL database with estimates and refusals, and the estimates of a day of each metric."""
    with server() as url:
        if url is None:
            pytest.skip(WHY_NOT)
        with psycopg.connect(f"{url}/postgres", autocommit=True) as connection:
            connection.execute("DROP DATABASE IF EXISTS dither_grafana")
            connection.execute("CREATE DATABASE dither_grafana")
        database = f"{url}/dither_grafana"
        with closing(Store(database)) as store:
            store.register([*METRICS.values(), QUOTED])
            yield database, {metric.name: _fill(store, metric) for metric in (THEME, QUOTED)}


def _fill(store: Store, metric: Metric) -> Any:
    value = metric.labels[0]
    for days in range(40):
        store.commit([upload(metric, rows_of(metric, 50, value=value))], TODAY - timedelta(days=days), SHARD)
    assert len(list(refresh(store, metric))) == 40
    strange = Refusal(metric.name, TODAY, "version-conflict", "0123456789abcdef")
    store.add_refusals({strange: 5, Refusal(metric.name, TODAY, "malformed", metric.version): 3}, SHARD)
    if metric is THEME:
        store.add_refusals({Refusal("", TODAY, "too-large"): 2}, SHARD)
    return estimate_table(metric, store.tally(metric, TODAY, TODAY), (TODAY, TODAY)).whole()


def asked(database: str, sql: str, **variables: str) -> list[dict[str, Any]]:
    """Return what Grafana would show of the last 30 days, with the permissions that the README names."""
    for name, value in variables.items():
        quoted = value.replace("'", "''")
        sql = sql.replace(f"${{{name}:sqlstring}}", f"'{quoted}'")
    first = TODAY - timedelta(days=30)
    sql = re.sub(r"\$__timeFilter\((\w+)\)", rf"\1 BETWEEN '{first}T08:30:00Z' AND '{TODAY}T08:30:00Z'", sql)
    assert "$" not in sql
    with psycopg.connect(database, row_factory=psycopg.rows.dict_row) as connection:
        connection.execute("CREATE ROLE grafana")
        connection.execute("GRANT SELECT ON daily_estimates, refusals, metrics TO grafana")
        connection.execute("SET LOCAL ROLE grafana")
        rows = connection.execute(sql.encode()).fetchall()
        connection.rollback()
    return rows


def test_dashboards_sql_shows_what_the_api_says(filled: tuple[str, Mapping[str, Any]]) -> None:
    database, answers = filled
    for metric in (THEME, QUOTED):
        asks = {"metric": metric.name, "version": metric.version}
        for row in answers[metric.name]["values"]:
            shown = asked(database, PANELS["$value"]["targets"][0]["rawSql"], **asks, value=row["value"])
            assert list(shown[0]) == ["time", "low", "share", "high"]
            assert len(shown) == 31
            last = shown[-1]
            assert last["time"].isoformat().startswith(f"{TODAY}T00:00:00")
            assert [last["low"], last["share"], last["high"]] == [row["low"], row["frequency"], row["high"]]
    reports = asked(database, PANELS["Reports a day"]["targets"][0]["rawSql"])
    assert len(reports) == 2 * 31
    assert {(row["metric"], row["reports"]) for row in reports} == {("quoted", 50), ("theme", 50)}
    refused = asked(database, PANELS["Refused batches, by day"]["targets"][0]["rawSql"])
    assert [tuple(row.values()) for row in refused if row["metric"] != "quoted"] == [
        (str(TODAY), "version-conflict", "theme", "0123456789abcdef", False, 5),
        (str(TODAY), "malformed", "theme", THEME.version, True, 3),
        (str(TODAY), "too-large", "(no metric)", "", None, 2),
    ]
    panels = {name for name, panel in PANELS.items() if any("rawSql" in target for target in panel["targets"])}
    assert panels == {"$value", "Reports a day", "Refused batches, by day"}, "another panel is not tested"


def test_dashboards_variables_list_metrics_versions_and_values(filled: tuple[str, Mapping[str, Any]]) -> None:
    database, answers = filled

    def listed(name: str, **variables: str) -> list[str]:
        return [next(iter(row.values())) for row in asked(database, VARIABLES[name]["query"], **variables)]

    assert listed("metric") == ["quoted", "theme"]
    assert listed("version", metric="theme") == [THEME.version]
    values = listed("value", metric="quoted", version=QUOTED.version)
    assert sorted(values) == sorted(row["value"] for row in answers["quoted"]["values"])
    assert values[0] == ODD
    queries = {name: one["query"] for name, one in VARIABLES.items() if one["type"] == "query"}
    asks = {name for name, query in queries.items() if isinstance(query, str)}
    assert asks == {"metric", "version", "value"}, "another variable is not tested"
