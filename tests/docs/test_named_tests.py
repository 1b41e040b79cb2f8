"""A test that a page names is there, under that name."""

import re
from functools import cache
from pathlib import Path

import pytest

from docs.pages import PAGES, ROOT

_NAMED = re.compile(r"(?P<file>tests/[\w/.-]+\.py|…)::(?P<test>test_\w+)")
NAMING = [page for page in PAGES if _NAMED.search((ROOT / page).read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", NAMING)
def test_tests_that_a_page_names_are_there(page: str) -> None:
    """``…::test_x`` stands in the file that was named last."""
    file = ""
    for named in _NAMED.finditer((ROOT / page).read_text(encoding="utf-8")):
        file = file if named["file"] == "…" else named["file"]
        assert named["test"] in functions_of(ROOT / file), f"{file}::{named['test']}"


def test_the_threat_model_names_tests() -> None:
    assert "docs/explanation/threat-model.md" in NAMING


@cache
def functions_of(file: Path) -> set[str]:
    return set(re.findall(r"^ *def (\w+)\(", file.read_text(encoding="utf-8"), re.MULTILINE))
