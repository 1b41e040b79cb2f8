"""Pages about a number: drawings of any grid, and no scripts."""

from collections.abc import Iterator
from datetime import timedelta

import numpy as np
import pytest
from flask import Flask

from dither_server.app import collector_of
from dither_server.reading.query import Query
from dither_server.reading.summaries.number_view import NumberView
from dither_server.reading.summaries.numbers import Numbers
from dither_server.reading.summaries.terminal_text import number_text
from dither_server.reading.summaries.view import PageRequest
from dither_shared import Metric, parse_metrics
from server.collecting import TODAY, collect, collector
from server.dashboard.shown import Page

from .number_surveys import COARSE, FINE, LINEAR, LOG, PERMANENT, TABLE, drawn, hill, survey

TOML = """
[metrics.hostile]
description = "<script>alert(1)</script>"
type = "number"
low = 0
high = 10
unit = "<img src=x onerror=a(2)>"
epsilon = 2.0
"""
for NAME, SCALE in (("one", "false"), ("day", "true"), ("none", "false")):
    TOML += f'[metrics.{NAME}]\ntype = "number"\nlow = 0.5\nhigh = 10.0\nlog = {SCALE}\nepsilon = 2.0\n'
METRICS = parse_metrics(TOML)
HOSTILE = METRICS["hostile"]


def view_of(metric: Metric, reports: int) -> NumberView:
    tally = drawn(metric, hill(metric, 0.4), reports, np.random.default_rng(reports))
    return Numbers().view(survey(metric, tally), Query(), PageRequest("", 1, 10))


def numbers_of(points: str) -> np.ndarray:
    return np.array([[float(number) for number in pair.split(",")] for pair in points.split()])


@pytest.mark.parametrize("metric", [LINEAR, LOG, PERMANENT, TABLE, COARSE, FINE])
def test_drawings_stay_in_their_frame(metric: Metric) -> None:
    for reports in (1, 10**4, 10**9):
        shown = view_of(metric, reports)
        for points in (shown.curve, shown.band):
            coordinates = numbers_of(points)
            assert (coordinates >= 0).all(), reports
            assert (coordinates <= [600, 80]).all(), reports
        assert (np.diff(numbers_of(shown.curve)[:, 1]) <= 0).all()  # the curve rises
        assert sum(bar.share for bar in shown.bars) == pytest.approx(1)
        assert [bar.low for bar in shown.bars][1:] == [bar.high for bar in shown.bars][:-1]
        assert len(shown.bars) == min(20, (metric.mechanism.size or 0) - 1)
        assert all(0 <= mark.left <= mark.x <= mark.right <= 600 for mark in shown.marks)
        assert [mark.name for mark in shown.marks] == ["median", "95th percentile"]
        ends = metric.question.low, metric.question.high  # type: ignore[attr-defined]
        labels = shown.ticks(4)
        assert len(labels) == 5
        assert "" not in labels or len(labels[-1]) > 5  # those that would overlap on a phone are left out
        assert (labels[0], labels[-1].split()[0]) == tuple(map(number_text, ends))
        assert all(
            0 <= end <= 1 for point in shown.points() for end in (point.at, point.low, point.high) if end is not None
        )


def test_bars_of_the_shape_hold_the_shares_of_their_ranges() -> None:
    bars = view_of(LINEAR, 10**9).bars
    shares = np.append(0, np.cumsum(hill(LINEAR, 0.4)))
    middle = np.interp([0.35 * 128 + 0.5, 0.45 * 128 + 0.5], np.arange(130), shares)
    assert sum(bar.share for bar in bars if 3.4 < bar.low < 4.4) == pytest.approx(middle[1] - middle[0], abs=0.02)


def test_reports_needed_know_the_mean_to_a_hundredth() -> None:
    needed = int(view_of(LINEAR, 0).needs.split()[1].replace(",", ""))
    even = np.full(LINEAR.mechanism.size or 0, 1 / (LINEAR.mechanism.size or 1))
    tally = drawn(LINEAR, even, needed, np.random.default_rng(1))
    mean = Numbers().table(survey(LINEAR, tally), Query()).about["mean"]
    assert 0.08 < (mean["high"] - mean["low"]) / 2 <= 0.1, "0.1 for answers at the ends"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    with collector(tmp_path_factory.mktemp("numbers"), metrics=METRICS) as app:
        store = collector_of(app).store
        for ago in (0, 2, 4):
            collect(store, HOSTILE, 300, 4, day=TODAY - timedelta(days=ago), seed=b"%d" % ago)
        for name, count in (("one", 1), ("day", 500)):
            collect(store, METRICS[name], count, 2)
        yield app


def test_pages_of_no_report_one_report_one_day_and_several_days(app: Flask) -> None:
    client = app.test_client()
    front = client.get("/").text
    assert "for a mean within 1% of the range" in front
    assert "geometric mean" in front
    assert "No reports yet" in client.get("/m/none").text
    single = client.get("/m/one").text
    assert "1 report: too few to say anything." in single
    assert "over days" not in single
    day = client.get("/m/day").text
    assert "The mean is geometric" in day
    assert "Reports per day" not in day
    days = client.get("/m/hostile").text
    assert [f"{name} over days" in days for name in ("mean", "median", "95th percentile")] == [True] * 3
    read = Page(days)
    assert read.count("polygon") == read.count("polyline") == 4  # the curve with its band, and the courses
    assert read.count("details") >= 4  # every drawing is a table, too
    for page in (single, day, days):
        assert "nan" not in page.casefold().replace("finance", "")
        assert "None" not in page


def test_page_escapes_markup_of_a_hostile_definition(app: Flask) -> None:
    for path in ("/", "/m/hostile"):
        text = app.test_client().get(path).text
        page = Page(text)
        assert "&lt;img src=x onerror=a(2)&gt;" in text
        assert page.count("img", src="x") == 0
        assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
        assert "<script>alert" not in text


def test_links_of_a_number_page_can_be_followed(app: Flask) -> None:
    client = app.test_client()
    page = Page(client.get("/m/hostile?since=2026-11-16&confidence=0.9").text)
    links = [attributes["href"] for tag, attributes in page.elements if tag == "a"]
    assert len(links) > 4
    for link in links:
        assert client.get(str(link)).status_code == 200
