"""Answers about a number on a terminal."""

from datetime import timedelta

import numpy as np
import pytest

from dither_server.analysis.trend import TrendStep, finished
from dither_server.reading.query import Comparison, Query, TrendQuery
from dither_server.reading.summaries.numbers.summary import Numbers
from dither_server.reading.summaries.numbers.text import number_text
from dither_shared import Metric
from dither_shared.counted import counted
from server.collecting import TODAY

from .surveys import ESTIMATOR, LINEAR, LOG, TABLE, drawn, hill, nothing, survey

NUMBERS = Numbers()


@pytest.mark.parametrize(("number", "text"), [(None, "-"), (0.0, "0"), (1234567.0, "1,234,567"), (-0.01234, "-0.0123")])
def test_three_digits_count(number: float | None, text: str) -> None:
    assert number_text(number) == text


@pytest.mark.parametrize("one", [LINEAR, LOG, TABLE])
@pytest.mark.parametrize("reports", [0, 1, 100_000])
def test_an_answer(one: Metric, reports: int) -> None:
    tally = drawn(one, hill(one, 0.5), reports, np.random.default_rng(1))
    told = NUMBERS.table(survey(one, tally), Query(), ESTIMATOR).whole()
    before, rows, after, *_ = NUMBERS.text(told)
    assert f" {counted(reports, 'report')}," in before[0]
    assert ("log scale" in before[2]) == (one is LOG)
    assert rows[0][1] == ("value" if one is TABLE else "s")
    assert rows[1][0] == ("geometric mean" if one is LOG else "mean")
    assert [row[0] for row in rows[2:]] == ["p5", "p25", "p50", "p75", "p90", "p95", "p99"]
    assert len({len(row) for row in rows}) == 1
    half = (told["mean"]["standard_error"] or 0) * 1.959964
    assert rows[1][2] == (number_text(half) if reports else "-")
    assert any("were forged" in line for line in after) == (reports > 0)
    assert not reports or any("At the low end or beyond: " in line for line in after)


def test_a_comparison() -> None:
    rng = np.random.default_rng(2)
    sides = [survey(LINEAR, drawn(LINEAR, hill(LINEAR, 0.5), 1000, rng)), survey(LINEAR, nothing(LINEAR))]
    asked = Comparison(change=0.02)
    before, rows, *_ = NUMBERS.compared_text(NUMBERS.compare((sides[0], sides[0]), asked, ESTIMATOR).whole())
    assert "1,000 reports" in before[0]
    assert [row[0] for row in rows[1:]] == ["mean", "p50", "p95"]
    assert "no change seen; 2% of the range takes" in rows[1][-1]
    _, rows, *_ = NUMBERS.compared_text(NUMBERS.compare((sides[0], sides[1]), asked, ESTIMATOR).whole())
    assert rows[1][2:] == ("-", "-", "-", "no reports on one side")


@pytest.mark.parametrize("days", [0, 1, 4])
def test_a_course(days: int) -> None:
    rng = np.random.default_rng(3)
    tallies = [drawn(LINEAR, hill(LINEAR, 0.2 + 0.1 * day), 10_000, rng) for day in range(days)]
    dates = [TODAY + timedelta(days=day) for day in range(days)]
    steps = [
        TrendStep(day, day, ESTIMATOR(LINEAR, (), tally, 0.95, False))
        for day, tally in zip(dates, tallies, strict=True)
    ]
    told = finished(NUMBERS.trend(LINEAR, days, steps, TrendQuery(), None)).whole()
    before, rows, *_ = NUMBERS.trend_text(told)
    assert f" {counted(days, 'step')}, {10_000 * days:,} reports" in before[0]
    assert rows[0][3] == "slope, s per day"
    assert [row[-1] for row in rows[1:]] == ["drifts" if days == 4 else "not tested", "not tested", "not tested"]
