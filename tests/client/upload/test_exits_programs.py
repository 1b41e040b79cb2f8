"""Programs that end at once upload what an earlier run left, and wait for it briefly, however they end."""

import os
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from client.conftest import Collector
from client.test_lives import VERSIONS, python_of
from client.test_processes import FLOORS, needs_posix, run
from dither_shared import Batch

FIRST = date(2026, 11, 18).toordinal()


_ENDS_AT_ONCE = """
import datetime, os, signal, dither
day = datetime.date.fromordinal(int(sys.argv[4]))
settings = {"today": lambda: day, "environ": {"DITHER": "on"}}
client = dither.Client(sys.argv[1], sys.argv[3], "app", sys.argv[2], exit_every=0, exit_wait=60, **settings)
client.record("theme", "dark")
"""


def ran(program: str, definitions: str, folder: Path, endpoint: str, days: int = 2) -> list[tuple[int, str, str]]:
    """Run a program on consecutive days; return its exit status, output and errors on each."""
    runs = [run(program, definitions, str(folder), endpoint, str(FIRST + day)) for day in range(days)]
    return [(done.returncode, done.stdout, done.stderr) for done in runs]


def days(collector: Collector) -> int:
    """Return how many reports arrived, each counted once."""
    return len({Batch.decode(request.body).batch for request in collector.arrived})


def test_two_reports_of_a_short_tool_arrive_within_three_runs_and_no_draft_stays(
    definitions: str, folder: Path, collector: Collector
) -> None:
    with Path(definitions).open("a", encoding="ascii") as file:
        file.write('[metrics.mobile]\ntype = "boolean"\nepsilon = 1.0\n')
    program = _ENDS_AT_ONCE.replace("exit_every=0, ", "") + 'client.record("mobile", True)\n'
    for _ in range(3):  # on one day, seconds apart
        done = run(program, definitions, str(folder), collector.endpoint, str(FIRST))
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert days(collector) == 2
    assert not list(folder.glob("*.new"))


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("import threading; threading.Thread(target=lambda: None).start(); sys.exit(3)", 3),
        ("del client; import gc; gc.collect(); 1 / 0", 1),
        pytest.param(
            "signal.signal(signal.SIGTERM, lambda *_: sys.exit(4)); os.kill(os.getpid(), signal.SIGTERM)",
            4,
            marks=needs_posix,
        ),
    ],
)
def test_the_report_of_the_run_before_arrives_however_the_program_ends(
    definitions: str, folder: Path, collector: Collector, ending: str, code: int
) -> None:
    for status, _, errors in ran(_ENDS_AT_ONCE + ending, definitions, folder, collector.endpoint):
        assert status == code
        assert "dither" not in errors.replace("dither.Client", "")
    assert days(collector) == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_of_python_delivers_the_report_of_the_run_before(
    definitions: str, folder: Path, collector: Collector, version: str
) -> None:
    """These versions differ in what threads may still do at exit."""
    program = f"import sys; sys.path[:0] = {FLOORS!r}\n{_ENDS_AT_ONCE}"
    for number in range(2):
        arguments = [definitions, str(folder), collector.endpoint, str(FIRST + number)]
        done = subprocess.run(
            [python_of(version), "-I", "-S", "-c", program, *arguments], capture_output=True, timeout=600, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert days(collector) == 1


@pytest.mark.parametrize("early", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_the_report_of_the_run_before_arrives_under_gevent(
    definitions: str, folder: Path, collector: Collector, early: bool
) -> None:
    pytest.importorskip("gevent", reason="gevent is not installed")
    patch = "from gevent import monkey; monkey.patch_all()\n"
    program = "import sys\n" + (patch + _ENDS_AT_ONCE if early else _ENDS_AT_ONCE + patch)
    for number in range(2):
        arguments = [definitions, str(folder), collector.endpoint, str(FIRST + number)]
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program.replace("exit_wait=60", "exit_wait=5"), *arguments],
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
            env=os.environ,
        )
        assert (done.returncode, done.stderr) == (0, "")
    assert days(collector) == 1
