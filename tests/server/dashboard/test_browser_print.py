"""The pages on paper: every chart and every table."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from dither_server.app import collector_of
from server.browser import Page
from server.dashboard.shown import filled
from server.dashboard.test_browser import served

SEEN = """[...document.querySelectorAll(%r)].every((one) =>
    one.checkVisibility({contentVisibilityAuto: true, visibilityProperty: true})
    && one.getBoundingClientRect().height > 0)"""
DAYS = ("2026-11-20", "2026-11-21", "2026-11-24")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    app = filled(tmp_path_factory.mktemp("site"))
    with closing(collector_of(app)), served(app) as url:
        yield url


@pytest.mark.parametrize(
    "path", [pytest.param("/", marks=pytest.mark.slow), "/m/theme", pytest.param("/m/wide", marks=pytest.mark.slow)]
)
def test_every_chart_and_table_is_printed(tab: Page, site: str, path: str) -> None:
    tab.look(1000, dark=True)
    tab.open(site + path)
    tab.call("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    tab.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    for selector in ("table", ".plot svg", ".drawn svg", "td", "figcaption", ".method li"):
        assert tab.run(SEEN % selector), selector
    assert not tab.run(
        "[...document.querySelectorAll('form, nav, figure summary')].some((one) => one.checkVisibility())"
    )
    assert tab.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    tab.call("Emulation.setEmulatedMedia", media="")


@pytest.mark.slow  # the test above covers the page; this one looks at the paper
@pytest.mark.skipif(shutil.which("pdftoppm") is None, reason="no pdftoppm here: apt-get install poppler-utils")
def test_a_page_that_is_saved_as_pdf_is_whole(tab: Page, site: str, tmp_path: Path) -> None:
    tab.look(1280, dark=True)
    tab.open(f"{site}/m/theme")
    tab.pdf(tmp_path / "page.pdf")
    text = subprocess.run(
        ["pdftotext", "-layout", tmp_path / "page.pdf", "-"], capture_output=True, text=True, check=True
    )
    for day in DAYS:
        assert text.stdout.count(f"{day} ") >= 1 + 1, day  # its reports, and the one value that is there
    assert "too few" not in text.stdout
    assert "under " in text.stdout
    subprocess.run(["pdftoppm", "-r", "40", tmp_path / "page.pdf", tmp_path / "page"], check=True)
    blue = sum(_blue(path) for path in tmp_path.glob("page-*.ppm"))
    assert blue > 2000  # bars of shares and of days: some square centimetres at 40 dots an inch


def _blue(path: Path) -> int:
    """How many dots of a picture have the colour of a bar."""
    kind, size, depth, dots = path.read_bytes().split(b"\n", 3)
    assert (kind, depth) == (b"P6", b"255")
    width, height = map(int, size.split())
    dots_of = np.frombuffer(dots, dtype=np.uint8).reshape(height, width, 3).astype(int)
    return int((np.abs(dots_of - (0x00, 0x72, 0xB2)).sum(axis=2) < 12).sum())
