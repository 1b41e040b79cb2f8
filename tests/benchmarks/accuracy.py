"""The accuracy of ``dither-sim bench``, beside pure-ldp and multi-freq-ldpy: ``python -m tests.benchmarks.accuracy``.

Runs that command, with the same seed each time, and prints what it prints. With ``--tables`` those of its tables that
the documentation includes are written. ``--part theory`` is its first table alone, which nothing need be run for.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from dither_simulations.experiments.peers.tables import risks
from dither_simulations.experiments.peers.theory import PEERS

from .tables import Table, add_option, write

COMMAND = ("dither-sim", "bench", "--markdown", "--seed", "20261120", "--jobs", "2")

NAMES = {
    "Measured mean squared error, before any clipping": "accuracy-measured",
    "Speed at k = 1,024": "accuracy-speed",
    "A simulated trial": "accuracy-trials",
    "What reports tell": "accuracy-leaks",
}
"""Files of tables, by how the tables' titles begin."""


def titled(text: str) -> Mapping[str, list[list[str]]]:
    """Return the rows of each table of Markdown, the head first, by the title above it."""
    found = re.findall(r"^\*\*(.+)\*\*\n\n((?:\|.+\|\n)+)", text, re.MULTILINE)
    return {title: [_cells(line) for line in lines.splitlines() if "---:" not in line] for title, lines in found}


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def tables(text: str) -> Iterator[Table]:
    """Yield the documentation's tables of what the command printed."""
    found = titled(text)
    for start, name in NAMES.items():
        (title,) = (one for one in found if one.startswith(start))
        head, *rows = found[title]
        yield by_library(name, head, rows) if name == "accuracy-measured" else Table(name, head, rows, words=2)


def by_library(name: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Return a table of cells that have a number of each library, with a row for each instead."""
    taken = [(size, [cell.split(" / ") for cell in cells]) for size, *cells in rows]
    told = [
        [size, library, *(cell[place] for cell in cells)]
        for size, cells in taken
        for place, library in enumerate(("dither", *PEERS))
    ]
    return Table(name, [head[0], "library", *head[1:]], told, words=2)


def theory() -> Iterator[Table]:
    """Print and yield the risk of each library's best, over the least possible."""
    table = risks(None)
    print(table.text(), end="\n\n", flush=True)
    yield by_library("accuracy-theory", table.head, table.rows)


def measured() -> Iterator[Table]:
    """Run the command, print what it prints, and yield the documentation's tables of it."""
    program = str(Path(sys.executable).with_name(COMMAND[0]))
    done = subprocess.run([program, *COMMAND[1:]], capture_output=True, text=True, check=False)
    print(done.stdout)
    if done.returncode or "not measured:" in done.stderr:
        sys.exit(done.stderr)  # a peer is missing, and half a comparison is none
    yield from tables(done.stdout)


PARTS = {"theory": theory, "measured": measured}


def main() -> None:
    """Print all parts, or those that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=PARTS, action="append")
    add_option(parser)
    asked = parser.parse_args()
    write(asked.tables, *[table for part in asked.part or PARTS for table in PARTS[part]()])


if __name__ == "__main__":
    main()
