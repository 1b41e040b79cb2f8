"""Estimates, comparisons and trends on the command line."""

import json
from contextlib import closing
from datetime import timedelta
from pathlib import Path

from dither_server.cli.analysis import estimate
from dither_server.reading.query import Query
from dither_server.store import Store
from server.cli.invoking import invoke
from server.collecting import THEME, TODAY, VERSION, rows_of, upload


def test_estimate_prints_a_table(folder: Path) -> None:
    result = invoke(folder, "estimate", "theme")
    assert result.exit_code == 0, result.output
    head, privacy, blank, *lines, _, rule, forged = result.stdout.splitlines()
    assert rule == "verdict, of the interval alone: ok lies above 0, noise contains 0, too-few says nothing yet"
    assert forged == "If 1% of the reports were forged, a share shown here could be off by 2.8 points."
    assert head == "theme: randomized-response, 2,000 reports, 2026-11-20 to 2026-11-20, 95% intervals"
    assert privacy == "ε = 1 for each report"
    assert blank == ""
    assert lines[0].split() == ["value", "share", "%", "±", "interval", "consistent", "verdict"]
    assert [line.split()[0] for line in lines[1:]] == ["dark", "light", "=1+1", "other"]
    assert len({line.rindex(line.split()[-1]) for line in lines}) == 1  # the last column is straight


def test_estimate_shows_the_selected_values_with_the_same_numbers(folder: Path) -> None:
    def values(*options: str) -> list[dict[str, object]]:
        shown: list[dict[str, object]] = json.loads(invoke(folder, "estimate", "theme", "--json", *options).stdout)[
            "values"
        ]
        return shown

    everything = values()
    ranked = sorted(everything, key=lambda row: -float(str(row["frequency"])))
    assert values("--top", "2") == ranked[:2]
    assert values("--value", "=1+1", "--value", "dark") == [everything[2], everything[0]]
    assert (
        values("--top", "1", "--value", "=1+1", "--value", "dark")
        == [row for row in ranked if row["value"] in {"=1+1", "dark"}][:1]
    )
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


def test_compare_prints_a_table_or_json(folder: Path) -> None:
    with closing(Store(f"sqlite:///{folder}/dither.db")) as store:
        store.commit([upload(THEME, rows_of(THEME, 2000, b"new", "dark"))], TODAY + timedelta(days=7), b"s" * 16)
    result = invoke(folder, "compare", "theme", "--change", "0.05")
    assert result.exit_code == 0, result.output
    first, second, notes, blank, *lines = result.stdout.splitlines()
    assert first == f"theme {THEME.version}: 2026-11-14 to 2026-11-20, 2,000 reports"
    assert second == f"theme {THEME.version}: 2026-11-21 to 2026-11-27, 2,000 reports"
    assert (notes, blank) == ("95% intervals; changed means p < 0.05, by Holm's method", "")
    assert [line.split()[0] for line in lines] == ["value", "dark", "light", "=1+1", "other"]
    assert lines[1].endswith("changed")
    assert "no change seen; 5 points take " in lines[4]
    days = ("--since", "2026-11-20", "--until", "2026-11-20", "--other-since", "2026-11-27", "--json")
    answer = json.loads(invoke(folder, "compare", "theme", *days).stdout)
    assert [side["periods"] for side in answer["sides"]] == [1, 1]
    assert answer["values"][0]["changed"]


def test_trend_prints_a_table_or_json(folder: Path) -> None:
    with closing(Store(f"sqlite:///{folder}/dither.db")) as store:
        store.commit([upload(THEME, rows_of(THEME, 2000, b"new", "dark"))], TODAY + timedelta(days=7), b"s" * 16)
    result = invoke(folder, "trend", "theme")
    assert result.exit_code == 0, result.output
    head, notes, _, *lines = result.stdout.splitlines()
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
    assert trend == (
        f"theme: 2,000 reports of one day, {TODAY} to {TODAY}. "
        "A trend needs two days: the next begins on 2026-11-21 (UTC).\n"
    )


def test_candidates_are_read_from_a_file(folder: Path) -> None:
    (folder / "candidates").write_text("é\r\n\nz\né\n", encoding="utf-8")
    answer = json.loads(invoke(folder, "estimate", "open", "--json", "--candidates", str(folder / "candidates")).stdout)
    assert [row["value"] for row in answer["values"]] == ["é", "z"]
    assert answer["values"][0]["frequency"] > 0.5


def test_options_of_estimate_are_the_parameters_of_the_api(folder: Path) -> None:
    """Only ``format`` is missing, because the command prints a table or JSON."""
    options = {name for option in estimate.params for name in [option.name]}
    assert set(Query.parameters()) - {"format"} <= options
    days = json.loads(invoke(folder, "estimate", "theme", "--by-day", "--limit", "1", "--offset", "1", "--json").stdout)
    assert [(answer["since"], [row["value"] for row in answer["values"]]) for answer in days] == [
        ("2026-11-20", ["light"])
    ]
    assert (
        "quantile: theme does not ask for a number" in invoke(folder, "estimate", "theme", "--quantile", "0.5").stderr
    )
