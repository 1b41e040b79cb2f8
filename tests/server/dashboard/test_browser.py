"""The pages in a real browser and on paper: they fit, can be read, and never cause a complaint.

What test_pages.py asserts of the HTML, too, is slow here: a page takes a browser a second.
"""

import re
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
from server.browser import Page
from server.collecting import THEME
from server.dashboard.shown import filled

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
NAMELESS = """[...document.querySelectorAll("input:not([type=hidden]), button, a, summary, figure, [role=img]")]
    .filter((one) => !(one.ariaLabel || one.labels?.length || one.textContent.trim())).map((one) => one.outerHTML)"""

SEEN = """[...document.querySelectorAll(%r)].every((one) =>
    one.checkVisibility({contentVisibilityAuto: true, visibilityProperty: true})
    && one.getBoundingClientRect().height > 0)"""


@contextmanager
def served(app: WSGIApplication) -> Iterator[str]:
    """Serve an app from this process, and yield its URL."""
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
    """The same, about which the browser must not complain."""
    tab.complaints.clear()
    yield site
    tab.open("about:blank")
    assert tab.complaints == []


def count(tab: Page, selector: str) -> Any:
    return tab.run(f"document.querySelectorAll({selector!r}).length")


@pytest.mark.parametrize(("width", "dark"), [(1000, False), pytest.param(390, True, marks=pytest.mark.slow)])
def test_pages_fit_and_can_be_read_without_complaints(tab: Page, url: str, width: int, dark: bool) -> None:
    tab.look(width, dark=dark)
    for path, figures in (("/", 0), ("/m/theme", 1 + 1), ("/m/wide", 1 + 10)):
        tab.open(url + path)
        assert count(tab, "figure") == figures
        assert tab.run(
            "[...document.querySelectorAll('main > table, article table')].every((one) => one.offsetHeight > 0)"
        )
        assert tab.run("document.querySelector('.drawn .band').getBoundingClientRect().height") > 0
        tab.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert tab.run("document.documentElement.scrollWidth") == width
        assert tab.run(CONTRAST) >= 4.5  # WCAG 2.2, level AA
        assert tab.run(NAMELESS) == []
        assert count(tab, "h1") == 1
    assert tab.run("getComputedStyle(document.body).backgroundColor") == (
        "rgb(20, 23, 27)" if dark else "rgb(255, 255, 255)"
    )


def test_charts_show_their_numbers_under_the_pointer(tab: Page, url: str) -> None:
    tab.look(1000)
    tab.open(f"{url}/m/theme")
    titles = "[...document.querySelectorAll(%r)].map((one) => one.textContent.trim())"
    assert tab.run(titles % ".days title") == ["2026-11-20: 300", "2026-11-21: 600", "2026-11-24: 1,500"]
    bars = tab.run(titles % ".values title")
    assert len(bars) == len(THEME.labels)
    assert all(re.fullmatch(r".*% ± [\d.]+|(under|over) .*%", bar) for bar in bars)
    steps = tab.run(titles % ".line title")
    assert len(steps) == 3
    assert all(re.fullmatch(r"2026-11-2[014]: .*%, interval .* to .*%", step) for step in steps)
    place = "(() => { const one = document.querySelectorAll('.line .step')[1].getBoundingClientRect();"
    x, y = tab.run(f"{place} return [one.x + one.width / 2, one.y + one.height / 2]; }})()")
    tab.run(f"scrollTo(0, {y} - 300)")
    under = tab.run(f"document.elementFromPoint({x}, {y} - scrollY).textContent.trim()")
    assert under == steps[1]  # nothing lies above it


@pytest.mark.parametrize(
    "path", ["/m/theme", *(pytest.param(path, marks=pytest.mark.slow) for path in ("/", "/m/wide"))]
)
def test_every_chart_and_table_is_printed(tab: Page, url: str, path: str) -> None:
    tab.look(1000, dark=True)
    tab.open(url + path)
    tab.call("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    tab.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    for selector in ("table", ".plot svg", ".drawn svg", "td", "figcaption", ".method li"):
        assert tab.run(SEEN % selector), selector
    assert not tab.run(
        "[...document.querySelectorAll('form, nav, figure summary')].some((one) => one.checkVisibility())"
    )
    assert tab.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    tab.call("Emulation.setEmulatedMedia", media="")


@pytest.mark.slow
def test_printed_address_opens_the_pages_and_its_cookie_no_other_port(tab: Page, tmp_path: Path) -> None:
    app, asked = filled(tmp_path, open=frozenset()), []

    def watched(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        def noted(status: str, headers: list[tuple[str, str]], *error: Any) -> Any:
            asked.append((environ["PATH_INFO"], int(status[:3]), "HTTP_COOKIE" in environ))
            return start(status, headers, *error)

        return app(environ, noted)

    tab.look()
    with closing(collector_of(app)) as collector, served(watched) as url, served(Response("nothing")) as other:
        token = collector.gatekeeper.draw_local_token(8000).token
        tab.complaints.clear()
        tab.open(f"{url}/m/theme?token={token}&confidence=0.9")
        assert tab.run("[location.href, document.cookie, document.referrer]") == [
            f"{url}/m/theme?confidence=0.9", "", ""
        ]  # fmt: skip
        assert count(tab, "figure") == 1 + 1
        tab.open(url)
        assert tab.complaints == []
        asked.clear()
        tab.open(other)
        for mode in ("no-cors", "cors"):
            ask = f"fetch('{url}/v1/metrics', {{credentials: 'include', mode: '{mode}'}}).then(() => 1, () => 0)"
            tab.run(ask)
        assert asked == [("/v1/metrics", 401, True)] * 2  # the cookie came along, and was not enough
    tab.complaints.clear()
