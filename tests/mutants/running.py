"""Running the tests of a room against a mutant, in a copy of the tree: first those that execute the changed line."""

import compileall
import os
import py_compile
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from coverage import CoverageData

from .mutating import Mutant
from .rooms import ROOMS

_PARTS = ("shared", "client", "server", "simulations", "tests", "docs", "pyproject.toml", "README.md")
_SOURCES = ("shared", "client", "server", "simulations")
_FATES = {None: "stopped", 0: "survived", 1: "killed", 2: "killed", 4: "killed", 5: "survived"}
"""By pytest's exit code: a test or a conftest that cannot be imported is an interruption or an error of use; with 5 no
test is left to run."""

_FROZEN = {"PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1"}
"""Compiled files are kept, and each run has a core."""

_COVERAGE = """\
[run]
dynamic_context = test_function
source = .
omit = tests/*
data_file = {}
"""

Covering = Mapping[tuple[str, int], Sequence[str]]
"""The tests that execute a line, by the line's file and number."""


class Copy:
    """A copy of the tree, in which one mutant at a time lives. The tree itself is not touched.

    It runs the tests of a room that ``make test`` runs or, if ``slow``, all of them.
    """

    def __init__(self, tree: Path, folder: Path, *, slow: bool) -> None:
        self._tree, self._folder = tree, folder
        self._chosen = () if slow else ("-m", "not slow")
        folder.mkdir()
        for part in _PARTS:
            if (tree / part).is_dir():
                shutil.copytree(
                    tree / part,
                    folder / part,
                    ignore=shutil.ignore_patterns("__pycache__", ".*", "node_modules", "_build"),
                )
            else:
                shutil.copy(tree / part, folder / part)
        self._compile()

    def try_unchanged(self, room: str) -> tuple[float, Covering]:
        """Return the seconds that the tests of a room take, and which of them execute each line.

        Raises RuntimeError if they fail without a mutant.
        """
        start = time.monotonic()
        data, settings = self._folder / f"{room}.data", self._folder / f"{room}.rc"
        settings.write_text(_COVERAGE.format(data), encoding="utf-8")
        if self._tests(ROOMS[room].tests, runner=("coverage", "run", f"--rcfile={settings}", "-m", "pytest")):
            raise RuntimeError(f"the tests of {room} fail as they are")
        return time.monotonic() - start, self._covering(data)

    def fate(self, mutant: Mutant, limit: float, covering: Covering) -> str:
        """Return whether a mutant survived, was killed, or was stopped after ``limit`` seconds."""
        source = (self._tree / mutant.file).read_text(encoding="utf-8")
        place = self._folder / mutant.file
        place.write_text(mutant.code(source), encoding="utf-8")
        first = covering.get((mutant.file, mutant.line), ())
        whole = ROOMS[mutant.room].tests
        try:
            status = self._tests(first, limit) if first else 0
            if _FATES.get(status) == "survived":
                status = self._tests([*whole, *(f"--deselect={test}" for test in first)], limit)
        finally:
            place.write_text(source, encoding="utf-8")
        return _FATES.get(status, "broken")

    def _covering(self, data: Path) -> Covering:
        """Return the tests that execute each line; a test that does so in another process is not among them."""
        found: dict[tuple[str, int], list[str]] = {}
        measured = CoverageData(str(data))
        measured.read()
        tests = {context: self._test(context) for context in measured.measured_contexts()}
        for file in measured.measured_files():
            for line, contexts in measured.contexts_by_lineno(file).items():
                place = str(Path(file).relative_to(self._folder)), line
                found[place] = sorted(filter(None, (tests[context] for context in contexts)))
        return found

    def _test(self, context: str) -> str | None:
        """Return pytest's name of a test, or None if the context of Coverage is another function named test_."""
        module, _, name = context.rpartition(".")
        file = f"{module.replace('.', '/')}.py"
        exists = module.startswith("tests.") and f"\ndef {name}(" in (self._folder / file).read_text(encoding="utf-8")
        return f"{file}::{name}" if exists else None

    def _compile(self) -> None:
        """Compile all once, because that takes half the time of a test that fails at once.

        Sources are known by their digest: a mutant may have the size and the second of the one before.
        """
        for part in _SOURCES:
            mode = py_compile.PycInvalidationMode.CHECKED_HASH
            compileall.compile_dir(self._folder / part, quiet=1, invalidation_mode=mode)
        every = dict.fromkeys(test for room in ROOMS.values() for test in room.tests)
        self._tests([*every, "--collect-only"], environ={"PYTHONDONTWRITEBYTECODE": ""})

    def _tests(
        self,
        tests: Iterable[str],
        limit: float | None = None,
        environ: Mapping[str, str] = _FROZEN,
        runner: Sequence[str] = ("pytest",),
    ) -> int | None:
        """Return pytest's exit code, or None if it took longer than ``limit`` seconds."""
        command = [sys.executable, "-m", *runner, "-x", "-q", "-p", "no:cacheprovider"]
        command += [f"--basetemp={self._folder.parent / self._folder.name}.tmp", *self._chosen, *tests]
        paths = os.pathsep.join(str(self._folder / part) for part in _SOURCES)
        with subprocess.Popen(
            command,
            cwd=self._folder,
            env={**os.environ, "PYTHONPATH": paths, **environ},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            try:
                return process.wait(limit)
            except subprocess.TimeoutExpired:
                return None
            finally:
                _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a run with all that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:  # all have ended by themselves
        return
