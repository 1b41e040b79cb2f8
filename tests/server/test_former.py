"""Questions that metrics.toml no longer holds stay readable: their definitions are in the database."""

import json
import re
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from dither_server.app import collector_of, create_app
from dither_server.cli.main import cli
from dither_server.store import Store
from dither_shared import Metric, parse_metrics
from server.cli.invoking import error_of, invoke
from server.collecting import MOBILE, OPEN, THEME, TODAY, batch, config, problem, rows_of, upload

NEWER_TOML = '[metrics.theme]\ntype = "choice"\nmechanism = "randomized-response"\nvalues = ["a", "b"]\nepsilon = 2.0\n'
(NEWER,) = parse_metrics(NEWER_TOML).values()


def collect(folder: Path, *parts: tuple[Metric, int, int]) -> None:
    """Collect ``count`` reports of each metric, ``ago`` days before today."""
    with closing(Store(f"sqlite:///{folder}/dither.db")) as store:
        store.register([metric for metric, _, _ in parts])
        for metric, count, ago in parts:
            if count:
                store.commit([upload(metric, rows_of(metric, count, value="true" if metric is MOBILE else "dark"))],
                             TODAY - timedelta(days=ago), b"s" * 16)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder whose metrics.toml has a new version of theme and no mobile."""
    (tmp_path / "metrics.toml").write_text(NEWER_TOML.replace('"a", "b"', '"dark", "light"'), encoding="utf-8")
    now = parse_metrics((tmp_path / "metrics.toml").read_text(encoding="utf-8"))["theme"]
    collect(tmp_path, (THEME, 300, 9), (MOBILE, 200, 5), (now, 50, 0))
    return tmp_path


def test_commands_read_former_versions_and_former_metrics(folder: Path) -> None:
    older = json.loads(invoke(folder, "estimate", "theme", "--version", THEME.version, "--json").stdout)
    assert (older["reports"], older["version"]) == (300, THEME.version)
    gone = invoke(folder, "estimate", "mobile", "--json")
    assert json.loads(gone.stdout)["reports"] == 200
    assert gone.stderr == f"mobile is no longer asked; this is its version {MOBILE.version}\n"
    assert "200 reports" in invoke(folder, "trend", "mobile").stdout
    assert "mobile" in invoke(folder, "export", "mobile").stdout
    assert "--version: not collected here" in error_of(invoke(folder, "estimate", "theme", "--version", "0" * 16))
    assert "known: mobile, theme" in error_of(invoke(folder, "estimate", "nothing"))


def test_without_metrics_toml_the_database_is_enough(folder: Path) -> None:
    (folder / "metrics.toml").unlink()
    environment = {"DITHER_METRICS": "", "DITHER_DB": f"sqlite:///{folder}/dither.db"}
    read = CliRunner().invoke(cli, ["estimate", "theme", "--json"], env=environment)
    assert json.loads(read.stdout)["reports"] == 50  # the version that was reported last
    exported = CliRunner().invoke(cli, ["export", "--format", "json"], env=environment)
    assert sorted(row["metric"] for row in json.loads(exported.stdout)) == ["mobile", "theme"]


def test_metrics_are_listed_and_shown(folder: Path) -> None:
    collect(folder, (OPEN, 0, 0))
    lines = {line.split()[0]: line for line in invoke(folder, "metric", "list").stdout.splitlines()}
    assert len(lines) == 4
    assert re.search("  enabled  .*2026-11-11 to 2026-11-11  theme", lines[THEME.version])
    assert "  no longer asked  " in lines[MOBILE.version]
    assert "  no reports  " in lines[OPEN.version]
    shown = json.loads(invoke(folder, "metric", "show", "mobile", "--json").stdout)
    assert (shown["version"], shown["versions"], shown["type"]) == (MOBILE.version, [MOBILE.version], "boolean")
    text = invoke(folder, "metric", "show", "theme", "--version", THEME.version).stdout
    assert "description       Which theme do people use?\n" in text
    assert "dark, light, =1+1, other" in text
    assert "no metric has this name" in error_of(invoke(folder, "metric", "show", "nothing"))


def test_the_collector_shows_former_metrics_and_takes_no_reports_of_them(tmp_path: Path) -> None:
    collect(tmp_path, (MOBILE, 200, 5), (NEWER, 10, 3))
    app = create_app(config(tmp_path, metrics={"theme": THEME}))
    with closing(collector_of(app)):
        client = app.test_client()
        listed = client.get("/v1/metrics").json
        assert listed is not None
        assert ([row["metric"] for row in listed["metrics"]], listed["former"]) == (["theme"], ["mobile"])
        assert client.get("/v1/metrics/mobile").json["versions"] == [MOBILE.version]  # type: ignore[index]
        assert client.get("/v1/metrics/mobile/estimate").json["reports"] == 200  # type: ignore[index]
        assert client.get("/v1/metrics/theme/estimate").json["reports"] == 0  # type: ignore[index]
        assert 'href="/m/mobile"' in client.get("/").text
        assert "200 reports" in client.get("/m/mobile").text
        refused = client.post("/v1/reports", data=batch(MOBILE, b"\x00").encode(), content_type="application/json")
        assert problem(refused) == (404, "unknown-metric")
        assert problem(client.get("/v1/metrics/nothing/estimate")) == (404, "unknown-metric")


def test_settings_come_from_the_current_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*arguments: str) -> str:
        ended = CliRunner().invoke(cli, arguments, env={"DITHER_METRICS": "", "DITHER_DB": ""})
        assert ended.exit_code == 0, ended.stderr
        return ended.stdout

    (folder / "collector.toml").write_text('metrics = "metrics.toml"\ndb = "sqlite:///dither.db"\n', encoding="utf-8")
    monkeypatch.chdir(folder)
    assert json.loads(run("estimate", "theme", "--json"))["reports"] == 50
    assert "no longer asked" in run("metric", "list")
    assert run("token", "list") == ""
    shown = json.loads(run("doctor", "--settings", "--json", "--db", "sqlite:///other.db"))
    assert (shown["db"]["value"], shown["db"]["source"]) == ("sqlite:///other.db", "--db")
    assert (shown["metrics"]["value"], shown["metrics"]["source"]) == ("metrics.toml", "collector.toml: metrics")
    (folder / "empty.toml").touch()
    named = json.loads(run("doctor", "--settings", "--json", "--config", "empty.toml"))
    assert (named["db"]["value"], named["db"]["source"]) == (None, "not set")  # a file that is named is the only one
