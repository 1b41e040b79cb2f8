"""A Python environment for each library, in a cache folder: the peers' latest versions, and this checkout."""

import subprocess
import sys
from pathlib import Path

from ..peers.environments import Unavailable
from ..peers.environments import default_folder as _peers

__all__ = ["LIBRARIES", "Unavailable", "default_folder", "prepare", "version_of"]

LIBRARIES = ("dither", "sentry-sdk", "posthog")

_CHECKOUT = Path(__file__).parents[3]


def default_folder() -> Path:
    """Return where environments are kept if the user names no folder."""
    return _peers().with_name("sdks")


def prepare(library: str, folder: Path) -> Path:
    """Return the Python of a library's environment, brought up to date; without a network, as it was last.

    Raises Unavailable if there is none and none can be built.
    """
    home = folder / library
    python = home / "bin" / "python"
    if not python.exists():
        print(f"building the environment of {library} ...", file=sys.stderr)
        _call(library, sys.executable, "-m", "venv", "--clear", str(home))
    what = ("--upgrade", library) if library != "dither" else ("--force-reinstall", "--no-deps", str(_CHECKOUT))
    try:
        _call(library, str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what)
    except Unavailable as problem:
        if library == "dither" or not version_of(library, python):
            raise
        print(f"{problem}; going on with the installed version", file=sys.stderr)
    return python


def version_of(library: str, python: Path) -> str:
    """Return the version that is installed, or "" if none is."""
    code = f"from importlib.metadata import version; print(version({library!r}))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=False).stdout.strip()


def _call(library: str, *command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise Unavailable(f"{library}: its environment cannot be built: {last[0]}")
