"""A benchmark has cells, a measure of each, and a table, which it writes with ``--tables FOLDER``.

A file holds one table in Markdown and, below it, when, by which command and on what machine it was measured. A run
writes its files when all is measured, each of them at once: a failing benchmark leaves the files as they were.
"""

import argparse
import os
import platform
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dither_shared.metrics.period import utc_today

OPTION = "--tables"

_LOAD, _BEGAN = os.getloadavg()[0], time.monotonic()
"""Before anything was measured."""


class Table(NamedTuple):
    """A table and the name of its file; the first ``words`` columns are flush left, numbers flush right."""

    name: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1

    def markdown(self) -> str:
        """Return the table in Markdown; a row with more or fewer cells than the head is a mistake of the benchmark."""
        ragged = [line for line in self.rows if len(line) != len(self.head)]
        assert self.rows, f"{self.name} has no rows"
        assert not ragged, f"{self.name} has {len(self.head)} columns, but not in {ragged}"
        rule = ["---"] * self.words + ["---:"] * (len(self.head) - self.words)
        return "".join(f"| {' | '.join(line)} |\n" for line in (self.head, rule, *self.rows))


class Part(NamedTuple):
    """A table to measure: ``measure(*cell, surveys)`` yields the rows of a cell."""

    table: str
    head: Sequence[str]
    cells: Sequence[tuple[Any, ...]]
    measure: Callable[..., Iterable[Sequence[str]]]
    surveys: int
    words: int = 1

    def rows(self, surveys: int | None = None, only: Sequence[str] | None = None) -> Iterator[Sequence[str]]:
        """Yield the rows of all cells, or of those that begin with a name of ``only``; print each once it is there."""
        widths = [max(len(word), 10) for word in self.head]
        print(*map(str.ljust, self.head, widths), sep="  ")
        for cell in self.cells:
            if only is None or {*map(str, cell[:1])} & {*only}:
                for row in self.measure(*cell, surveys or self.surveys):
                    print(*map(str.ljust, row, widths), sep="  ", flush=True)
                    yield row


def run(about: str | None, **parts: Part) -> None:
    """Measure the parts of a benchmark, or those asked for; print each row once it is there, and write the tables."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--surveys", "--runs", type=int, help="surveys of a row, as many as usual by default")
    parser.add_argument("--part", action="append", choices=parts, help="measure this part; all if none is named")
    parser.add_argument("--only", action="append", metavar="NAME", help="measure only cells that begin with NAME")
    add_option(parser)
    options = parser.parse_args()
    some = [parts[name] for name in options.part or parts]
    tables = [Table(one.table, one.head, [*one.rows(options.surveys, options.only)], one.words) for one in some]
    write(options.tables, *tables)


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that ``write`` takes."""
    parser.add_argument(OPTION, type=Path, metavar="FOLDER", help="write the documentation's tables to this folder")


def write(folder: Path | None, *tables: Table) -> None:
    """Write tables to a folder, if there is one."""
    if folder is None:
        return
    texts = {table.name: table.markdown() for table in tables}
    below = caption(_command(sys.argv[1:]))
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        whole = folder / f"{name}.md"
        part = whole.with_name(f".{whole.name}.{os.getpid()}")
        part.write_text(f"{text}\n{below}\n", encoding="utf-8")
        part.replace(whole)


def caption(command: str) -> str:
    """Return when, on what and for how long a command measured; of the machine no name and no path."""
    took = f"took {time.monotonic() - _BEGAN:,.0f} s"
    machine = f"{os.cpu_count()} cores ({_processor()}), load average {_LOAD:.1f} before"
    return f"*Measured on {utc_today()} by `{command}`. {machine}; Python {platform.python_version()}; {took}.*"


def _processor() -> str:
    """Return the name of the processor."""
    known = Path("/proc/cpuinfo")
    text = known.read_text(encoding="utf-8", errors="replace") if known.exists() else ""
    match = re.search(r"^model name\s*: (.+)$", text, re.MULTILINE)
    return match[1].strip() if match else platform.machine()


def _command(arguments: Sequence[str]) -> str:
    """Return the command of this process, without the option that has the tables written."""
    spec = sys.modules["__main__"].__spec__
    assert spec is not None, "a benchmark is run by python -m"
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument(OPTION)
    return shlex.join(["python", "-m", spec.name, *parser.parse_known_args(arguments)[1]])
