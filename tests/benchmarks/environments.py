"""A Python environment for each library that is compared, in a cache folder; nothing of theirs is in the tree."""

import os
import subprocess
import sys
from pathlib import Path


class Unavailable(Exception):  # noqa: N818 - a library that is not there is no error of the benchmark
    """A library cannot be measured here; the message says why."""


def prepare(library: str, *wanted: str) -> Path:
    """Return the Python of a library's environment, in which pip has installed what is wanted.

    Raises Unavailable if it cannot be built.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = cache / "dither" / "benchmarks" / library
    python = home / "bin" / "python"
    if not python.exists():
        print(f"building the environment of {library} ...", file=sys.stderr)
        _call(library, sys.executable, "-m", "venv", "--clear", str(home))
    _call(library, str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted)
    return python


def version_of(library: str, python: Path) -> str:
    """Return the version that is installed."""
    code = f"from importlib.metadata import version; print(version({library!r}))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def _call(library: str, *command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        version = ".".join(map(str, sys.version_info[:2]))
        raise Unavailable(f"{library}: its environment cannot be built with Python {version}: {last[0]}")
