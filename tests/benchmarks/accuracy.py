"""The accuracy of ``dither-sim bench``, beside pure-ldp and multi-freq-ldpy: ``python -m tests.benchmarks.accuracy``.

Runs that command, with the same seed each time, and prints what it prints. With ``--tables`` those of its tables that
the documentation includes are written.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from .tables import Table, add_option, write

COMMAND = ("dither-sim", "bench", "--markdown", "--seed", "20261120", "--jobs", "2")

NAMES = {
    "Total risk over the optimum: auto / pure-ldp / multi-freq-ldpy, their reports of any length": "accuracy-theory",
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
        yield Table(name, head, rows, words=0 if name in {"accuracy-theory", "accuracy-measured"} else 2)


def main() -> None:
    """Run the command; print what it prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_option(parser)
    folder = parser.parse_args().tables
    program = str(Path(sys.executable).with_name(COMMAND[0]))
    done = subprocess.run([program, *COMMAND[1:]], capture_output=True, text=True, check=False)
    print(done.stdout)
    if done.returncode or "not measured:" in done.stderr:
        sys.exit(done.stderr)  # a peer is missing, and half a comparison is none
    write(folder, *tables(done.stdout), command=" ".join(COMMAND))


if __name__ == "__main__":
    main()
