"""Strata on the command line: of estimates, comparisons, trends and exports."""

import csv
import io
import json
from contextlib import closing
from pathlib import Path

import pytest

from dither_server.store import Store
from server.cli.invoking import error_of, invoke
from server.collecting import LAYOUT, METRICS, METRICS_TOML, SPEED, STRATA, STRATA_TOML, THEME, TODAY, rows_of, upload


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a collector has run, with metrics of strata and without."""
    (tmp_path / "metrics.toml").write_text(METRICS_TOML + STRATA_TOML, encoding="utf-8")
    with closing(Store(f"sqlite:///{tmp_path}/dither.db")) as store:
        store.register((METRICS | STRATA).values())
        uploads = [upload(THEME, rows_of(THEME, 50))]
        for place, count, value in ((0, 400, "tabs"), (2, 300, "list")):
            uploads.append(upload(LAYOUT, rows_of(LAYOUT, count, value=value), stratum=place))
        uploads.append(upload(SPEED, rows_of(SPEED, 100, value=3.0), stratum=1))
        store.commit(uploads, TODAY, b"s" * 16)
    return tmp_path


def test_commands_print_the_stratum_that_they_read(folder: Path) -> None:
    lines = invoke(folder, "estimate", "layout", "--stratum", "platform=linux").stdout.splitlines()
    assert lines[0] == "platform linux, channel any"
    assert lines[1].startswith("layout: randomized-response, 400 reports, 2026-11-20 to 2026-11-20")
    options = ("--stratum", "platform=linux", "--stratum", "channel=other", "--json")
    assert json.loads(invoke(folder, "estimate", "layout", *options).stdout)["reports"] == 0
    lines = invoke(folder, "trend", "layout", "--stratum", "channel=stable").stdout.splitlines()
    assert lines[0] == "platform any, channel stable"
    assert "700 reports" in lines[1]
    sides = ("--stratum", "platform=linux", "--other-stratum", "platform=windows")
    lines = invoke(folder, "compare", "layout", *sides).stdout.splitlines()
    assert lines[:2] == ["first: platform linux, channel any", "second: platform windows, channel any"]
    assert any(line.startswith("tabs") and line.endswith("changed") for line in lines)
    shown = invoke(folder, "metric", "show", "layout").stdout
    assert "  platform: linux, windows, other; channel: stable, other\n" in shown
    assert "platform" not in invoke(folder, "metric", "show", "theme").stdout


def test_estimate_by_an_attribute_ends_with_all_together(folder: Path) -> None:
    output = invoke(folder, "estimate", "layout", "--by", "platform").stdout
    parts = output.split("\n\nplatform ")
    assert [part.splitlines()[0].removeprefix("platform ") for part in parts] == [
        "linux, channel any",
        "windows, channel any",
        "any, channel any",
    ]
    assert "700 reports" in parts[2]
    answers = json.loads(invoke(folder, "estimate", "layout", "--by", "platform", "--json").stdout)
    assert [answer["reports"] for answer in answers] == [400, 300, 700]
    assert len(invoke(folder, "estimate", "theme").stdout.split("\n\n")) == 3  # nothing is said of strata


def test_export_has_a_column_for_each_attribute(folder: Path) -> None:
    def exported(*options: str) -> tuple[set[tuple[str, ...]], str]:
        result = invoke(folder, "export", *options)
        rows = csv.DictReader(io.StringIO(result.stdout))
        return {(row["metric"], row["platform"], row["channel"], row["reports"]) for row in rows}, result.stderr

    layouts = {("layout", "", "stable", "700"), ("layout", "", "", "700")}
    empty = {(name, "", "", "0") for name in ("mobile", "version")}
    assert exported("--by", "channel")[0] == layouts | empty | {("theme", "", "", "50"), ("speed", "", "", "100")}
    rows, said = exported("--stratum", "platform=windows")
    assert {row[0] for row in rows} == {"layout", "speed"}
    assert "theme is left out: it has no such stratum" in said
    assert {row[3] for row in exported("layout", "--stratum", "platform=windows", "--by", "channel")[0]} == {"300"}


def test_unknown_strata_are_refused_and_named(folder: Path) -> None:
    linux = ("--stratum", "platform=linux")
    for arguments, says in (
        (("estimate", "layout", "--stratum", "linux"), "--stratum: not an attribute with a value; write it as"),
        (("estimate", "layout", "--stratum", "platform=amiga"), "'amiga' is not one of linux, windows, other"),
        (("compare", "layout", "--since", "2026-01-01"), "strata that do not overlap"),
        (("estimate", "layout", *linux, "--stratum", "platform=windows"), "--stratum: platform is given twice"),
        (("export", "--by", "color"), "--by: names an attribute of no metric; known: platform, channel"),
        (("export", "theme", "--by", "platform"), "by: names no attribute of theme; it has none"),
        (("compare", "layout", "--other-stratum", "x"), "--other-stratum: not an attribute with a value"),
        (("trend", "layout", "--stratum", "color=red"), "'color': unknown; known here: "),
    ):
        assert says in error_of(invoke(folder, *arguments)), arguments
