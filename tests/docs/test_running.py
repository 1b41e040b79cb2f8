"""The runner of pages reports what fails, and leaves nothing behind; the pages themselves show what it lets pass."""

import os
import re
import select
from pathlib import Path

import pytest

from docs.run import Run, missing_line, run_page

_PRINTED = """\
theme: 1,204 reports of 2026-11-21
dark     41.2%   (38.0 to 44.5)
value  share %     ±
dark      7.10  4.05
done.
"""


@pytest.mark.parametrize(
    ("expected", "line"),
    [
        ("theme: 1,204 reports of 2027-02-01\n\ndark 41.3% (37.9 to 44.5)\ndone.", ""),
        ("theme: 1,205 reports of …", "theme: 1,205 reports of …"),
        ("dark 41.0% (38.0 to 44.5)", "dark 41.0% (38.0 to 44.5)"),
        ("theme: … of …\n…(… to 44.5)\n…\ndone.", ""),
        ("done.\ndark 41.2% (38.0 to 44.5)", "dark 41.2% (38.0 to 44.5)"),
        ("dark 41.2%", "dark 41.2%"),
        ("dark x% (38.0 to 44.5)", "dark x% (38.0 to 44.5)"),
        ("done", "done"),
        ("done.\ndone.", "done."),
    ],
    ids=[
        "last digit",
        "whole number",
        "fraction",
        "anything",
        "order",
        "whole lines",
        "a word for a number",
        "full stop",
        "twice",
    ],
)
def test_missing_line_of_an_expected_output_is_named(expected: str, line: str) -> None:
    assert missing_line(expected, _PRINTED) == line


@pytest.mark.parametrize(
    ("expected", "lacks"),
    [
        ("theme: 1,204 reports of 2027-02-01\ndark 7.5% (0.1 to 99)", False),
        ("theme: 1,203 reports of 2027-02-01", True),
        ("value  share %     ±\ndark     99.10  3.30", False),
        ("value  share %     ±\ndark     99.10  3.20", True),
        ("dark     99.10  3.20", False),
    ],
)
def test_of_numbers_that_vary_whole_ones_and_half_widths_are_compared(expected: str, lacks: bool) -> None:
    assert bool(missing_line(expected, _PRINTED, varies=True)) == lacks


def ran(folder: Path, text: str, limit: float = 60.0) -> Run:
    page = folder / "page.md"
    page.write_text(text, encoding="utf-8")
    return run_page(page, limit)


def block(language: str, text: str, above: str = "") -> str:
    return f"{above}\n```{language}\n{text}\n```\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (block("sh", "echo one\nfalse\ntouch never"), r"line 2 \(sh\): status 1\none"),
        (block("sh", "true") + block("python", "print('so')\n1 / 0"), r"line 6 \(python\): status 1\nso\n(.*\n)*Zero"),
        (block("python", "import warnings as w\nw.warn('old')"), r"line 2 \(python\): status 1\n(.*\n)*UserW"),
        (block("sh", "exit 0") + block("sh", "true"), r"line 2 \(sh\): status 0"),
        (block("sh", "false", "<!-- status: 2 -->"), r"line 2 \(sh\): status 1\nstatus 1 in place of 2"),
        (block("sh", "echo dark 5") + block("text", "dark 5\nlight", "<!-- output -->"), r".*no such line: light\n"),
        (block("sh", "dither-server run --db nothing --port 8000"), r"line 2 \(sh\): status 1\n(.*\n)*this server has"),
        (block("sh", "python -m http.server 8000") + block("sh", "kill $!; wait $! || true"), "at the end: status 1"),
        (block("sh", "if true"), r"line 2 \(sh\): SyntaxError"),
        (block("python", "def", "<!-- not run: a mistake -->"), r"line 2 \(python\): SyntaxError"),
        (block("toml", "[metrics.a]\ntype = 'nothing'"), r"line 2 \(toml\): ParameterError: .*a"),
        (block("yaml", "a: b: c"), r"line 2 \(yaml\): ScannerError"),
        (block("bash", "true"), "line 2: language 'bash'"),
        (block("text", "alone", "<!-- output -->"), "line 2: an output is a text block directly below"),
        ("<!-- not run: lost -->\nText.\n" + block("sh", "true"), "a comment before line 4 stands directly above"),
        ("```sh\ntrue", "line 1: this block does not end"),
    ],
)  # fmt: skip
def test_failing_block_of_a_page_is_reported_with_its_line(text: str, said: str, tmp_path: Path) -> None:
    (problem,) = ran(tmp_path, text).problems
    assert re.match(said, problem), problem


def test_programs_of_a_page_end_with_the_page(tmp_path: Path) -> None:
    """One is a child of the page's shell, the other one of the fork server."""
    pids = tmp_path / "pids"
    code = f"import os, pathlib, time; pathlib.Path({str(pids)!r}).write_text(str(os.getpid())); time.sleep(600)"
    page = block(
        "sh", f'python -c "{code}" &\nuntil [ -s {pids} ]; do sleep 0.05; done\nsleep 600 &\necho " $!" >>{pids}'
    )
    assert "status 1" in ran(tmp_path, page + block("sh", "false")).problems[0]
    first, second = map(int, pids.read_text(encoding="utf-8").split())
    assert gone(first)
    assert gone(second)
    assert "still runs after 1 s" in ran(tmp_path, block("sh", "sleep 600"), 1.0).problems[0]


def gone(pid: int) -> bool:
    """Return whether a process that was killed ends, as it must at once."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([watched], [], [], 20)[0])
    finally:
        os.close(watched)


def test_page_is_run_up_to_the_block_whose_program_is_missing(tmp_path: Path) -> None:
    page = block("sh", "true") + block("sh", "no-such-program", "<!-- needs: bash, no-such-program -->")
    assert ran(tmp_path, page) == Run([], "from line 6 on: no-such-program is not there")
    assert ran(tmp_path, block("sh", "false") + page).problems
