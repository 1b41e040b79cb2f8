"""Shares on a page: verdicts in words, and lines over as many days as their cost allows."""

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from dither_server.analysis.trend import finished
from dither_server.app import collector_of
from dither_server.estimation.precision import worst_share
from dither_server.reading.costs import effort
from dither_server.reading.query import Query
from dither_server.reading.summaries.shares_view import in_words, time_series
from dither_server.reading.summaries.summary import Steps
from dither_server.reading.summaries.svg import drawing_of
from server.collecting import THEME, TODAY
from server.dashboard.shown import filled


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Flask]:
    with closing(collector_of(app := filled(tmp_path))):
        yield app


def test_fewer_days_are_drawn_if_estimates_cost_more(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    reader, days = collector_of(app).reader, list(collector_of(app).store.reports_by_day(THEME))
    over = Steps("day", [(day, day) for day in days])
    rows = [row("ok", 0.1) | {"value": label} for label in ("light", "dark")]
    read = reader.estimates(THEME, Query())
    drawn = finished(time_series(THEME, rows, over, effort(THEME), read, 0.95))
    assert drawn is not None
    assert drawn.over.starts == days
    assert [line.row["value"] for line in drawn.lines] == ["light", "dark"]
    monkeypatch.setattr("dither_server.reading.summaries.shares_view._WORK", 2 * effort(THEME))
    drawn = finished(time_series(THEME, rows, over, effort(THEME), read, 0.95))
    assert drawn is not None
    assert drawn.over.starts == days[1:]
    monkeypatch.setattr("dither_server.reading.summaries.shares_view._WORK", effort(THEME))
    assert finished(time_series(THEME, rows, over, effort(THEME), read, 0.95)) is None


def test_drawing_places_points_by_the_calendar_and_the_scale() -> None:
    points: list[dict[str, float | None]] = [
        {"frequency": 0.1, "low": 0.0, "high": 0.2},
        {"frequency": None, "low": 0.0, "high": 0.5},
        {"frequency": -0.1, "low": 0.1, "high": 0.3},
    ]
    days = [TODAY + timedelta(days=day) for day in (0, 1, 4)]
    drawn = drawing_of(points, days, 0.0, 0.4)
    assert drawn.line == "0.0,60.0 600.0,80.0"  # no point for what is unknown, and none below the drawing
    assert drawn.band == "0.0,40.0 150.0,0.0 600.0,20.0 600.0,60.0 150.0,80.0 0.0,80.0"
    assert drawn.dots == "M0.0,60.0h0M600.0,80.0h0"
    assert [(slot.x, slot.width) for slot in drawn.slots] == [(0.0, 75.0), (75.0, 300.0), (375.0, 225.0)]


def row(verdict: str, error: float | None) -> dict[str, Any]:
    return {
        "value": "v",
        "frequency": 0.1,
        "count": 10.0,
        "noise_error": error,
        "noise_low": 0.0,
        "noise_high": 1.0,
        "standard_error": error,
        "low": 0.0,
        "high": 1.0,
        "consistent": 0.1,
        "gain_up": 0.01,
        "gain_down": 0.01,
        "verdict": verdict,
        "found": None,
    }


def test_verdicts_in_words() -> None:
    assert in_words(row("ok", 0.1), THEME, 100, 0.95) == "clear of 0"
    assert in_words(row("noise", 0.1), THEME, 100, 0.95) == "may be 0"
    # 100 reports give 0.1; 0.02 / 1.96 takes 96.04 times as many: 9,604 in all.
    assert in_words(row("too-few", 0.1), THEME, 100, 0.95) == "too few reports: 9,510 more for ±2 points"
    worst = worst_share(THEME.mechanism)  # nothing is known of the share
    needed = (THEME.mechanism.variance(worst) + worst * (1 - worst)) * (1.96 / 0.02) ** 2
    said = in_words(row("too-few", None), THEME, 0, 0.95)
    assert int(said.split()[3].replace(",", "")) == pytest.approx(needed, rel=0.01)
