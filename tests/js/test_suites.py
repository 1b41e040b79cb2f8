"""Run the tests of the client for JavaScript, ``*.test.js``: in one process of Node, and in one Chromium."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from js.tools import HERE, chromium, node, packages, python, run

BROWSER = HERE / "browser"
SUITES = {suite: suite.read_text(encoding="utf-8") for suite in sorted(HERE.rglob("*.test.js"))}
IN_BROWSER = [suite for suite in SUITES if suite.is_relative_to(BROWSER)]
IN_NODE = [suite for suite in SUITES if not suite.is_relative_to(BROWSER)]
WITH_SLOW_TESTS = [suite for suite, text in SUITES.items() if "slow" in text]


def passed(protocol: str) -> int:
    """Return how many tests passed, by the end of a protocol; assert that none failed or was skipped."""
    counts = dict(line[2:].split() for line in protocol.splitlines() if line.startswith(("# pass", "# fail", "# skip")))
    assert (counts["fail"], counts["skipped"]) == ("0", "0"), protocol
    return int(counts["pass"])


def run_together(suites: Iterable[Path], **options: str) -> int:
    """Run the quick tests of all suites in one process; return how many passed."""
    imports = "\n".join(f'await import("{suite.as_uri()}");' for suite in suites)
    command = [node(), "--test-reporter=tap", "--input-type=module", "--eval", imports]
    return passed(run(*command, folder=HERE, DITHER_QUICK="1", DITHER_PYTHON=python(), **options))


def test_quick_tests_of_all_suites_pass_in_one_process_of_node() -> None:
    assert run_together(IN_NODE) > 10 * len(IN_NODE)


def test_quick_tests_of_all_suites_pass_in_one_chromium() -> None:
    packages()
    # The suites that share a collector come first: it ends with the last of them.
    suites = sorted(IN_BROWSER, key=lambda suite: "scene()" not in SUITES[suite])
    assert run_together(suites, DITHER_CHROMIUM=chromium()) > len(IN_BROWSER)


@pytest.mark.slow  # a minute of processor time: each starts Chromium, most of them a collector, too
@pytest.mark.parametrize("suite", WITH_SLOW_TESTS, ids=lambda suite: str(suite.relative_to(HERE)))
def test_suite_passes_in_full(suite: Path) -> None:
    packages()
    programs = {"DITHER_CHROMIUM": chromium(), "DITHER_PYTHON": python()}
    assert passed(run(node(), "--test", "--test-reporter=tap", suite, folder=HERE, **programs))
