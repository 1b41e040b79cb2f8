"""Estimates, comparisons and trends on the command line."""

import io
import json
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from dither_server.cli.analysis import estimate, shown_on
from dither_server.cli.terminal_tables import as_text
from dither_server.reading.query import Query
from dither_server.reading.summaries import SUMMARIES
from dither_server.store import Store
from server.cli.invoking import error_of, invoke
from server.collecting import METRICS_TOML, THEME, TODAY, VERSION, rows_of, upload
from server.reading.summaries.discovery_surveys import CRASH, CRASH_TOML


def test_estimate_prints_a_table(folder: Path) -> None:
    head, privacy, _, *lines, _, rule, forged = invoke(folder, "estimate", "theme").stdout.splitlines()
    assert rule == "verdict, of the interval alone: ok lies above 0, noise contains 0, too-few says nothing yet"
    assert forged == "If 1% of the reports were forged, a share shown here could be off by 2.8 points."
    assert head == "theme: randomized-response, 2,000 reports, 2026-11-20 to 2026-11-20, 95% intervals"
    assert privacy == "ε = 1 for each report"
    assert lines[0].split() == ["value", "share", "%", "±", "interval", "consistent", "verdict"]
    assert [line.split()[0] for line in lines[1:]] == ["dark", "light", "=1+1", "other"]
    assert len({line.rindex(line.split()[-1]) for line in lines}) == 1  # the last column is straight
    for option, day, days in (("--since", "2027-01-01", "from {} on"), ("--until", "2020-01-01", "up to {}")):
        nothing = invoke(folder, "estimate", "theme", option, day).stdout
        assert nothing.startswith(f"theme: randomized-response, 0 reports, {days.format(day)}, 95% intervals\n")


def test_estimate_shows_the_selected_values_with_the_same_numbers(folder: Path) -> None:
    def values(*options: str) -> Any:
        return json.loads(invoke(folder, "estimate", "theme", "--json", *options).stdout)["values"]

    everything = values()
    ranked = sorted(everything, key=lambda row: -row["frequency"])
    assert values("--top", "2") == ranked[:2]
    two = ("--value", "=1+1", "--value", "dark")
    assert values(*two) == [everything[2], everything[0]]
    assert values("--top", "1", *two) == [row for row in ranked if row["value"] in {"=1+1", "dark"}][:1]
    assert len(invoke(folder, "estimate", "theme", "--top", "1").stdout.splitlines()) == 8


def test_candidates_that_are_found_have_a_column_beside_the_verdict(folder: Path) -> None:
    with closing(Store(f"sqlite:///{folder}/dither.db", create=False)) as store:
        store.commit([upload(VERSION, rows_of(VERSION, 1, value="1.0"))], TODAY, b"t" * 16)
        assert ", 1 report, " in invoke(folder, "estimate", "version").stdout
        assert invoke(folder, "trend", "version").stdout.startswith("version: 1 report of one day, ")
        store.commit([upload(VERSION, rows_of(VERSION, 2000, value="1.0"))], TODAY, b"t" * 16)
    lines = invoke(folder, "estimate", "version").stdout.splitlines()
    header = next(line.split() for line in lines if line.startswith("value"))
    assert header[-2:] == ["found", "verdict"]
    assert [line.split()[-2] for line in lines if line.startswith(("1.0 ", "2.0 "))] == ["yes", "no"]
    assert "found: candidates that stand out; an expected 5% of them are false, and so are their intervals" in lines


def test_simultaneous_intervals_are_wider_and_named(folder: Path) -> None:
    result = invoke(folder, "estimate", "theme", "--simultaneous")
    assert result.stdout.splitlines()[0].endswith(", 95% intervals, which hold simultaneously")
    answer = json.loads(invoke(folder, "estimate", "theme", "--simultaneous", "--json", "--until", "2026-11-20").stdout)
    alone = json.loads(invoke(folder, "estimate", "theme", "--json").stdout)
    assert (answer["simultaneous"], alone["simultaneous"]) == ("bonferroni", None)
    assert answer["values"][1]["low"] < alone["values"][1]["low"]


def test_compare_and_trend_print_tables_or_json(folder: Path) -> None:
    with closing(Store(f"sqlite:///{folder}/dither.db")) as store:
        store.commit([upload(THEME, rows_of(THEME, 2000, b"new", "dark"))], TODAY + timedelta(days=7), b"s" * 16)
    shown = invoke(folder, "compare", "theme", "--change", "0.05").stdout
    first, second, notes, _, *lines = shown.splitlines()
    assert first == f"theme {THEME.version}: 2026-11-14 to 2026-11-20, 2,000 reports"
    assert second == f"theme {THEME.version}: 2026-11-21 to 2026-11-27, 2,000 reports"
    assert notes == "95% intervals; changed means p < 0.05, by Holm's method"
    assert [line.split()[0] for line in lines] == ["value", "dark", "light", "=1+1", "other"]
    assert lines[1].endswith("changed")
    assert "no change seen; 5 points take " in lines[4]
    days = ("--since", "2026-11-20", "--until", "2026-11-20", "--other-since", "2026-11-27", "--json")
    answer = json.loads(invoke(folder, "compare", "theme", *days).stdout)
    assert [side["periods"] for side in answer["sides"]] == [1, 1]
    assert answer["values"][0]["changed"]
    head, notes, _, *lines = invoke(folder, "trend", "theme").stdout.splitlines()
    assert head == "theme: 2026-11-20 to 2026-11-27, 2 steps, 4,000 reports"
    assert notes == "drift means p < 0.05, by Holm's method"
    assert lines[0].split() == ["value", "first", "%", "last", "%", "points", "a", "day", "±", "p"]
    assert [line.split()[-1] for line in lines[1:4]] == ["drifts", "drifts", "seen"]
    answer = json.loads(invoke(folder, "trend", "theme", "--step", "week", "--json").stdout)
    assert [step["since"] for step in answer["steps"]] == ["2026-11-16", "2026-11-23"]
    none = invoke(folder, "trend", "theme", "--until", "2026-11-01").stdout
    assert none == "theme: no reports on these days, so there is no trend.\n"


def test_on_the_first_day_comparison_and_trend_say_when_they_will_be_possible(folder: Path) -> None:
    compared = invoke(folder, "compare", "theme").stdout
    assert "0 reports 2026-11-07 to 2026-11-13 and 2,000 reports 2026-11-14 to 2026-11-20" in compared
    assert compared.endswith("possible from 2026-11-27 on.\n")
    assert json.loads(invoke(folder, "compare", "theme", "--json").stdout)["sides"][1]["reports"] == 2000
    trend = invoke(folder, "trend", "theme").stdout
    assert trend.startswith("theme: 2,000 reports of one day, ")
    assert trend.endswith(". A trend needs two days: the next begins on 2026-11-21 (UTC).\n")


def test_candidates_are_read_from_a_file(folder: Path) -> None:
    (folder / "candidates").write_text("é\r\n\nz\né\n", encoding="utf-8")
    answer = json.loads(invoke(folder, "estimate", "open", "--json", "--candidates", str(folder / "candidates")).stdout)
    assert [row["value"] for row in answer["values"]] == ["é", "z"]
    assert answer["values"][0]["frequency"] > 0.5


def test_options_of_estimate_are_the_parameters_of_the_api(folder: Path) -> None:
    """Only ``format`` is missing, because the command prints a table or JSON."""
    options = {name for option in estimate.params for name in [option.name]}
    assert set(Query.parameters()) - {"format"} <= options
    (day,) = json.loads(
        invoke(folder, "estimate", "theme", "--by-day", "--limit", "1", "--offset", "1", "--json").stdout
    )
    assert (day["since"], [row["value"] for row in day["values"]]) == ("2026-11-20", ["light"])
    for name, theirs in (
        ("quantile", "0.5"),
        ("value", "nope"),
        ("by", "nope"),
    ):  # as typed, not as in the API
        assert invoke(folder, "estimate", "theme", f"--{name}", theirs).stderr.startswith(f"dither-server: --{name}: ")


def test_labels_cannot_steer_the_terminal() -> None:
    row = dict.fromkeys(("standard_error", "consistent", "found", "gain_up", "gain_down"))
    row |= {"frequency": 0.5, "low": 0.0, "high": 1.0, "verdict": "ok", "value": "\x1b[2J\n"}
    answer = dict.fromkeys(("since", "until", "simultaneous", "unlisted")) | {"metric": "m", "mechanism": "r"}
    answer |= {"privacy": "", "reports": 0, "confidence": 0.95, "version": "", "health": [], "values": [row]}
    table = as_text(SUMMARIES["choice"].text(answer))
    assert "\x1b" not in table
    assert r"\x1b[2J\n" in table


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
    assert invoke(crashed, "estimate", "crash").stdout == result.stdout
    assert json.loads(invoke(crashed, "discover", "crash", "--json").stdout)["values"][0]["value"] == "a.b"


def test_discover_says_that_nothing_was_found_and_refuses_what_it_cannot_answer(crashed: Path) -> None:
    result = invoke(crashed, "discover", "crash", "--since", "2027-01-01")
    assert result.exit_code == 0
    assert "Nothing was found." in result.stdout
    assert "would not even find a string that everybody has" in result.stdout
    assert "no metric has this name" in error_of(invoke(crashed, "discover", "crush"))
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
