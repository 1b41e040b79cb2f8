"""The tables that pages of measured figures include exist, and name their day and a command that can be run."""

import re
import shlex
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from benchmarks.tables import Table, write
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


def test_each_table_has_columns_and_names_its_day_and_a_command_that_make_runs() -> None:
    for path in TABLES:
        head, rule, *rows, empty, caption = path.read_text(encoding="utf-8").splitlines()
        assert {line.count("|") for line in (head, rule, *rows)} == {head.count("|")}, path
        assert (rows != [], empty) == (True, ""), path
        match = CAPTION.fullmatch(caption)
        assert match, caption
        assert date(2026, 11, 1) <= date.fromisoformat(match["day"])
        assert not [place for place in (str(ROOT), str(Path.home()), "/tmp/") if place in caption]  # noqa: S108
        command = shlex.split(match["command"])
        source, made = where(command)
        assert [word for word in command if word.startswith("--") and f'"{word}"' not in source] == [], caption
        assert f"$(MEASURE).{made}" in MAKEFILE


def where(command: list[str]) -> tuple[str, str]:
    """Return the source that reads a command's options, and the benchmark that ``make bench`` runs for it."""
    assert command[:2] == ["python", "-m"]
    path = ROOT / f"{command[2].replace('.', '/')}.py"
    assert path.parent == ROOT / "tests" / "benchmarks", command
    return path.read_text(encoding="utf-8"), path.stem


def test_a_benchmark_writes_its_table_and_no_option_of_writing_into_its_caption(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    command = ("-m", "tests.benchmarks.accuracy", "--tables", str(folder), "--part", "theory")
    printed = run(*command, cwd=ROOT, check=True).stdout
    (path,) = folder.iterdir()
    text = path.read_text(encoding="utf-8")
    match = CAPTION.fullmatch(text.splitlines()[-1])
    assert match
    assert match["command"] == "python -m tests.benchmarks.accuracy --part theory"
    cells = re.findall(r"\d\.\d{3}", printed.partition("\n\nBy the")[0])
    assert sorted(re.findall(r"\d\.\d{3}", text.partition("*Measured")[0])) == sorted(cells)
    assert len(cells) == 6 * 7 * 3
    committed = (MEASURED / "tables" / "accuracy-theory.md").read_text(encoding="utf-8")
    assert committed.partition("*Measured")[0] == text.partition("*Measured")[0]


@pytest.mark.slow  # 10 seconds of processor time; the test above runs one benchmark as a command
@pytest.mark.parametrize(
    ("benchmark", "rows"),
    [
        ("strings --small --part lists --part discoveries", {"strings-lists": 1, "strings-discoveries": 2}),
        ("string_peers --runs 1 --users 2000 --held 40 --candidates 60 --short 50", {"string-peers": 18}),
        ("coverage --surveys 2 --mechanism bit-flip --mechanism rappor", {"coverage-few": 6, "coverage-long": 3}),
    ],
)
def test_a_benchmark_writes_all_its_tables_at_the_smallest_sizes(
    benchmark: str, rows: dict[str, int], tmp_path: Path
) -> None:
    """Some take most of an hour at the usual sizes, and write at the end."""
    command = [sys.executable, "-m", *shlex.split(f"tests.benchmarks.{benchmark} --tables"), str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    texts = {path.stem: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    assert {name: text.count("\n|") - 1 for name, text in texts.items()} == rows
    captions = [CAPTION.fullmatch(text.splitlines()[-1]) for text in texts.values()]
    assert {found and found["command"] for found in captions} == {f"python -m tests.benchmarks.{benchmark}"}


def test_failing_benchmark_leaves_the_old_table(tmp_path: Path) -> None:
    there = tmp_path / "whole.md"
    there.write_text("as it was")
    whole, ragged = Table("whole", ("a", "b"), [("1", "2")]), Table("ragged", ("a", "b"), [("1", "2"), ("3",)])
    with pytest.raises(AssertionError, match="ragged has 2 columns"):
        write(tmp_path, whole, ragged)
    write(None, whole)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"whole.md": "as it was"}
