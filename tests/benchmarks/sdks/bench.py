"""The benchmark: which measures of which libraries are taken, how often, and the tables written of them."""

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks import tables
from benchmarks.sdks.environments import LIBRARIES, Unavailable, default_folder, prepare, version_of
from benchmarks.sdks.measures import Bench, Failed, Numbers
from benchmarks.sdks.tables import Findings, Setting, table, targets

__all__ = ["main"]


@dataclass(frozen=True)
class Plan:
    """How often each thing is measured."""

    startup: int = 50
    memory: int = 5
    latency: int = 5
    survival: int = 3
    exit: int = 3


QUICK = Plan(startup=10, memory=1, latency=1, survival=1, exit=1)


def main() -> None:
    """Measure, print the table, write files."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.sdk_speed", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one round or few of each")
    parser.add_argument("--envs", type=Path, default=default_folder(), help="the libraries' environments (%(default)s)")
    parser.add_argument("--json", type=Path, help="write every number to this file")
    tables.add_option(parser)
    arguments = parser.parse_args()
    pythons = _environments(arguments.envs)
    if arguments.tables and len(pythons) < len(LIBRARIES):
        sys.exit("no table can be written while a library is left out")
    setting = Setting(
        {library: version_of(library, python) for library, python in pythons.items()},
        f"{platform.python_implementation()} {platform.python_version()}, {platform.system()}",
        os.cpu_count() or 1,
        os.getloadavg()[0],
    )
    findings = _measure(pythons, QUICK if arguments.quick else Plan())
    setting.load_after = os.getloadavg()[0]
    one = table(findings, setting)
    print("\n".join((one.text(), "", *targets(findings))))
    tables.write(arguments.tables, tables.Table("client", one.head, one.rows))
    if arguments.json:
        arguments.json.write_text(json.dumps({"setting": vars(setting), "findings": findings}, indent=1) + "\n")


def _environments(folder: Path) -> dict[str, Path]:
    """Return the Python of each library that can be had; dither always can."""
    pythons: dict[str, Path] = {}
    for library in LIBRARIES:
        try:
            pythons[library] = prepare(library, folder)
        except Unavailable as problem:
            if library == "dither":
                sys.exit(str(problem))
            print(f"left out: {problem}", file=sys.stderr)
    return pythons


def _measure(pythons: dict[str, Path], plan: Plan) -> Findings:
    """Return the measures, by library, by question; libraries take turns, so that a busy minute hits all of them."""
    findings: Findings = {library: {} for library in pythons}
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(pythons, Path(scratch))
        questions: dict[str, tuple[int, Callable[[str], Numbers]]] = {
            "startup": (plan.startup + 1, bench.startup),
            "memory": (plan.memory, bench.memory),
            "latency": (plan.latency, bench.latency),
            "killed, down": (plan.survival, lambda library: bench.survival(library, up=False)),
            "killed, up": (plan.survival, lambda library: bench.survival(library, up=True)),
            "exit": (plan.exit, bench.exit),
        }
        for question, (rounds, ask) in questions.items():
            for turn in range(rounds):
                print(f"{question}, {turn + 1} of {rounds} ...", file=sys.stderr)
                for library in pythons:
                    _note(findings[library], question, library, ask)
    for library in pythons:  # the first round only writes bytecode
        findings[library]["startup"] = {name: all_[1:] for name, all_ in findings[library]["startup"].items()}
    return findings


def _note(findings: dict[str, Numbers], question: str, library: str, ask: Callable[[str], Numbers]) -> None:
    numbers = findings.setdefault(question, {})
    try:
        for name, measured in ask(library).items():
            numbers.setdefault(name, []).extend(measured)
    except Failed as problem:
        if library == "dither":
            raise
        print(f"left out: {problem}", file=sys.stderr)
