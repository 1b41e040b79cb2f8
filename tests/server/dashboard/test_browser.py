"""The pages in a real browser: charts where scripts run, whole pages where they do not, and never a complaint.

What test_pages.py asserts of the HTML, too, is slow here: a page takes a browser a second.
"""

import json
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import pytest
from werkzeug import Response
from werkzeug.serving import make_server

from dither_server.app import collector_of
from dither_server.dashboard import pages
from server.browser import Page
from server.collecting import THEME
from server.dashboard.shown import HOSTILE, filled

SCROLL = """(async () => {
    for (let y = 0; y <= document.body.scrollHeight; y += 400) {
        scrollTo(0, y);
        await new Promise((done) => setTimeout(done, 20));
    }
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
})()"""
CONTRAST = """(() => {
    const luminance = (colour) => {
        const [r, g, b] = colour.match(/[\\d.]+/g).slice(0, 3).map((c) => c / 255)
            .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const paper = luminance(getComputedStyle(document.body).backgroundColor);
    const texts = [...document.querySelectorAll("h1, h2, p, a, td, th, label, button, summary, figcaption, li")];
    return Math.min(...texts.filter((text) => !text.closest(".warning")).map((text) => {
        const ink = luminance(getComputedStyle(text).color);
        return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    }));
})()"""
BESIDE = """(() => {
    const tick = document.querySelectorAll("[data-chart=bars] .ytick text")[%d].getBoundingClientRect();
    const plot = document.querySelector("[data-chart=bars] .nsewdrag").getBoundingClientRect();
    return [plot.x + plot.width / 2, tick.y + tick.height / 2];
})()"""
HOVERED = """new Promise((done) => {
    const look = () => {
        const text = document.querySelector(".hoverlayer").textContent;
        text.includes(%s) ? done(text) : requestAnimationFrame(look);
    };
    look();
})"""
INKED = """new Promise((done) => {
    const look = () => {
        const ink = getComputedStyle(document.querySelector(".plot .ytick text")).fill;
        ink === "%s" ? done(true) : requestAnimationFrame(look);
    };
    look();
})"""
NAMELESS = """[...document.querySelectorAll("input:not([type=hidden]), button, a, summary, figure, [role=img]")]
    .filter((one) => !(one.ariaLabel || one.labels?.length || one.textContent.trim())).map((one) => one.outerHTML)"""


@contextmanager
def served(app: WSGIApplication) -> Iterator[str]:
    """Yield the URL of an app, which is served by this process meanwhile."""
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a collector in this process."""
    app = filled(tmp_path_factory.mktemp("site"))
    with closing(collector_of(app)), served(app) as url:
        yield url


@pytest.fixture
def url(site: str, tab: Page) -> Iterator[str]:
    """The same, of which the browser must not complain meanwhile."""
    tab.complaints.clear()
    yield site
    tab.open("about:blank")
    assert tab.complaints == []


def count(tab: Page, selector: str) -> Any:
    return tab.run(f"document.querySelectorAll({selector!r}).length")


@pytest.mark.parametrize(("width", "dark"), [(1000, False), pytest.param(390, True, marks=pytest.mark.slow)])
def test_charts_take_the_place_of_tables(tab: Page, url: str, width: int, dark: bool) -> None:
    tab.look(width, dark=dark)
    for path, bars, rest in (("/", 4, 3), ("/m/theme", 1, 1 + len(THEME.labels)), ("/m/wide", 1, 1 + 12)):
        tables = bars if width == 390 else 0  # on a phone
        tab.open(url + path)
        tab.run(SCROLL)
        assert count(tab, ".plot .main-svg") > 0
        assert count(tab, "figure") == bars + rest
        assert count(tab, ".plot[data-drawn]") == bars + rest - tables
        assert count(tab, "details[open]") == count(tab, "[data-chart=bars] details[open]") == tables
        assert tab.run("document.documentElement.scrollWidth") == width
        assert tab.run(CONTRAST) >= 4.5  # WCAG 2.2, level AA
        assert tab.run(NAMELESS) == []
        assert count(tab, "h1") == 1
    assert tab.run("getComputedStyle(document.body).backgroundColor") == (
        "rgb(20, 23, 27)" if dark else "rgb(255, 255, 255)"
    )


@pytest.mark.parametrize("width", [pytest.param(1000, marks=pytest.mark.slow), 390])
def test_without_script_tables_hold_bars(tab: Page, url: str, width: int) -> None:
    tab.look(width, script=False)
    for path in ("/", "/m/theme"):
        tab.open(url + path)
        assert count(tab, ".plot .main-svg") == 0
        assert tab.run("[...document.querySelectorAll('.values')].every((table) => table.offsetHeight > 0)")
        assert tab.run("document.querySelector('.values .bar').getBoundingClientRect().height") > 0
        assert tab.run("document.documentElement.scrollWidth") == width


@pytest.mark.slow
def test_charts_follow_the_colours_and_the_width_of_the_page(tab: Page, url: str) -> None:
    tab.look(1000)
    tab.open(f"{url}/m/theme")
    tab.run(SCROLL)
    tab.look(390, dark=True)
    assert tab.run(INKED % "rgb(232, 234, 237)")
    assert count(tab, ".plot .point path") > 0
    tab.run(SCROLL)
    assert tab.run("document.documentElement.scrollWidth") == 390
    assert count(tab, "[data-chart=bars] .main-svg") == 0  # the table, with its bars, is the chart of a phone
    assert count(tab, "[data-chart=bars] details[open]") == 1
    tab.look(1000)  # it is turned
    tab.run(SCROLL)
    assert count(tab, "[data-chart=bars] .main-svg") > 0
    assert count(tab, "[data-chart=bars] details[open]") == 0


@pytest.mark.slow
def test_without_plotly_there_is_no_complaint(tab: Page, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "bundle", lambda: None)
    tab.look(1000)
    tab.open(f"{url}/m/theme")
    assert count(tab, "details[open]") == 1


@pytest.mark.slow
def test_if_plotly_does_not_arrive_tables_stay(tab: Page, site: str) -> None:
    tab.look(1000)
    tab.call("Network.setCacheDisabled", cacheDisabled=True)
    tab.call("Network.setBlockedURLs", urls=["*plotly.js*"])
    tab.open(f"{site}/m/theme")
    tab.call("Network.setBlockedURLs", urls=[])
    assert tab.run("typeof Plotly") == "undefined"
    assert count(tab, "details[open]") == 1
    assert not [one for one in tab.complaints if "ERR_BLOCKED" not in one]


def test_hostile_labels_are_text(tab: Page, url: str) -> None:
    tab.look(1000)
    tab.open(f"{url}/m/hostile")
    tab.run(SCROLL)
    ticks = "[...document.querySelectorAll('[data-chart=bars] .ytick text')]"
    assert tab.run(f"{ticks}.map((tick) => tick.textContent)") == list(HOSTILE.labels)
    tab.run("scrollTo(0, 0)")
    for place, label in enumerate(HOSTILE.labels):
        tab.move(*tab.run(BESIDE % place))
        assert "interval" in tab.run(HOVERED % json.dumps(label))
    assert count(tab, "svg a, svg image, .plot img, iframe, object") == 0


@pytest.mark.slow
def test_a_reader_finds_values_and_days_by_keyboard(tab: Page, url: str) -> None:
    tab.look(1000)
    tab.open(f"{url}/m/wide")
    tab.run("document.querySelector('input[name=find]').focus()")
    tab.write("plugin 99")
    tab.enter()
    assert tab.run("location.search") == "?since=&until=&find=plugin+99&simultaneous=true"
    assert count(tab, ".values tbody tr") == 10


@pytest.mark.slow
def test_a_problem_is_a_page(tab: Page, site: str) -> None:
    tab.look(390, dark=True)
    tab.complaints.clear()
    tab.open(f"{site}/m/nothing")
    assert tab.run("document.querySelector('h1').textContent") == "No such metric"
    assert tab.run(CONTRAST) >= 4.5
    assert [complaint for complaint in tab.complaints if "404" not in complaint] == []


@pytest.mark.slow
def test_the_printed_address_opens_the_pages_and_other_ports_nothing(tab: Page, tmp_path: Path) -> None:
    app, asked = filled(tmp_path, open=frozenset()), []

    def watched(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        def told(status: str, headers: list[tuple[str, str]], *error: Any) -> Any:
            asked.append((environ["PATH_INFO"], int(status[:3]), "HTTP_COOKIE" in environ))
            return start(status, headers, *error)

        return app(environ, told)

    tab.look()
    with closing(collector_of(app)) as collector, served(watched) as url, served(Response("nothing")) as other:
        token = collector.gatekeeper.draw_local_token(8000).token
        tab.complaints.clear()
        tab.open(f"{url}/m/theme?token={token}&confidence=0.9")
        assert tab.run("[location.href, document.cookie, document.referrer]") == [
            f"{url}/m/theme?confidence=0.9", "", ""
        ]  # fmt: skip
        tab.run(SCROLL)
        assert count(tab, ".js-plotly-plot") == 2 + len(THEME.labels)
        tab.open(url)
        assert tab.complaints == []
        asked.clear()
        tab.open(other)
        for mode in ("no-cors", "cors"):
            ask = f"fetch('{url}/v1/metrics', {{credentials: 'include', mode: '{mode}'}}).then(() => 1, () => 0)"
            tab.run(ask)
        assert asked == [("/v1/metrics", 401, True)] * 2  # the cookie came along, and was not enough
    tab.complaints.clear()
