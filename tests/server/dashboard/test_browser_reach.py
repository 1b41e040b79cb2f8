"""The pages for everyone: on a phone, by keyboard alone, with long values, and by the rules that axe-core checks."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from dither_server.app import collector_of
from dither_shared import parse_metrics
from server.browser import Page
from server.collecting import KEPT, METRICS, TODAY, VERSION, collect, collector
from server.dashboard.shown import MANY_METRICS, SHOWN, filled
from server.dashboard.test_browser import served

AXE = "axe-core@4.10.3"
EXAMPLE = Path(__file__).parents[3] / "docs/published/answers"
"""A published site with a question of most kinds."""
ALIKE = "a-build-with-a-long-name-and-no-spaces-" * 40
LONG = parse_metrics(f"""
[metrics.long]
type = "choice"
values = ["{ALIKE}1", "{ALIKE}2", "short"]
epsilon = 3.0
""")["long"]
CHOSEN = parse_metrics(f"""
[metrics.chosen]
type = "selection"
values = ["{ALIKE}1", "{ALIKE}2", "<b>short</b>", "plain"]
epsilon = 5.0
""")["chosen"]
BEHIND = parse_metrics("""
[metrics.behind]
type = "number"
low = 0
high = 64
unit = "versions"
epsilon = 2.0
""")["behind"]
NUMBERED = """[...document.querySelectorAll("a[href], input:not([type=hidden]), select, button, summary")]
    .filter((one) => one.checkVisibility()).map((one, place) => { one.dataset.place = place; return place; }).length"""
FOCUSED = """(() => {
    const one = document.activeElement, style = getComputedStyle(one);
    return [Number(one.dataset.place ?? -1), style.outlineStyle !== "none" && style.outlineWidth === "2px"];
})()"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    app = filled(tmp_path_factory.mktemp("site"), metrics=SHOWN | {"kept": KEPT})
    store = collector_of(app).store
    collect(store, VERSION, 2000, "1.0")
    for back, weeks in ((21, "0"), (14, "1")):
        collect(store, KEPT, 500, weeks, day=TODAY - timedelta(days=back))
    with closing(collector_of(app)), served(app) as url:
        yield url


@pytest.fixture(scope="module")
def long_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A collector of long values, and of many metrics."""
    metrics = METRICS | {"long": LONG, "chosen": CHOSEN, "behind": BEHIND} | MANY_METRICS
    with collector(tmp_path_factory.mktemp("long"), metrics=metrics) as app, served(app) as url:
        collect(collector_of(app).store, LONG, 900, LONG.labels[0])
        collect(collector_of(app).store, CHOSEN, 900, CHOSEN.labels[:3])
        collect(collector_of(app).store, BEHIND, 900, 3)
        yield url


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The script of axe-core, which npm installs; it is not shipped."""
    if shutil.which("npm") is None:
        pytest.skip("no npm here: apt-get install npm")
    folder = tmp_path_factory.mktemp("axe")
    command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(folder), AXE]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip(f"npm cannot bring {AXE}: no network?")
    return (folder / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")


@pytest.mark.slow  # npm brings axe-core: it wants a network
@pytest.mark.parametrize(("width", "dark"), [(390, False), (390, True), (1280, False), (1280, True)])
def test_axe_finds_no_violation_on_any_page(
    tab: Page, site: str, long_site: str, axe: str, width: int, dark: bool
) -> None:
    tab.look(width, dark=dark)
    for url in (
        f"{site}/",
        f"{site}/m/theme",
        f"{site}/m/version",
        f"{site}/m/nothing",
        f"{site}/active",
        f"{site}/retention",
        f"{long_site}/",
        f"{long_site}/m/long",
        f"{long_site}/m/chosen",
        *(page.as_uri() for page in sorted(EXAMPLE.rglob("*.html"))),
    ):
        tab.open(url)
        tab.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        tab.run(f"{axe};0")
        found = tab.run("axe.run(document).then((result) => JSON.stringify([result.passes.length, result.violations]))")
        passed, violations = json.loads(found)
        assert passed > 20
        assert [(one["id"], one["nodes"][0]["html"]) for one in violations] == [], url
    tab.complaints.clear()


@pytest.mark.parametrize(
    "path", ["/m/theme", *(pytest.param(path, marks=pytest.mark.slow) for path in ("/m/version", "/m/wide"))]
)
def test_on_a_phone_each_value_has_its_figure(tab: Page, site: str, path: str) -> None:
    tab.look(390)
    tab.open(site + path)
    rows = tab.run("document.querySelectorAll('.values tbody tr').length")
    figures = tab.run("""[...document.querySelectorAll(".values tbody tr td:nth-child(2)")]
        .filter((one) => one.checkVisibility() && one.getBoundingClientRect().right <= 390)
        .map((one) => one.innerText)""")
    assert len(figures) == rows > 1
    assert all("±" in one or one.endswith("%") or "△ too few reports" in one for one in figures)


@pytest.mark.slow  # a matter of layout
@pytest.mark.parametrize("width", [390, 1000])
def test_long_value_does_not_push_the_chart_away(tab: Page, long_site: str, width: int) -> None:
    tab.look(width)
    tab.open(f"{long_site}/m/long")
    assert tab.run("document.documentElement.scrollWidth") == width
    room = tab.run("document.querySelector('.values .drawn svg').getBoundingClientRect().width")
    top = tab.run("document.querySelector('.values .drawn svg').getBoundingClientRect().top + scrollY")
    assert top < 900
    assert room > (0.45 if width == 390 else 0.15) * width
    heights = "[...document.querySelectorAll('.values tbody tr')].map((row) => row.offsetHeight)"
    assert tab.run(f"Math.max(...{heights})") < 170
    named = "[...document.querySelectorAll('.values .long summary')].map((one) => one.innerText)"
    first, second = tab.run(named)
    assert (first[-1], second[-1]) == ("1", "2")  # the labels differ at the end
    tab.run("document.querySelector('.values .long summary').focus()")
    tab.press("Enter")
    assert tab.run("document.querySelector('.values .long[open]').innerText.trim()").endswith(f"{ALIKE}1")
    tab.open(f"{long_site}/m/chosen")
    assert tab.run("document.documentElement.scrollWidth") == width
    tab.open(f"{long_site}/?find=behind")
    ends = "[one, one.closest('td')].map((each) => each.getBoundingClientRect().right)"
    figures = tab.run(f"[...document.querySelectorAll('.points .figure')].map((one) => [one.innerText, ...{ends}])")
    assert [text for text, end, room in figures if end > room] == [], "they run into the drawing"
    assert any("versions" in text for text, _, _ in figures)


@pytest.mark.parametrize(
    "path", ["/m/theme", *(pytest.param(path, marks=pytest.mark.slow) for path in ("/", "/m/wide?page=2"))]
)
def test_tab_key_reaches_everything_with_a_visible_focus(tab: Page, site: str, path: str) -> None:
    tab.look(1280)
    tab.open(site + path)
    many = tab.run(NUMBERED)
    assert many > 5
    reached: list[int] = []
    while len(reached) < 3 * many:  # a field of a date has parts
        tab.press("Tab")
        place, outlined = tab.run(FOCUSED)
        if place < 0:
            break
        assert outlined
        reached.append(place)
    assert list(dict.fromkeys(reached)) == list(range(many))
