"""Build a Python environment for each peer, in a cache folder, with pinned versions."""

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from .inside.protocol import Case, Finding, decode_finding

PINS: dict[str, tuple[str, ...]] = {
    "pure-ldp": (
        "pure-ldp==1.2.0",
        "numpy==1.26.4",
        "scipy==1.11.4",
        "scikit-learn==1.4.2",
        "statsmodels==0.14.2",
        "pandas==2.2.2",
        "xxhash==3.5.0",
    ),
    "multi-freq-ldpy": ("multi-freq-ldpy==0.2.5", "numpy==2.4.*", "scipy", "xxhash==3.5.0"),
}

LIBRARIES = ("dither", *PINS)

_MODULES = {"dither": "ours", "pure-ldp": "run_pure_ldp", "multi-freq-ldpy": "run_multi_freq_ldpy"}
"""The module of ``inside`` to run in a library's environment."""


class Unavailable(Exception):  # noqa: N818 - a peer that is not there is no error of the bench
    """A peer cannot be measured here; the message says why."""


def default_folder() -> Path:
    """Return where environments are kept if the user names no folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dither" / "peers"


def prepare(library: str, folder: Path) -> Path:
    """Return the Python of a library's environment; build it first if it is missing or has other pins.

    Raises Unavailable if it cannot be built.
    """
    if library not in PINS:
        return Path(sys.executable)
    home, pins = folder / library, "\n".join(PINS[library])
    python, built = home / "bin" / "python", home / "pins.txt"
    if built.exists() and built.read_text() == pins:
        return python
    print(f"building the environment of {library} ...", file=sys.stderr)
    _call(library, sys.executable, "-m", "venv", "--clear", str(home))
    quiet = ("--quiet", "--disable-pip-version-check")
    _call(library, str(python), "-m", "pip", "install", *quiet, *PINS[library])
    built.write_text(pins)
    return python


def _call(library: str, *command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        version = ".".join(map(str, sys.version_info[:2]))
        raise Unavailable(f"{library}: its environment cannot be built with Python {version}: {last[0]}")


def answers(library: str, python: Path, cases: Iterable[Case]) -> Iterator[Finding]:
    """Yield the finding of each case, measured in a library's environment by a process of its own.

    Raises Unavailable if that process fails.
    """
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}  # which holds ``inside``, and little else
    command = (str(python), "-W", "ignore", "-m", f"inside.{_MODULES[library]}")
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for case in cases:
            try:
                print(case.encode(), file=process.stdin, flush=True)
            except BrokenPipeError as problem:
                raise Unavailable(f"{library}: its process ended before {case}") from problem
            line = process.stdout.readline()
            if not line:
                raise Unavailable(f"{library}: its process ended at {case}")
            yield decode_finding(line)
