"""The report: one file, complete, that loads nothing, and goes on where it stopped."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dither_simulations.cli import main
from dither_simulations.experiments.report.sections import SECTIONS
from server.browser import WHY_NOT, browser


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the commands: what is tested is the page."""
    quick = {"error": ("--repeats", "1", "-k", "4", "--epsilon", "1,2"), "plan": ()}
    sections = [replace(section, quick=quick.get(section.name, section.quick)) for section in SECTIONS]
    monkeypatch.setattr("dither_simulations.experiments.report.command.SECTIONS", sections)


def report(folder: Path, *arguments: str) -> Result:
    only = ("--only", "error", "--only", "plan")
    return CliRunner().invoke(main, ["report", "--quick", *only, "--out", str(folder / "r.html"), *arguments])


class Links(HTMLParser):
    """Collects what a page refers to."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        assert tag not in {"script", "link", "iframe"}
        self.found += [value or "" for name, value in attributes if name in {"src", "href", "srcset", "data"}]


def test_the_page_holds_all_that_it_shows(tmp_path: Path) -> None:
    result = report(tmp_path, "--seed", "7")
    assert result.exit_code == 0, result.output
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    links = Links()
    links.feed(page)
    assert links.found
    assert all(link.startswith(("#", "data:image/svg+xml;base64,", "data:text/csv;base64,")) for link in links.found)
    assert "url(" not in page
    assert "Seed 7" in page
    for package in ("Python", "numpy", "dither"):
        assert re.search(rf"{package} \d+\.\d+", page)
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]


def test_a_sections_command_makes_its_data_again(tmp_path: Path) -> None:
    told = report(tmp_path, "--json", "--seed", "7")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    (command,) = re.findall(r'<pre class="command">dither-sim (error [^<]*)</pre>', page)
    words = command.split()[: command.split().index("--plot")]
    again = CliRunner().invoke(main, [*words, "--json"])
    assert json.loads(again.stdout) == json.loads(told.stdout)["error"]


def test_what_is_finished_is_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> bytes:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("dither_simulations.experiments.report.page.page", interrupted)
        assert report(tmp_path).exit_code == 1
    made = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "r.html.parts").iterdir()}
    assert set(made) == {"error.json", "error.svg", "error.txt", "plan.json", "plan.txt"}
    (tmp_path / "r.html.parts" / "error.json").write_text('[{"mechanism": "kept"}]', encoding="utf-8")
    assert json.loads(report(tmp_path, "--json").stdout)["error"] == [{"mechanism": "kept"}]


def test_every_section_is_a_command_of_its_own() -> None:
    assert len({section.name for section in SECTIONS}) == len(SECTIONS)
    for section in SECTIONS:
        name = section.words[0]
        assert name in main.commands, name


@pytest.mark.parametrize("dark", [pytest.param(False, marks=pytest.mark.slow), True])
def test_the_page_is_dark_where_the_reader_wants_that(tmp_path: Path, dark: bool) -> None:
    report(tmp_path)
    with browser(tmp_path / "profile") as tab:
        if tab is None:
            pytest.skip(WHY_NOT)
        tab.look(390, dark=dark)
        tab.open((tmp_path / "r.html").as_uri())
        paper, ink = tab.run(
            "(({backgroundColor, color}) => [backgroundColor, color])(getComputedStyle(document.body))"
        )
        assert (paper, ink) == (
            ("rgb(19, 19, 19)", "rgb(235, 235, 235)") if dark else ("rgb(255, 255, 255)", "rgb(26, 26, 26)")
        )
        assert (tab.run("getComputedStyle(document.querySelector('img')).filter") != "none") == dark
        assert tab.run("document.documentElement.scrollWidth") == 390
        assert tab.complaints == []
        light = [{"name": "prefers-color-scheme", "value": "dark"}]
        tab.call("Emulation.setEmulatedMedia", media="print", features=light)  # paper is white
        assert tab.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert tab.run("getComputedStyle(document.querySelector('img')).filter") == "none"
