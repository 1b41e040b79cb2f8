"""The pages of active devices and of retention: what they say of a small fleet, and what without one."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from dither_server.app import collector_of
from dither_shared import parse_metrics
from server.collecting import KEPT, METRICS, MOBILE, THEME, TODAY, collect, collector
from server.dashboard.shown import Page

AT = TODAY + timedelta(days=4)  # a Tuesday


@pytest.fixture(scope="module")
def devices(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    """A collector to which 900 devices came in the week before last, and 300 of them in the last one."""
    with collector(tmp_path_factory.mktemp("devices"), metrics=METRICS | {"kept": KEPT}, today=lambda: AT) as app:
        for metric, count, value, ago in (
            (KEPT, 900, "0", 14), (KEPT, 300, "1", 7), (THEME, 900, "dark", 14), (THEME, 300, "dark", 7),
            (THEME, 1, "dark", 0),
        ):  # fmt: skip
            collect(collector_of(app).store, metric, count, value, day=AT - timedelta(days=ago))
        yield app.test_client()


def test_page_of_active_devices_counts_and_says_what_is_counted(devices: FlaskClient) -> None:
    read = Page(devices.get("/active").text)
    assert read.count("h1") == 1
    assert "300 devices on 2026-11-17; 1 device so far on 2026-11-24" in read.words
    assert read.count("a", href=f"/m/{THEME.name}") == 1 + 1  # in the list of questions, too
    assert read.count("figure", **{"aria-label": "Devices of theme per day"}) == 1
    assert "Weekly" not in read.words
    assert "how many weeks" not in read.text.partition("What is counted")[0].lower().partition("daily")[2]
    assert "A person with two devices counts twice" in read.words
    assert read.count("a", href="/v1/active?format=csv") == 1
    few = Page(devices.get("/active?since=2026-11-18").text)
    assert "1 device so far on 2026-11-24" in few.words
    assert few.count("a", href="/v1/active?format=csv&since=2026-11-18") == 1


def test_page_of_retention_draws_a_curve_with_a_band(devices: FlaskClient) -> None:
    read = Page(devices.get("/retention").text)
    assert read.count("polygon") == read.count("polyline") == 1
    assert read.attributes("data", "value")[0] == "1.0"
    assert "1,200 reports of whole weeks, 2026-11-09 to 2026-11-22" in read.words
    assert "not yet" in read.words  # nobody is in the fourth week
    assert read.count("a", href="/v1/metrics/kept/retention?format=json") == 1
    assert "noise of both numbers" in read.words


def test_pages_without_anything_to_draw_say_what_would_give_it(tmp_path: Path) -> None:
    with collector(tmp_path, metrics={"mobile": MOBILE}) as app:
        assert "No reports yet. Every metric with" in Page(app.test_client().get("/active").text).words
        assert "No metric asks for it." in Page(app.test_client().get("/retention").text).words
    with collector(tmp_path, metrics={"kept": KEPT}) as app:
        read = Page(app.test_client().get("/retention").text)
        assert read.count("svg") == 0
        assert read.words.count("not yet") == len(KEPT.labels)


def test_metric_whose_mechanism_has_no_retention_is_left_out(tmp_path: Path) -> None:
    text = 'values = ["0", "1", "2"]\nof = "weeks-since-first-use"\nperiod = "week"\nmechanism = "bit-flip"\nbits = 2\n'
    metrics = parse_metrics(f'[metrics.part]\ntype = "choice"\nepsilon = 2.0\n{text}') | {"kept": KEPT}
    with collector(tmp_path, metrics=metrics) as app:
        read = Page(app.test_client().get("/retention").text)
    assert [name for name in ("part", "kept") if f"retention-{name}" in read.ids] == ["kept"]


def test_every_page_links_to_devices_and_retention(devices: FlaskClient) -> None:
    for path in ("/", "/m/theme", "/active", "/retention", "/m/nothing"):
        read = Page(devices.get(path, headers={"Accept": "text/html"}).text)
        assert read.count("a", href="/active") >= 1 <= read.count("a", href="/retention")
        assert read.count("a", **{"aria-current": "page"}) == (path in {"/m/theme", "/active", "/retention"})


def test_pages_refuse_unknown_parameters(devices: FlaskClient) -> None:
    for query in ("since=1", "values=dark", "since=2026-11-20&until=2026-11-01", "platform=linux"):
        assert devices.get(f"/active?{query}").status_code == devices.get(f"/retention?{query}").status_code == 400
