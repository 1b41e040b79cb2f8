"""Running the tests of a room against a mutant, in a copy of the tree."""

import compileall
import os
import py_compile
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from .mutating import Mutant
from .rooms import ROOMS

_MADE = shutil.ignore_patterns("__pycache__", ".*", "node_modules", "_build")
_PARTS = ("shared", "client", "server", "simulations", "tests", "docs", "pyproject.toml", "README.md")
_SOURCES = ("shared", "client", "server", "simulations")
_CAUGHT = {0: "survived", 1: "killed", 2: "killed", 4: "killed"}
"""By pytest's exit code: a test or a conftest that cannot be imported is an interruption or an error of use."""

_FROZEN = {"PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1"}
"""Compiled files are kept, and each run has a core."""


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

    def try_unchanged(self, room: str) -> float:
        """Return the seconds that the tests of a room take; raise RuntimeError if they fail without a mutant."""
        start = time.monotonic()
        if self._tests(ROOMS[room].tests) != "survived":
            raise RuntimeError(f"the tests of {room} fail as they are")
        return time.monotonic() - start

    def fate(self, mutant: Mutant, limit: float) -> str:
        """Return whether a mutant survived, was killed, or was stopped after ``limit`` seconds."""
        source = (self._tree / mutant.file).read_text(encoding="utf-8")
        place = self._folder / mutant.file
        place.write_text(mutant.code(source), encoding="utf-8")
        try:
            return self._tests(ROOMS[mutant.room].tests, limit)
        finally:
            place.write_text(source, encoding="utf-8")

    def _compile(self) -> None:
        """Compile all once, because that takes half the time of a test that fails at once.

        Sources are known by their digest: a mutant may have the size and the second of the one before.
        """
        for part in _SOURCES:
            mode = py_compile.PycInvalidationMode.CHECKED_HASH
            compileall.compile_dir(self._folder / part, quiet=1, invalidation_mode=mode)
        every = dict.fromkeys(test for room in ROOMS.values() for test in room.tests)
        self._tests([*every, "--collect-only"], environ={"PYTHONDONTWRITEBYTECODE": ""})

    def _tests(self, tests: Iterable[str], limit: float | None = None, environ: Mapping[str, str] = _FROZEN) -> str:
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
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
                return _CAUGHT.get(process.wait(limit), "broken")
            except subprocess.TimeoutExpired:
                return "stopped"
            finally:
                _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a run with all that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:  # all have ended by themselves
        return
