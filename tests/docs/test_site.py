"""The site is built without a warning, and files and tests that pages name exist."""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from docs.pages import PAGES, ROOT

_NAMED = re.compile(r"(?P<file>tests/[\w/.-]+\.py|…)::(?P<test>test_\w+)")
_LINK = re.compile(r"\]\((?!https?:|mailto:)(?P<file>[^)#\s]*)(?:#(?P<anchor>[^)\s]+))?\)")


@pytest.mark.slow  # Sphinx takes 10 seconds of processor time; the test of links below sees the commonest mistake
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    """A page outside of every toctree, a link to no page or heading, and a name that nothing has are warnings."""
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", "--builder", "dirhtml"]
    done = subprocess.run(
        [*command, ROOT / "docs", tmp_path], cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "reference" / "javascript" / "index.html").exists()


@pytest.mark.parametrize("name", ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "client/js/README.md"])
def test_links_to_the_repository_lead_to_existing_files(name: str) -> None:
    page = ROOT / name
    for link in _LINK.finditer(page.read_text(encoding="utf-8")):
        target = page.parent / link["file"] if link["file"] else page
        assert target.exists(), link[0]
        assert not link["anchor"] or link["anchor"] in anchors_of(target), link[0]


def test_files_that_pages_of_the_site_link_exist() -> None:
    missing = [
        f"{page}: {link[0]}"
        for page in PAGES
        for link in _LINK.finditer((ROOT / page).read_text(encoding="utf-8"))
        if not ((ROOT / page).parent / link["file"]).exists()
    ]
    assert not missing, "\n".join(missing)


def anchors_of(page: Path) -> set[str]:
    """Return the anchors that GitHub gives a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_tests_that_a_page_names_are_there() -> None:
    """``…::test_x`` stands in the file that was named last."""
    naming = {page: [*_NAMED.finditer((ROOT / page).read_text(encoding="utf-8"))] for page in PAGES}
    assert naming["docs/explanation/threat-model.md"]
    for page, names in naming.items():
        file = ""
        for named in names:
            file = file if named["file"] == "…" else named["file"]
            assert named["test"] in functions_of(ROOT / file), f"{page}: {file}::{named['test']}"


@cache
def functions_of(file: Path) -> set[str]:
    return set(re.findall(r"^ *def (\w+)\(", file.read_text(encoding="utf-8"), re.MULTILINE))
