"""Node, the npm packages and Chromium, as the tests of the client for JavaScript find them, or skip."""

import fcntl
import functools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from forkserver import stubs

HERE = Path(__file__).parent
CLIENT = HERE.parents[1] / "client" / "js"
_LEAST = 20
_INSTALL = [
    *("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"),
    *("--fetch-timeout=20000", "--fetch-retries=1", "--prefix"),
]
_PATIENT_WITH_NPM = 240.0
"""Seconds to bring some packages; without a network npm gives up after some forty, and by default after minutes."""

_PATIENCE = 600.0
"""Seconds for a program that does its work in a few, on a machine that does much else."""


@functools.cache
def node() -> str:
    """Return the path of Node, version 20 or later; skip the test if there is none."""
    program = shutil.which("node")
    if program is None:
        pytest.skip(f"no Node here: install version {_LEAST} or later (.ci/run does)")
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    if int(re.findall(r"\d+", version)[0]) < _LEAST:
        pytest.skip(f"Node {version.strip()} is older than {_LEAST}")
    return program


def python() -> str:
    """Return a Python that starts programs of dither from a fork server, where there is one."""
    folder = stubs()
    return str(Path(folder, "python")) if folder else sys.executable


def packages() -> Path:
    """Return the folder of the npm packages that the client's development takes, installed if need be; or skip."""
    node()
    if reason := _lacking_because():
        pytest.skip(reason)
    return CLIENT / "node_modules"


@functools.cache  # otherwise each test would wait for a network that is not there
def _lacking_because() -> str:
    """Return why npm's packages are lacking; "" if they are there, or have been installed now."""
    with _alone(CLIENT):
        if not _lacking():
            return ""
        if shutil.which("npm") is None:
            return f"no npm here, to install {', '.join(_lacking())}"
        command = [*_INSTALL, str(CLIENT)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_PATIENT_WITH_NPM)
        except subprocess.TimeoutExpired:
            return f"npm cannot install {', '.join(_lacking())} in {_PATIENT_WITH_NPM:g} seconds"
        failed = done.returncode or _lacking()
        return f"npm cannot install {', '.join(_lacking())}: {done.stderr[-300:]}" if failed else ""


@functools.cache
def chromium() -> str:
    """Return the path of Chromium; skip the test if there is none."""
    program = os.environ.get("DITHER_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    return program


def run(*command: str | Path, folder: Path = CLIENT, **environment: str) -> str:
    """Run a program in a folder and return what it prints; the test fails with its output if it fails."""
    # Names of Node's would change how it runs, and consent looks at CI.
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("NODE_") and key != "CI"}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=_PATIENCE,
    )
    assert done.returncode == 0, f"{_failures(done.stdout)}\n{done.stderr}"
    return done.stdout


def _failures(output: str) -> str:
    """Return the parts of a protocol (TAP) about tests that failed, or all of any other output."""
    return "\n".join(re.findall(r"^ *not ok.*?^ *\.\.\.$", output, re.DOTALL | re.MULTILINE)) or output


def _lacking() -> list[str]:
    wanted: Mapping[str, str] = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))["devDependencies"]
    return [f"{name}@{version}" for name, version in wanted.items() if _installed(name) != version]


def _installed(name: str) -> str | None:
    try:
        found = json.loads((CLIENT / "node_modules" / name / "package.json").read_text(encoding="utf-8"))
    except OSError:
        return None
    return str(found["version"])


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let one test process do this at a time."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
