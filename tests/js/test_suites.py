"""Run the tests of the client for JavaScript: one test here for each ``*.test.js``."""

from pathlib import Path

import pytest

from js.tools import HERE, chromium, node, packages, run

SUITES = sorted(HERE.rglob("*.test.js"))
BROWSER = HERE / "browser"


def test_there_are_suites() -> None:
    assert SUITES


@pytest.mark.parametrize("suite", SUITES, ids=lambda path: str(path.relative_to(HERE)))
def test_suite(suite: Path) -> None:
    program, shown = node(), None
    if suite.is_relative_to(BROWSER):
        packages()
        shown = chromium()
    said = run(program, "--test", "--test-reporter=tap", suite, folder=HERE, chromium=shown)
    assert "\n# fail 0\n" in said
    assert "\n# skipped 0\n" in said
    assert "\n# pass 0\n" not in said
