"""Shares on a page: their figures, and lines over as many days as their cost allows."""

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from dither_server.analysis.columns import Table, names_of
from dither_server.analysis.estimate_table import SHARES
from dither_server.app import collector_of
from dither_server.dashboard.card import card_of, time_series
from dither_server.dashboard.view import View
from dither_server.estimation.planning import worst_share
from dither_server.reading.analysis_limiter import effort
from dither_server.reading.query import Query
from dither_server.reading.summaries.shares_view import SharesView, share_point
from dither_server.reading.summaries.view import PageRequest, Steps, drawing_of, scale_top
from server.collecting import THEME, TODAY
from server.dashboard.shown import filled


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Flask]:
    with closing(collector_of(app := filled(tmp_path))):
        yield app


def test_fewer_days_are_drawn_if_estimates_cost_more(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    reader, days = collector_of(app).reader, list(collector_of(app).store.reports_by_day(THEME))
    over = Steps("day", [(day, day) for day in days])
    card = card_of(THEME, View(Query()), 50, collector_of(app).store, reader)
    drawn = time_series(card, reader, over)
    assert drawn is not None
    assert drawn.over.starts == days
    assert [line.name for line in drawn.lines] == ["light"]
    monkeypatch.setattr("dither_server.dashboard.card._WORK", 2 * effort(THEME))
    drawn = time_series(card, reader, over)
    assert drawn is not None
    assert drawn.over.starts == days[1:]
    monkeypatch.setattr("dither_server.dashboard.card._WORK", effort(THEME))
    assert time_series(card, reader, over) is None


def test_drawing_places_points_by_the_calendar_and_the_scale() -> None:
    points: list[dict[str, float | None]] = [
        {"frequency": 0.1, "low": 0.0, "high": 0.2},
        {"frequency": None, "low": 0.0, "high": 0.5},
        {"frequency": -0.1, "low": 0.1, "high": 0.3},
    ]
    days = [TODAY + timedelta(days=day) for day in (0, 1, 4)]
    assert [scale_top(high) for high in (0.0, 0.02, 0.021, 0.1, 0.11, 1.0)] == [0.02, 0.02, 0.1, 0.1, 1.0, 1.0]
    drawn = drawing_of(points, days, 0.4)
    assert drawn.line == "0.0,60.0 600.0,80.0"  # unknown shares have no point, and no point lies below the drawing
    assert drawn.band == "0.0,40.0 150.0,0.0 600.0,20.0 600.0,60.0 150.0,80.0 0.0,80.0"
    assert drawn.dots == "M0.0,60.0h0M600.0,80.0h0"
    assert [(slot.x, slot.width) for slot in drawn.slots] == [(0.0, 75.0), (75.0, 300.0), (375.0, 225.0)]


def row(verdict: str, error: float | None) -> dict[str, Any]:
    known = {"value": "v", "frequency": 0.1, "low": 0.0, "high": 1.0, "standard_error": error, "verdict": verdict}
    return dict.fromkeys(names_of(SHARES)) | known


def test_a_share_reads_as_a_figure_with_a_margin_or_as_a_bound() -> None:
    for share, low, high, text, at in (
        (0.41, 0.32, 0.5, "41% ± 9", 0.41),
        (0.41, 0.405, 0.415, "41.0% ± 0.5", 0.41),
        (0.03, 0.008, 0.057, "0.8 to 6%", 0.03),  # the interval lies above 0, and so does the figure
        (0.005, 0.001, 0.02, "0.1 to 2%", 0.005),
        (0.5002, 0.0006, 0.9998, "0.06 to 100%", 0.5002),
        (1.02, 0.97, 1.07, "over 97%", None),
    ):
        point = share_point("v", share, low, high)
        assert (point.text, point.at, point.doubt) == (text, at, ""), text
        assert point.high is not None
        assert 0 <= (point.low or 0) <= point.high <= 1
    for share, high, text in ((-0.02, 0.049, "under 5%"), (0.01, 0.0031, "under 0.4%"), (-0.1, 0.0, "under 0%")):
        assert share_point("v", share, -0.07, high, "noise") == ("v", text, "", None, 0.0, high)
    assert share_point("v", 0.3, -0.2, 0.8, "too-few") == ("v", "0 to 80%", "too few reports", None, 0.0, 0.8)
    for unknown in (None, float("nan")):
        assert share_point("v", unknown, unknown, unknown).text == "–"


def shown(*rows: dict[str, Any]) -> SharesView:
    table = Table({"reports": 100, "confidence": 0.95}, {name: [row[name] for row in rows] for name in rows[0]})
    return SharesView(THEME, table, PageRequest("", 1, 10))


def test_too_few_reports_say_how_many_more_are_needed() -> None:
    view = shown(row("too-few", 0.1), row("ok", 0.1))
    # 100 reports give 0.1; 0.02 / 1.96 takes 96.04 times as many: 9,604 in all.
    assert view.rows[0][1].doubt == "too few reports"
    assert view.known
    assert "About 9,510 more reports are needed for ±2 points" in view.legend
    assert not shown(row("too-few", 0.1)).known
    worst = worst_share(THEME.mechanism)  # nothing is known of the share
    needed = (THEME.mechanism.variance(worst) + worst * (1 - worst)) * (1.96 / 0.02) ** 2
    said = shown(row("too-few", None)).needs
    assert int(said.split()[1].replace(",", "")) == pytest.approx(needed, rel=0.01)


def test_found_and_the_interval_do_not_contradict_each_other() -> None:
    ends = {"low": 0.05, "high": 0.15}
    seen = shown(row("ok", 0.02) | ends | {"found": False}, row("noise", 0.02) | ends | {"low": 0.0, "found": True})
    assert [point.text for _, point in seen.rows] == ["under 15%", "0 to 15%"]
    assert "stand out" in seen.legend
    plain = shown(row("ok", 0.02) | ends)
    assert (plain.rows[0][1].text, plain.legend) == ("10% ± 5", "")
    assert "contains 0" in shown(row("noise", 0.02) | ends).legend


def test_the_most_frequent_value_comes_first() -> None:
    rows = [
        row("ok", 0.02) | {"value": value, "frequency": share}
        for value, share in (("a", 0.1), ("b", float("nan")), ("c", 0.3))
    ]
    assert [one["value"] for one, _ in shown(*rows).rows] == ["c", "a", "b"]
