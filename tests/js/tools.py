"""Node, the npm packages and Chromium, as the tests of the client for JavaScript find them, or skip."""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from forkserver import stubs

HERE = Path(__file__).parent
CLIENT = HERE.parents[1] / "client" / "js"
_LEAST = 20
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
    """Return the folder of the npm packages that the client's development takes; skip the test if one is lacking."""
    node()
    wanted: dict[str, str] = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))["devDependencies"]
    if lacking := [f"{name}@{version}" for name, version in wanted.items() if _installed(name) != version]:
        pytest.skip(f"no {', '.join(lacking)} here: npm install --prefix client/js (make does where npm is there)")
    return CLIENT / "node_modules"


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


def _installed(name: str) -> str | None:
    try:
        found = json.loads((CLIENT / "node_modules" / name / "package.json").read_text(encoding="utf-8"))
    except OSError:
        return None
    return str(found["version"])
