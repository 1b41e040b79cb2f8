"""What a page shows of a discovery: the strings that are looked at, and panels of strata."""

import pytest

from dither_server.reading.query import Query
from dither_server.reading.summaries.window import Look

from .surveys import DISCOVERIES, NOTHING, estimator, surveyed

SURVEY = surveyed({"a.b": 40_000, "dd": 25_000, "": 15_000, "cut off": 10_000, "b": 5_000, "c": 5_000})


def test_strings_are_looked_for_and_paged() -> None:
    first = DISCOVERIES.exhibit(SURVEY, Query(), estimator, Look("", 1, 2))
    assert [row["value"] for row in first.found.shown] == ["a.b", "dd"]
    assert first.found.pages == -(-first.values // 2)
    assert first.values >= 6
    some = DISCOVERIES.exhibit(SURVEY, Query(), estimator, Look("D", 1, 50))
    assert [row["value"] for row in some.found.shown] == ["dd"]
    assert first.top == pytest.approx(max(row["high"] for row in first.found.shown))


def test_the_empty_string_and_the_mark_are_shown() -> None:
    shown = DISCOVERIES.exhibit(SURVEY, Query(), estimator, Look("", 1, 50))
    values = [row["value"] for row in shown.found.shown]
    assert '""' in values
    assert "…" in values
    assert "… stands for" in shown.rule
    assert "… stands for" not in DISCOVERIES.exhibit(SURVEY, Query(), estimator, Look("a.b", 1, 50)).rule


def test_a_panel_says_what_a_stratum_did_not_find() -> None:
    whole = DISCOVERIES.exhibit(SURVEY, Query(), estimator, Look("", 1, 50))
    names = [spot.name for spot in whole.spots()]
    assert names[:2] == ["a.b", "dd"]
    assert len(names) == 4
    part = DISCOVERIES.exhibit(surveyed({"dd": 5_000}), Query(), estimator, Look("", 1, 50)).spots(names)
    assert [spot.name for spot in part] == names
    assert (part[0].text, part[0].at) == ("not found", None)
    assert part[1].at is not None
    assert part[1].at > 0.9


def test_without_reports_it_says_what_it_needs() -> None:
    nothing = DISCOVERIES.exhibit(NOTHING, Query(), estimator, Look("", 1, 50))
    assert nothing.needs.endswith("to find a string that 1% of people hold, half the time")
    assert nothing.stretched == 1.0
    assert nothing.spots() == []
