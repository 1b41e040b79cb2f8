"""Running the tests of a room against a mutant, in a copy of the tree."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from .mutating import Mutant
from .rooms import ROOMS

__all__ = ["Copy"]

_PARTS = ("shared", "client", "server", "simulations", "tests", "pyproject.toml", "README.md")
_SOURCES = ("shared", "client", "server", "simulations")
_CAUGHT = {0: "survived", 1: "killed", 2: "killed", 4: "killed"}
"""By pytest's exit code: a test or a conftest that cannot be imported is an interruption or an error of use."""


class Copy:
    """A copy of the tree, in which one mutant at a time lives. The tree itself is not touched."""

    def __init__(self, tree: Path, folder: Path) -> None:
        self._tree, self._folder = tree, folder
        self._limits: dict[str, float] = {}
        folder.mkdir()
        for part in _PARTS:
            if (tree / part).is_dir():
                shutil.copytree(tree / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", ".*"))
            else:
                shutil.copy(tree / part, folder / part)

    def try_unchanged(self, room: str) -> float:
        """Return the seconds that the tests of a room take; raise RuntimeError if they fail without a mutant."""
        start = time.monotonic()
        if self._tests(room, None) != "survived":
            raise RuntimeError(f"the tests of {room} fail as they are")
        return time.monotonic() - start

    def fate(self, mutant: Mutant, limit: float) -> str:
        """Return whether a mutant survived, was killed, or was stopped after ``limit`` seconds."""
        source = (self._tree / mutant.file).read_text(encoding="utf-8")
        place = self._folder / mutant.file
        place.write_text(mutant.code(source), encoding="utf-8")
        try:
            return self._tests(mutant.room, limit)
        finally:
            place.write_text(source, encoding="utf-8")

    def _tests(self, room: str, limit: float | None) -> str:
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
        command += [f"--basetemp={self._folder.parent / self._folder.name}.tmp", *ROOMS[room].tests]
        paths = os.pathsep.join(str(self._folder / part) for part in _SOURCES)
        # No bytecode: a mutant may have the size and the second of the one before.
        environ = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
        with subprocess.Popen(
            command,
            cwd=self._folder,
            env=environ,
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
