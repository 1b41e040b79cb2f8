"""Run the tests of the client for JavaScript: one test here for each ``*.test.js``."""

from pathlib import Path

import pytest

from js.tools import HERE, chromium, node, packages, run

BROWSER = HERE / "browser"
SUITES = {suite: suite.read_text(encoding="utf-8") for suite in sorted(HERE.rglob("*.test.js"))}
IN_BROWSER = [suite for suite in SUITES if suite.is_relative_to(BROWSER)]
IN_NODE = [suite for suite in SUITES if not suite.is_relative_to(BROWSER)]
WITH_SLOW_TESTS = [suite for suite, text in SUITES.items() if "slow(" in text]


def passed(said: str) -> int:
    """Return how many tests passed, by the end of a protocol; assert that none failed or was skipped."""
    counts = dict(line[2:].split() for line in said.splitlines() if line.startswith(("# pass", "# fail", "# skip")))
    assert (counts["fail"], counts["skipped"]) == ("0", "0"), said
    return int(counts["pass"])


def named(suite: Path) -> str:
    return str(suite.relative_to(HERE))


@pytest.mark.parametrize("suite", IN_NODE, ids=named)
def test_suite_passes_in_node(suite: Path) -> None:
    assert passed(run(node(), "--test", "--test-reporter=tap", suite, folder=HERE, quick=True))


def test_quick_tests_of_all_suites_pass_in_one_chromium() -> None:
    packages()
    # A collector that several suites share ends with the last of them: they come first.
    suites = sorted(IN_BROWSER, key=lambda suite: "scene()" not in SUITES[suite])
    imports = "\n".join(f'await import("{suite.as_uri()}");' for suite in suites)
    options = ["--test-reporter=tap", "--input-type=module", "--eval", imports]
    said = run(node(), *options, folder=HERE, chromium=chromium(), quick=True)
    assert passed(said) > len(IN_BROWSER), "most suites have a quick test, and some several"


@pytest.mark.slow  # a minute of processor time: each starts Chromium, most of them a collector, too
@pytest.mark.parametrize("suite", WITH_SLOW_TESTS, ids=named)
def test_suite_passes_in_full(suite: Path) -> None:
    packages()
    assert passed(run(node(), "--test", "--test-reporter=tap", suite, folder=HERE, chromium=chromium()))
