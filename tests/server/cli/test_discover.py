"""Discoveries on the command line, over the API and on a page: from reports of devices."""

import io
import json
from contextlib import closing
from pathlib import Path

import jsonschema_rs
import pytest

from dither_server.app import collector_of, create_app
from dither_server.cli.analysis import shown_on
from dither_server.store import Store
from server.cli.invoking import error_of, invoke
from server.collecting import METRICS, METRICS_TOML, TODAY, config, rows_of, upload
from server.reading.summaries.discovery_surveys import CRASH, CRASH_TOML
from server.reading.test_numbers import body_schema


@pytest.fixture
def crashed(tmp_path: Path) -> Path:
    """Where a collector has run whose devices crashed at one place."""
    (tmp_path / "metrics.toml").write_text(CRASH_TOML, encoding="utf-8")
    with closing(Store(f"sqlite:///{tmp_path}/dither.db")) as store:
        store.register([CRASH])
        store.commit([upload(CRASH, rows_of(CRASH, 2000, value="a.b"))], TODAY, b"s" * 16)
    return tmp_path


def test_discover_prints_the_strings_that_it_finds(crashed: Path) -> None:
    result = invoke(crashed, "discover", "crash")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""  # no terminal, no progress
    lines = result.stdout.splitlines()
    assert lines[0].startswith("crash: prefix-sketch, 2,000 reports, 2026-11-20 to 2026-11-20, of which ")
    assert lines[3].split()[:2] == ["string", "share"]
    assert lines[4].split()[0] == "a.b"
    same = invoke(crashed, "estimate", "crash")
    assert same.stdout == result.stdout


def test_discoveries_are_the_same_in_command_api_export_and_pages(crashed: Path) -> None:
    printed = json.loads(invoke(crashed, "discover", "crash", "--json").stdout)
    app = create_app(config(crashed, metrics=METRICS | {"crash": CRASH}))
    with closing(collector_of(app)):
        client = app.test_client()
        assert client.get("/v1/metrics/crash/estimate").get_json() == printed
        schema = body_schema(client, "/v1/metrics/{name}/estimate")
        for days in ("", "?since=2027-01-01"):
            jsonschema_rs.validate(schema, client.get(f"/v1/metrics/crash/estimate{days}").get_json())
        rows = client.get("/v1/metrics/crash/estimate?format=csv").text.splitlines()
        assert rows[0].endswith("value,frequency,count,standard_error,low,high")
        assert ",a.b," in rows[1]
        for page in ("/", "/m/crash", "/m/crash?find=zzz"):
            shown = client.get(page)
            assert shown.status_code == 200
            assert ("a.b" in shown.text) == ("zzz" not in page)
        assert client.get("/m/crash?since=2027-01-01").status_code == 200
        for end in ("trend", "compare?other_since=2026-12-01"):
            assert client.get(f"/v1/metrics/crash/{end}").status_code in {400, 422}


def test_discover_says_that_nothing_was_found_and_refuses_what_it_cannot_answer(crashed: Path) -> None:
    result = invoke(crashed, "discover", "crash", "--since", "2027-01-01")
    assert result.exit_code == 0
    assert "Nothing was found." in result.stdout
    assert "would not even find a string that everybody has" in result.stdout

    assert "no metric has this name" in error_of(invoke(crashed, "discover", "crush"))
    assert "--since" in error_of(invoke(crashed, "discover", "crash", "--since", "yesterday"))
    assert "confidence" in error_of(invoke(crashed, "discover", "crash", "--confidence", "2"))
    sides = ("--until", "2026-11-20", "--other-since", "2026-12-01")
    assert "not compared" in error_of(invoke(crashed, "compare", "crash", *sides))
    (crashed / "metrics.toml").write_text(CRASH_TOML + METRICS_TOML, encoding="utf-8")
    assert "does not discover strings" in error_of(invoke(crashed, "discover", "theme"))


def test_progress_is_written_over_itself_and_leaves_nothing() -> None:
    stream = io.StringIO()
    show = shown_on(stream)
    show(1, 12)
    show(12, 12)
    assert stream.getvalue().split("\r")[1].rstrip() == "level 1 of 12"
    assert stream.getvalue().split("\r")[3].rstrip() == "level 12 of 12"
    before = stream.tell()
    show(13, 12)
    assert stream.getvalue()[before:].strip() == ""
    assert stream.getvalue().endswith("\r")
