"""The panels of strata: one scale, most reports first, and links to each."""

import html
import re
from collections.abc import Iterator

import pytest
from flask.testing import FlaskClient

from dither_server.app import collector_of
from dither_server.dashboard import panels as module
from dither_shared import Metric, parse_metrics
from server.collecting import LAYOUT, METRICS, SPEED, STRATA, collect, collector, problem
from server.dashboard.shown import Page

MANY = parse_metrics(
    '[metrics.many]\ntype = "choice"\nepsilon = 3\nvalues = [{}]\nstrata = {{platform = [{}]}}\n'.format(
        ", ".join(f'"value {number}"' for number in range(30)),
        ", ".join(['"<script>\'&"', *(f'"platform number {number} {"x" * 10}"' for number in range(14))]),
    )
)["many"]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    with collector(tmp_path_factory.mktemp("panels"), metrics=METRICS | STRATA | {"many": MANY}) as app:
        sent: list[tuple[Metric, int, int, object]] = [(SPEED, 0, 400, 2.0), (SPEED, 1, 400, 8.0)]
        sent += [(LAYOUT, place, count, "tabs") for place, count in ((0, 40), (1, 30), (4, 100))]
        sent += [(LAYOUT, 2, 500, "list"), *((MANY, place, 20 + place, f"value {place}") for place in range(16))]
        for metric, place, count, value in sent:
            collect(collector_of(app).store, metric, count, value, stratum=place, seed=bytes([place]))
        yield app.test_client()


def panels(page: str) -> list[str]:
    """The panels of a page, as they are written."""
    found = re.search('<ul class="panels">(.*?)</ul>', page, re.DOTALL)
    return [] if found is None else re.findall("<li>(.*?)</li>", found[1], re.DOTALL)


def headed(page: str) -> list[tuple[str, str]]:
    """The label and the reports of each panel."""
    return [
        (html.unescape(re.findall("<bdi>(.*?)</bdi>", panel)[0]), re.findall("([0-9,]+) reports?<", panel)[0])
        for panel in panels(page)
    ]


def test_each_stratum_has_a_panel_most_reports_first(client: FlaskClient) -> None:
    page = client.get("/m/layout").text
    assert headed(page) == [
        ("windows / stable", "500"),
        ("other / stable", "100"),
        ("linux / stable", "40"),
        ("linux / other", "30"),
    ]
    assert "No reports from windows / other, other / other." in page
    assert "Sent in the clear with each answer: platform (linux, windows or other), channel (stable or other)." in page
    assert '<a href="/m/layout?platform=windows&amp;channel=stable">' in page
    assert 'href="/v1/metrics/layout/estimate?by=platform&amp;by=channel&amp;format=csv"' in page
    assert "Only reports of" not in page


def test_bars_of_all_panels_have_one_scale(client: FlaskClient) -> None:
    answers = client.get("/v1/metrics/layout/estimate?by=platform&by=channel").json
    assert answers is not None
    strata = {" / ".join(one["stratum"].values()): one for one in answers[:-1]}
    page = client.get("/m/layout").text
    for (label, _), panel in zip(headed(page), panels(page), strict=True):
        tabs = strata[label]["values"][0]
        assert [tick.removesuffix("%") for tick in re.findall(r"<span>([0-9.]+%?)</span>", panel)] == ["0", "50", "100"]
        ends = {float(x) for x in re.findall('<rect class="band" x="([0-9.]+)%"', panel)}
        assert round(max(0.0, 100 * tabs["low"]), 2) in ends


def test_panels_of_numbers_are_dots_on_one_scale(client: FlaskClient) -> None:
    page = client.get("/m/speed").text
    assert sorted(headed(page)) == [("linux", "400"), ("windows", "400")]
    places = [[float(x) for x in re.findall('<line class="mark" x1="([0-9.]+)%"', panel)] for panel in panels(page)]
    assert abs(places[0][0] - places[1][0]) > 30  # 2 s and 8 s
    ticks = [re.findall(r"<span>([0-9.]+(?: s)?)</span>", panel) for panel in panels(page)]
    assert ticks[0] == ticks[1]  # the range of the question
    assert ticks[0][-1].endswith(" s")
    assert "95th percentile" in panels(page)[0]


def test_page_of_a_stratum_says_so_and_has_panels_of_the_rest(client: FlaskClient) -> None:
    page = client.get("/m/layout?platform=linux&confidence=0.9").text
    assert "Only reports of platform <strong>linux</strong>" in page
    assert "Based on the 70 reports" in page
    assert '<a href="/m/layout?confidence=0.9">Show all</a>' in page
    assert headed(page) == [("stable", "40"), ("other", "30")]
    assert 'href="/m/layout?confidence=0.9&amp;platform=linux&amp;channel=stable"' in page
    assert 'format=csv&amp;confidence=0.9&amp;platform=linux"' in page
    assert Page(page).count("input", type="hidden", name="platform", value="linux") == 1
    assert panels(client.get("/m/layout?platform=linux&channel=stable").text) == []
    assert panels(client.get("/m/theme").text) == []
    assert "in the clear" not in client.get("/m/theme").text
    assert "No reports yet from this stratum" in client.get("/m/layout?platform=windows&channel=other").text


def test_panels_of_sixteen_strata_with_long_and_hostile_labels(client: FlaskClient) -> None:
    page = client.get("/m/many").text
    assert len(panels(page)) == 16
    assert headed(page)[-1] == ("<script>'&", "20")
    assert "<script>'" not in page
    assert re.search("platform=%3Cscript%3E(%27|&#39;)%26", page)
    names = {tuple(re.findall('<th scope="row"><bdi>(.*?)</bdi>', panel)) for panel in panels(page)}
    assert [len(one) for one in names] == [5]  # the same values in each, the most frequent


def test_panels_show_only_reports_if_estimates_cost_too_much(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_WORK", 3)
    page = client.get("/m/layout").text
    assert headed(page)[0] == ("windows / stable", "500")
    assert "<table" not in "".join(panels(page))


def test_strata_that_no_page_shows_are_refused(client: FlaskClient) -> None:
    for url in ("/?platform=linux", "/m/theme?platform=linux", "/m/layout?platform=amiga", "/m/layout?by=platform"):
        assert problem(client.get(url)) == (400, "parameter"), url
