"""Accuracy and leaks beside pure-ldp and multi-freq-ldpy: ``python -m tests.benchmarks.accuracy``.

Each peer runs in an environment of its own, which pip builds in a cache folder, and with the same seed each time. Cases
come in parts (``--part``): ``theory``, for which nothing is run; ``errors`` of each library's best; and ``leaks``.
A case takes some seconds by the clock, so a busy machine means fewer users and runs, but errors of the same size. A
library that cannot be measured ends the run.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from .peers import tables as bench
from .peers.cases import FULL, Findings, cases
from .peers.environments import LIBRARIES, Unavailable, answers, default_folder, prepare
from .peers.inside.protocol import Case, Finding
from .peers.theory import PEERS, chosen
from .tables import Table, add_option, write

__all__ = ["PARTS", "Part", "by_library"]

Measure = Callable[[str, Sequence[Case]], Sequence[Finding]]
"""Row cases of a library."""


class Part(NamedTuple):
    """The cases of a library to measure, or None, and the tables of the findings, by the name of their file."""

    wanted: Callable[[str, Case], bool] | None
    tables_of: Callable[[Findings], Iterator[tuple[str, bench.Table]]]

    def tables(self, measure: Measure) -> Iterator[Table]:
        """Measure, print the tables, and yield them for the documentation."""
        found: Findings = {}
        for library in LIBRARIES:
            some = [case for case in cases(library, FULL) if self.wanted(library, case)] if self.wanted else []
            found[library] = list(measure(library, some)) if some else []
        for name, table in self.tables_of(found):
            print(table.text(), end="\n\n", flush=True)
            yield by_library(name, table) if " / " in table.title else Table(name, table.head, table.rows, words=2)


def by_library(name: str, table: bench.Table) -> Table:
    """Return a table of cells that have a number of each library, with a row for each instead."""
    taken = [(size, [cell.split(" / ") for cell in cells]) for size, *cells in table.rows]
    rows = [
        [size, library, *(cell[place] for cell in cells)]
        for size, cells in taken
        for place, library in enumerate(("dither", *PEERS))
    ]
    return Table(name, [table.head[0], "library", *table.head[1:]], rows, words=2)


def _theory(_: Findings) -> Iterator[tuple[str, bench.Table]]:
    yield "accuracy-theory", bench.risks(None)


def _best_errors(library: str, case: Case) -> bool:
    """Say whether a case is the error of a library's best, where the documentation shows it."""
    return case.kind == "error" and case.size >= 128 and case.mechanism == chosen(library, case.size, case.epsilon)


def _errors(findings: Findings) -> Iterator[tuple[str, bench.Table]]:
    yield "accuracy-measured", bench.ratios(findings)


def _leaks(findings: Findings) -> Iterator[tuple[str, bench.Table]]:
    yield "accuracy-leaks", bench.leaks(findings)


PARTS = {
    "theory": Part(None, _theory),
    "leaks": Part(lambda _, case: case.kind == "leak", _leaks),
    "errors": Part(_best_errors, _errors),
}


def _measured(library: str, some: Sequence[Case]) -> Sequence[Finding]:
    """Measure cases in the library's environment; print each as it comes."""
    found = []
    for finding in answers(library, prepare(library, default_folder()), some):
        found.append(finding)
        case = finding.case
        print(f"{library}, {case.kind}: {case.mechanism}, k = {case.size:,}, ε = {case.epsilon:g}", file=sys.stderr)
    return found


def main() -> None:
    """Measure all parts, or the requested ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=PARTS, action="append")
    add_option(parser)
    options = parser.parse_args()
    try:
        tables = [table for part in options.part or PARTS for table in PARTS[part].tables(_measured)]
    except Unavailable as problem:
        sys.exit(str(problem))  # half a comparison is none
    write(options.tables, *tables)


if __name__ == "__main__":
    main()
