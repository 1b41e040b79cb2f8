"""The client beside sentry-sdk and posthog: ``python -m tests.benchmarks.sdk_speed``, part of ``make bench``.

Each library runs in an environment of its own, built in a cache folder, and talks to nothing but loopback.
"""

import argparse
import os
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))  # where the tests' own modules are found, as under pytest

from benchmarks import tables
from benchmarks.environments import Unavailable, prepare, version_of
from benchmarks.sdks.measures import Bench, Numbers
from benchmarks.sdks.tables import HEAD, Findings, rows, targets

if TYPE_CHECKING:
    from collections.abc import Callable

_CHECKOUT = Path(__file__).parents[2]
_WANTED = {
    "dither": ("--force-reinstall", "--no-deps", str(_CHECKOUT)),
    "sentry-sdk": ("--upgrade", "sentry-sdk"),
    "posthog": ("--upgrade", "posthog"),
}


def main() -> None:
    """Measure, print the table, write it."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.sdk_speed", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one round or few of each")
    tables.add_option(parser)
    arguments = parser.parse_args()
    try:
        pythons = {library: prepare(library, *wanted) for library, wanted in _WANTED.items()}
    except Unavailable as problem:
        sys.exit(str(problem))  # half a comparison is none
    before = os.getloadavg()[0]
    findings = _measure(pythons, quick=arguments.quick)
    head = [*HEAD, *(f"{library} {version_of(library, python)}" for library, python in pythons.items())]
    table = tables.Table("client", head, rows(findings))
    load = f"load average {before:.1f} before, {os.getloadavg()[0]:.1f} after"
    print(table.markdown(), load, *targets(findings), sep="\n")
    tables.write(arguments.tables, table)


def _measure(pythons: dict[str, Path], *, quick: bool) -> Findings:
    """Return the measures, by library, by question; libraries take turns, so that a busy minute hits all of them."""
    findings: Findings = {library: {} for library in pythons}
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(pythons, Path(scratch))
        questions: dict[str, tuple[int, Callable[[str], Numbers]]] = {
            "startup": (50, bench.startup),
            "memory": (5, bench.memory),
            "latency": (5, bench.latency),
            "killed, down": (3, partial(bench.survival, up=False)),
            "killed, up": (3, partial(bench.survival, up=True)),
            "exit": (3, bench.exit),
        }
        for library in pythons:
            bench.startup(library)  # which only writes bytecode
        for question, (often, ask) in questions.items():
            for turn in range(-(-often // 5) if quick else often):
                print(f"{question}, {turn + 1} ...", file=sys.stderr)
                for library in pythons:
                    numbers = findings[library].setdefault(question, {})
                    for name, measured in ask(library).items():
                        numbers.setdefault(name, []).extend(measured)
    return findings


if __name__ == "__main__":
    main()
