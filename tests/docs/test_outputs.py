"""The output that a page promises is found in what its block printed; otherwise the difference is reported."""

import pytest

from docs.outputs import missing_line

_PRINTED = """\
theme: 1,204 reports of 2026-11-21
dark     41.2%   (38.0 to 44.5)
light    -0.3%   (-1.0 to 0.4)
done.
"""


@pytest.mark.parametrize(
    "expected",
    [
        "",
        "theme: 998 reports of 2026-1-2\n\ndark 7% (1 to 2)\ndone.",
        "light 5% …",
        "…\ndark 1.5e-3% (3 to 4)\n…",
        "theme: … of …",
    ],
)
def test_output_of_a_block_is_compared_with_the_page(expected: str) -> None:
    assert not missing_line(expected, _PRINTED)


@pytest.mark.parametrize(
    ("expected", "line"),
    [
        ("done.\ndark 41.2% (38.0 to 44.5)", "dark 41.2% (38.0 to 44.5)"),
        ("dark 41.2%", "dark 41.2%"),
        ("dark x% (38.0 to 44.5)", "dark x% (38.0 to 44.5)"),
        ("done", "done"),
        ("done.\ndone.", "done."),
    ],
    ids=["order", "whole lines", "a word for a number", "full stop", "twice"],
)
def test_missing_line_of_an_expected_output_is_named(expected: str, line: str) -> None:
    assert missing_line(expected, _PRINTED) == line
