"""Programs whose standard output fails: on a full disk, behind a closed pipe, with a character it cannot encode."""

import os
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

FULL = Path("/dev/full")

PROGRAMS = {"dither": ("dither", "status"), "dither-server": ("dither_server", "--help")}
"""The two kinds of entry point: argparse and click."""

RUNS = [*((name, "") for name in PROGRAMS), ("dither", "1")]
"""Without a buffer the write fails within the command, not at its end."""


def run(folder: Path, *command: str, stdout: IO[bytes] | int, unbuffered: str = "") -> tuple[int, str]:
    """Run a command without this user's settings; return its status and what it writes to standard error."""
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    environ = kept | {"HOME": str(folder), "LOCALAPPDATA": str(folder), "PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run(command, env=environ, stdout=stdout, stderr=subprocess.PIPE, check=False, cwd=folder)
    return done.returncode, done.stderr.decode()


@pytest.mark.parametrize(("name", "unbuffered"), RUNS)
def test_full_disk_is_reported_in_one_line(name: str, unbuffered: str, tmp_path: Path) -> None:
    if not FULL.exists():
        pytest.skip("no /dev/full here")
    with FULL.open("wb") as full:
        done = run(tmp_path, sys.executable, "-m", *PROGRAMS[name], stdout=full, unbuffered=unbuffered)
    assert done == (1, f"{name}: standard output cannot be written (No space left on device)\n")


@pytest.mark.parametrize(("name", "unbuffered"), [*RUNS, ("dither --help", "1")])
def test_closed_pipe_is_not_reported(name: str, unbuffered: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", *PROGRAMS.get(name, ("dither", "--help"))]
    reader, writer = os.pipe()
    os.close(reader)
    status, complaints = run(tmp_path, *command, stdout=writer, unbuffered=unbuffered)
    os.close(writer)
    assert complaints == ""
    mindless = unbuffered and name == "dither --help"  # argparse ignores the failure since Python 3.11.4
    assert status in ((0, 1) if mindless else (1,))


def test_unencodable_character_is_written_as_an_escape(tmp_path: Path) -> None:
    definitions = tmp_path / "metrics.toml"
    definitions.write_text("[metrics.theme]\ntype = 'boolean'\ntruth = 0.75\ndescription = '≤ Ž'\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "dither", "catalogue", "--metrics", str(definitions)],
        env=os.environ | {"PYTHONIOENCODING": "cp1252"},  # as Windows writes into a file
        capture_output=True,
        check=True,
    )
    assert "\\u2264 Ž" in done.stdout.decode("cp1252")


@pytest.mark.skipif(os.name != "posix", reason="it is closed by a shell of POSIX")
def test_program_without_a_standard_output_ends_with_status_0(tmp_path: Path) -> None:
    command = ("/bin/sh", "-c", '"$@" >&-', "sh", sys.executable, "-m", *PROGRAMS["dither"])
    assert run(tmp_path, *command, stdout=subprocess.DEVNULL) == (0, "")
