"""A discovery as an answer: its rows, what is told beside them, and what it refuses."""

from dataclasses import replace
from datetime import timedelta

import pytest

from dither_server.estimation.strings.reach import reach
from dither_server.reading.query import Comparison, Query
from dither_server.reading.summaries import summary_of
from dither_server.reading.summaries.discoveries.summary import Discoveries, DiscoveryRow
from dither_shared import ParameterError, parse_metrics
from server.collecting import TODAY

from .surveys import CRASH, CRASH_TOML, DISCOVERIES, NOTHING, estimator, surveyed

PEOPLE = {"a.b": 40_000, "dd": 25_000, "": 15_000, "too long": 12_000, "É": 8_000}
SURVEY = surveyed(PEOPLE)


def test_the_kind_has_this_summary() -> None:
    assert isinstance(summary_of(CRASH), Discoveries)


def test_rows_are_what_people_hold_the_most_frequent_first() -> None:
    rows = DISCOVERIES.table(SURVEY, Query(), estimator).rows()
    assert [row["value"] for row in rows[:2]] == ["a.b", "dd"]
    shares = {"a.b": 0.4, "dd": 0.25, "": 0.15, "…": 0.2}  # neither can be spelled: "too long" has letters that are not
    found = {row["value"]: row for row in rows}
    assert set(shares) <= set(found)
    for value, share in shares.items():
        row = found[value]
        assert list(row) == list(DiscoveryRow.__annotations__)
        assert abs(row["frequency"] - share) < 6 * row["standard_error"]
        assert row["low"] < row["frequency"] < row["high"]
        assert row["count"] == pytest.approx(100_000 * row["frequency"])
        assert row["repeat_error"] == pytest.approx(row["standard_error"])  # on one day


def test_what_is_told_beside_the_strings() -> None:
    told = DISCOVERIES.table(SURVEY, Query(forged=0.02), estimator).about
    mechanism = CRASH.mechanism
    assert told["reports"] == 100_000
    assert told["confirming"] == SURVEY.tally.reports[-2:].sum()
    assert told["reach"] == reach(mechanism, 100_000)
    assert told["unlisted"]["beyond"] == "found"
    assert told["unlisted"]["low"] <= 0.02
    assert told["poisoning"]["reports"] == 2000
    assert told["poisoning"]["gain_up"] == pytest.approx(
        2000 / told["confirming"] * float((1 - mechanism.q) / (mechanism.p - mechanism.q))
    )
    assert 10 < told["poisoning"]["reports_to_appear"] < told["reach"] * 100_000
    assert told["health"]
    assert not any(check["odd"] for check in told["health"])


def test_without_reports_nothing_is_said_but_what_it_takes() -> None:
    told = DISCOVERIES.table(NOTHING, Query(), estimator).whole()
    assert (told["values"], told["reach"], told["unlisted"]) == ([], None, None)
    assert told["sought"]["share"] == 0.01
    assert told["sought"]["reports"] > 1000


def test_errors_allow_for_people_who_report_every_day() -> None:
    week = replace(SURVEY, days=(TODAY, TODAY + timedelta(days=6)))
    rows = DISCOVERIES.table(week, Query(), estimator).rows()
    assert rows[0]["repeat_error"] > 1.5 * rows[0]["standard_error"]


@pytest.mark.parametrize(
    ("query", "place"),
    [(Query(simultaneous=True), "simultaneous"), (Query(quantile=(0.5,)), "quantile"), (Query(at=(1.0,)), "at")],
)
def test_what_it_does_not_answer_is_refused(query: Query, place: str) -> None:
    with pytest.raises(ParameterError, match=f"^{place}: "):
        DISCOVERIES.table(SURVEY, query, estimator)


def test_a_list_a_comparison_and_a_combination_are_refused() -> None:
    with pytest.raises(ParameterError, match="takes no list"):
        DISCOVERIES.table(SURVEY, Query(), estimator, ("a.b",))
    with pytest.raises(ParameterError, match="discoveries are not compared"):
        DISCOVERIES.compare((SURVEY, SURVEY), Comparison(), estimator)
    with pytest.raises(ParameterError, match="versions are not combined"):
        DISCOVERIES.combine("crash", [SURVEY], Query(), estimator)


def test_its_cost_grows_with_what_is_tried() -> None:
    wide = parse_metrics(CRASH_TOML.replace("a-d.", "a-z.").replace("length = 5", "length = 12"))["crash"]
    assert 0 < DISCOVERIES.effort(CRASH) < 2000 < DISCOVERIES.effort(wide) < 20_000
