"""A discovery on a terminal: what was found, what was not, and what it takes."""

from dither_server.reading.query import Query
from dither_server.reading.summaries.discoveries.text import discovery_text, reach_text

from .surveys import DISCOVERIES, NOTHING, estimator, surveyed


def test_what_is_found_and_how_many_hold_anything_else() -> None:
    rare = {f"{first}{second}{third}": 160 for first in "abcd" for second in "abcd" for third in "abcd"}
    survey = surveyed({"a.b": 40_000, "": 20_000, "cut off": 20_000} | rare)
    told = DISCOVERIES.table(survey, Query(), estimator).whole()
    before, rows, after, *_ = discovery_text(told)
    assert before[0].startswith("crash: prefix-sketch, 90,240 reports, 2026-11-20 to 2026-11-20, of which ")
    assert rows[0] == ("string", "share %", "interval", "people")
    assert rows[1][0] == "a.b"
    assert {'""', "…"} <= {row[0] for row in rows}
    assert any(line.startswith("… stands for what is not told") for line in after)
    assert any(line.endswith("hold anything else.") for line in after)
    assert "found: strings that stand out; an expected 5% of them are held by nobody" in after


def test_that_nothing_is_found_is_said_with_what_it_would_take() -> None:
    told = DISCOVERIES.table(surveyed({"a": 20}), Query(), estimator).whole() | {"values": []}
    _, rows, after, *_ = discovery_text(told)
    assert rows == [("Nothing was found.",)]
    assert not any(line.startswith("found") for line in after)
    assert any("reports" in line and "one that 1% hold takes" in line for line in after)


def test_the_reach_in_words() -> None:
    sought = {"share": 0.01, "reports": 12_000}
    assert reach_text({"sought": sought, "reach": 0.02}) == (
        "A string that 2.00% of people hold is found about half the time; one that 1% hold takes 12,000 reports."
    )
    for reach in (None, 1.2):
        assert reach_text({"sought": sought, "reach": reach}) == (
            "So few reports cannot find a string that everybody holds; one that 1% hold takes 12,000 reports."
        )


def test_no_report_has_a_text_too() -> None:
    told = DISCOVERIES.table(NOTHING, Query(), estimator).whole()
    before, rows, after, *_ = discovery_text(told)
    assert "0 reports, of which 0 confirm" in before[0]
    assert rows == [("Nothing was found.",)]
    assert len(after) == 1
