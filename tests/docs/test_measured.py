"""The tables that pages of measured figures include exist, and name their day and a command that can be run."""

import re
import shlex
from collections import defaultdict
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pytest

from benchmarks import accuracy, coverage, strings
from benchmarks.peers.inside.driver import Case, Finding
from benchmarks.sdks.tables import Findings, rows, targets
from benchmarks.tables import Part, Table, write
from docs.pages import ROOT
from forkserver import run

MEASURED = ROOT / "docs" / "measured"
TABLES = sorted((MEASURED / "tables").glob("*.md"))
INCLUDED = re.compile(r"^```\{include\} (\S+)\n```$", re.MULTILINE)
CAPTION = re.compile(
    r"\*(?:Taken over from an earlier run\. )?Measured on (?P<day>\d{4}-\d\d-\d\d) by `(?P<command>[^`]+)`\. .+\.\*"
)
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def test_each_table_is_included_by_one_page() -> None:
    pages = [page for page in sorted(MEASURED.glob("*.md")) if page.name != "index.md"]
    included = [page.parent / name for page in pages for name in INCLUDED.findall(page.read_text(encoding="utf-8"))]
    assert sorted(included) == TABLES


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_a_table_has_columns_and_says_when_and_by_which_command_it_was_measured(path: Path) -> None:
    head, rule, *rows, empty, caption = path.read_text(encoding="utf-8").splitlines()
    assert {line.count("|") for line in (head, rule, *rows)} == {head.count("|")}
    assert rows
    assert empty == ""
    match = CAPTION.fullmatch(caption)
    assert match, caption
    assert date(2026, 11, 1) <= date.fromisoformat(match["day"])
    for place in (str(ROOT), str(Path.home()), "/tmp/"):  # noqa: S108 - none is used
        assert place not in caption


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_the_command_of_a_table_is_there_with_its_options_and_make_runs_it(path: Path) -> None:
    command = shlex.split(CAPTION.findall(path.read_text(encoding="utf-8"))[0][1])
    source, made = where(command)
    for option in (word for word in command if word.startswith("--")):
        assert f'"{option}"' in source, f"{shlex.join(command)}: no {option}"
    assert f"$(MEASURE).{made}" in MAKEFILE


def where(command: list[str]) -> tuple[str, str]:
    """Return the sources that read a command's options, and the benchmark that ``make bench`` runs for it."""
    assert command[:2] == ["python", "-m"]
    path = ROOT / f"{command[2].replace('.', '/')}.py"
    assert path.parent == ROOT / "tests" / "benchmarks", command
    frame = path.with_name("tables.py").read_text(encoding="utf-8")
    return frame + path.read_text(encoding="utf-8"), path.stem


def test_make_has_a_part_for_each_that_the_page_names() -> None:
    text = (MEASURED / "index.md").read_text(encoding="utf-8")
    parts = set(re.findall(r"bench-\w+", text))
    assert parts == set(re.findall(r"^(bench-\w+):", MAKEFILE, re.MULTILINE))
    assert parts == set(re.findall(r"^bench: (.+)$", MAKEFILE, re.MULTILINE)[0].split())


@pytest.mark.parametrize(("part", "kind", "rows"), [("leaks", "leak", 12), ("errors", "error", 9)])
def test_each_part_of_the_comparison_makes_its_table(part: str, kind: str, rows: int) -> None:
    """The findings are invented here: an hour of measuring must not end with nothing written."""
    asked: list[Case] = []

    def measure(_: str, cases: Sequence[Case]) -> list[Finding]:
        asked.extend(cases)
        seen = [{"1 0": 30_000, "0 1": 70_000}, {"1 0": 70_000, "0 1": 30_000}]
        return [Finding(case, 1000, [1e-6] * 5, trained=seen, judged=seen) for case in cases]

    table = accuracy.PARTS[part]
    lines = [row for cell in table.cells for row in table.measure(*cell, 1, measure)]
    assert {case.kind for case in asked} == {kind}
    assert len(lines) == rows
    assert Table(table.table, table.head, lines, table.words).markdown().count("\n") == rows + 2


def test_a_benchmark_writes_its_table_and_no_option_of_writing_into_its_caption(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    command = ("-m", "tests.benchmarks.accuracy", "--tables", str(folder), "--part", "theory")
    printed = run(*command, cwd=ROOT, check=True).stdout
    (path,) = folder.iterdir()
    text = path.read_text(encoding="utf-8")
    match = CAPTION.fullmatch(text.splitlines()[-1])
    assert match
    assert match["command"] == "python -m tests.benchmarks.accuracy --part theory"
    cells = re.findall(r"\d\.\d{3}", printed)
    assert sorted(re.findall(r"\d\.\d{3}", text.partition("*Measured")[0])) == sorted(cells)
    assert len(cells) == 6 * 7 * 3
    committed = (MEASURED / "tables" / "accuracy-theory.md").read_text(encoding="utf-8")
    assert committed.partition("*Measured")[0] == text.partition("*Measured")[0]


@pytest.mark.slow  # 10 seconds of processor time; the test above runs a benchmark as a command
@pytest.mark.parametrize(
    "part",
    [
        *strings.parts(strings.Sizes(40, 60, 50, 20, (2_000,))).values(),
        *(part._replace(cells=[("bit-flip", 1_000), ("count-mean-sketch", 1_000)]) for part in coverage.PARTS.values()),
    ],
    ids=lambda part: part.table,
)
def test_a_benchmark_fills_its_table_at_the_smallest_sizes(part: Part) -> None:
    """Some take most of an hour at the usual sizes, and write at the end."""
    rows = [row for cell in part.cells for row in part.measure(*cell, 1)]
    assert len(rows) >= len(part.cells)
    assert Table(part.table, part.head, rows, part.words).markdown().count("\n") == len(rows) + 2


def test_the_rows_of_the_documented_client_table_are_those_of_the_benchmark() -> None:
    libraries = ("dither", "sentry-sdk", "posthog")
    numbers: Findings = {library: defaultdict(lambda: defaultdict(lambda: [1.0, 2.0])) for library in libraries}
    documented = (MEASURED / "tables" / "client.md").read_text(encoding="utf-8").partition("\n\n")[0].splitlines()[2:]
    assert [line.split("|")[1].strip() for line in documented] == [row[0] for row in rows(numbers)]
    assert len(list(targets(numbers))) == 11


def test_failing_benchmark_leaves_the_old_table(tmp_path: Path) -> None:
    there = tmp_path / "whole.md"
    there.write_text("as it was")
    whole, ragged = Table("whole", ("a", "b"), [("1", "2")]), Table("ragged", ("a", "b"), [("1", "2"), ("3",)])
    with pytest.raises(AssertionError, match="ragged has 2 columns"):
        write(tmp_path, whole, ragged)
    write(None, whole)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"whole.md": "as it was"}
