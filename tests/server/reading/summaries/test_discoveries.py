"""A discovery as the API's answer, on a page and on a terminal."""

from dataclasses import replace
from typing import Any

import pytest

from dither_server.analysis.columns import names_of
from dither_server.estimation.planning import reach
from dither_server.reading.query import Combination, Comparison, Query
from dither_server.reading.summaries import summary_of
from dither_server.reading.summaries.discoveries import COLUMNS, Discoveries, reach_text
from dither_server.reading.summaries.summary import CollectedReports
from dither_server.reading.summaries.view import PageRequest
from dither_server.tally.repeats import Repeats
from dither_shared import ParameterError, parse_metrics

from .discovery_surveys import CRASH, CRASH_TOML, DISCOVERIES, NOTHING, surveyed

PEOPLE = {"a.b": 40_000, "dd": 25_000, "": 15_000, "too long": 12_000, "É": 8_000}
SURVEY = surveyed(PEOPLE)


def test_discovered_rows_are_the_strings_of_people_most_frequent_first() -> None:
    assert isinstance(summary_of(CRASH), Discoveries)
    rows = DISCOVERIES.table(SURVEY, Query()).rows()
    assert [row["value"] for row in rows[:2]] == ["a.b", "dd"]
    shares = {"a.b": 0.4, "dd": 0.25, "": 0.15, "…": 0.2}  # neither can be spelled: "too long" has letters that are not
    by_value = {row["value"]: row for row in rows}
    assert set(shares) <= set(by_value)
    for value, share in shares.items():
        row = by_value[value]
        assert list(row) == names_of(COLUMNS)
        assert abs(row["frequency"] - share) < 6 * row["standard_error"]
        assert row["low"] < row["frequency"] < row["high"]
        assert row["count"] == pytest.approx(100_000 * row["frequency"])


def test_answer_tells_reach_poisoning_and_people_whose_string_was_not_tried() -> None:
    answer = DISCOVERIES.table(SURVEY, Query(forged=0.02)).about
    mechanism = CRASH.mechanism
    assert answer["reports"] == 100_000
    assert answer["confirming"] == SURVEY.tally.reports[-2:].sum()
    assert answer["reach"] == reach(mechanism, 100_000)
    assert answer["unlisted"]["low"] <= 0.02  # nearly all hold strings that are found, and so were tried
    assert answer["unlisted"]["standard_error"] < 0.1
    assert answer["poisoning"]["reports"] == 2000
    assert answer["poisoning"]["gain_up"] == pytest.approx(
        2000 / answer["confirming"] * float((1 - mechanism.q) / (mechanism.p - mechanism.q))
    )
    assert 10 < answer["poisoning"]["reports_to_appear"] < answer["reach"] * 100_000
    assert answer["health"]
    assert not any(check["odd"] for check in answer["health"])


def test_discovery_without_reports_states_only_the_reports_needed() -> None:
    answer = DISCOVERIES.table(NOTHING, Query()).whole()
    assert (answer["values"], answer["reach"], answer["unlisted"]) == ([], None, None)
    assert answer["sought"]["share"] == 0.01
    assert answer["sought"]["reports"] > 1000
    nothing = viewed(NOTHING, PageRequest("", 1, 50))
    assert nothing.needs.endswith("reports find a string that 1% of people have, half of the time.")
    assert nothing.points() == []


def test_errors_allow_for_people_who_report_every_day() -> None:
    again = Repeats((SURVEY.tally.total // 7,) * 7)
    week = replace(SURVEY, tally=replace(SURVEY.tally, repeats=again))
    (row, *_), (once, *_) = (DISCOVERIES.table(survey, Query()).rows() for survey in (week, SURVEY))
    assert row["frequency"] == pytest.approx(once["frequency"], rel=0.01)
    assert row["standard_error"] > 1.3 * once["standard_error"]
    assert row["low"] < once["low"]


def test_what_a_discovery_does_not_answer_is_refused() -> None:
    for query, place in (
        (Query(simultaneous=True), "simultaneous"),
        (Query(quantile=(0.5,)), "quantile"),
        (Query(at=(1.0,)), "at"),
    ):
        with pytest.raises(ParameterError, match=f"^{place}: "):
            DISCOVERIES.table(SURVEY, query)
    with pytest.raises(ParameterError, match="candidates do not apply"):
        DISCOVERIES.table(replace(SURVEY, candidates=("a.b",)), Query())
    with pytest.raises(ParameterError, match="discoveries are not compared"):
        DISCOVERIES.compare((SURVEY, SURVEY), Comparison())
    with pytest.raises(ParameterError, match="versions are not combined"):
        DISCOVERIES.combine("crash", [SURVEY], Combination())


def test_cost_grows_with_the_prefixes_tried() -> None:
    wide = parse_metrics(CRASH_TOML.replace("a-d.", "a-z.").replace("length = 5", "length = 12"))["crash"]
    assert 0 < DISCOVERIES.effort(CRASH) < 2000 < DISCOVERIES.effort(wide) < 20_000


def viewed(survey: CollectedReports, request: PageRequest) -> Any:
    return DISCOVERIES.view(survey, Query(), request)


def test_page_finds_strings_and_shows_a_few_at_a_time() -> None:
    first = viewed(SURVEY, PageRequest("", 1, 2))
    assert [row["value"] for row in first.found.shown] == ["a.b", "dd"]
    assert first.found.pages == -(-first.values // 2)
    assert first.values >= 4
    some = viewed(SURVEY, PageRequest("D", 1, 50))
    assert [row["value"] for row in some.found.shown] == ["dd"]
    assert first.top == 1.0


def test_page_explains_the_empty_string_and_the_mark() -> None:
    shown = viewed(SURVEY, PageRequest("", 1, 50))
    assert {'""', "…"} <= {point.name for _, point in shown.rows}
    assert "… stands for" in shown.rule
    assert "… stands for" not in viewed(SURVEY, PageRequest("a.b", 1, 50)).rule


def test_panel_says_what_a_stratum_did_not_find() -> None:
    whole = viewed(SURVEY, PageRequest("", 1, 50))
    names = [point.name for point in whole.points()]
    assert names[:2] == ["a.b", "dd"]
    assert len(names) == 5
    part = viewed(surveyed({"dd": 5_000}), PageRequest("", 1, 50)).points(names)
    assert [point.name for point in part] == names
    assert (part[0].text, part[0].at) == ("not found", None)
    assert part[1].text.startswith("over 9")


def test_terminal_shows_what_is_found_and_how_many_hold_none_tried() -> None:
    rare = {f"{first}{second}{third}": 160 for first in "abcd" for second in "abcd" for third in "abcd"}
    survey = surveyed({"a.b": 40_000, "": 20_000, "cut off": 20_000} | rare)
    before, rows, after, *_ = DISCOVERIES.text(DISCOVERIES.table(survey, Query()).whole())
    assert before[0].startswith("crash: prefix-sketch, 90,240 reports, 2026-11-20 to 2026-11-20, of which ")
    assert rows[0] == ("string", "share %", "interval", "people")
    assert rows[1][0] == "a.b"
    assert {'""', "…"} <= {row[0] for row in rows}
    assert any(line.startswith("… stands for text that is left out") for line in after)
    assert any(line.endswith(" strings tried.") for line in after)
    assert "found: strings that stand out; an expected 5% of them are held by nobody" in after


def test_terminal_says_that_nothing_is_found_and_what_it_takes() -> None:
    answer = DISCOVERIES.table(surveyed({"a": 20}), Query()).whole() | {"values": []}
    _, rows, after, *_ = DISCOVERIES.text(answer)
    assert rows == [("Nothing was found.",)]
    assert not any(line.startswith("found") for line in after)
    assert any("To find one that 1% of people have takes" in line for line in after)


def test_reach_of_a_discovery_is_described_in_words() -> None:
    sought = {"share": 0.01, "reports": 12_000}
    assert reach_text({"sought": sought, "reach": 0.02}) == (
        "A string that 2.00% of people have is found half of the time. "
        "To find one that 1% of people have takes 12,000 reports."
    )
    for too_much in (None, 1.2):
        assert reach_text({"sought": sought, "reach": too_much}) == (
            "So few reports would not even find a string that everybody has. "
            "To find one that 1% of people have takes 12,000 reports."
        )
