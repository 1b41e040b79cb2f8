"""Program exits: which of them wait for an upload, how long, and what programs deliver that end at once."""

import json
import os
import subprocess
import sys
import weakref
from collections.abc import Callable
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import pytest

import dither
from client.conftest import Collector
from client.devices import Make, Script, Stuck, join_uploads, parts_on
from client.test_lives import VERSIONS, python_of
from client.test_processes import FLOORS, needs_posix, run
from dither.diagnostics import Diagnostics
from dither.upload.attempts import Attempts
from dither.upload.worker import ExitWait
from dither_shared import Batch


@pytest.fixture
def at_exit(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return a function that runs the handlers registered for the program's exit."""
    registered: list[Callable[[], None]] = []

    def unregister(function: Callable[[], None]) -> None:
        registered[:] = [registration for registration in registered if registration is not function]

    monkeypatch.setattr(
        "dither.upload.worker.atexit", SimpleNamespace(register=registered.append, unregister=unregister)
    )
    monkeypatch.setattr("dither.upload.worker._armed", weakref.WeakSet())

    def leave() -> None:
        for function in registered:
            function()

    return leave


def waited(folder: Path) -> bool:
    """Return whether a program's exit waited on this device, as its state records."""
    return (folder / "delivery").exists() and json.loads((folder / "delivery").read_bytes())["exit_at"] > 0


EXITS = {"exit_wait": 0.01, "exit_every": 0.0, "background": True}


@pytest.mark.parametrize(
    "case",
    ["found a due report", "without exit_wait", "in the foreground", "found none", "closed", "rests", "put off", "two"],
)
def test_an_exit_waits_only_if_the_run_found_a_due_report_that_is_being_sent(
    make: Make, folder: Path, at_exit: Callable[[], None], case: str
) -> None:
    """``put off`` found a report that the collector postponed, and ``two`` another one besides."""
    if case != "found none":
        earlier = make(folder, transport=Script([dither.Answer(503, 60)]))
        earlier.record("mobile", True)
        if case in {"put off", "two"}:
            assert not earlier.flush(60)
            notes = json.loads((folder / "delivery").read_bytes()) | {"failed_at": 0.0}  # after this no exit waits
            (folder / "delivery").write_text(json.dumps(notes))
        if case == "two":
            earlier.record("theme", "dark")
    stuck = Stuck()
    changed: dict[str, dict[str, float]] = {
        "without exit_wait": {"exit_wait": 0},
        "in the foreground": {"background": 0},
    }
    client = make(folder, transport=stuck, **(EXITS | changed.get(case, {})))
    client.record("theme", "dark")
    if case != "in the foreground":
        client.flush(0)  # because its thread may be idle
        assert stuck.started.wait(60)
    if case == "closed":
        client.close()
    if case == "rests":
        stuck.release.set()
        join_uploads()
    at_exit()
    assert waited(folder) is (case in {"found a due report", "two"})
    client.close()
    stuck.release.set()


class Waits:
    """A stand-in for an uploading worker that records the timeouts of the waits for it."""

    def __init__(self, rested: bool = False) -> None:
        self.waits: list[float] = []
        self._rested = rested

    def __call__(self, timeout: float) -> bool:
        if timeout:
            self.waits.append(timeout)
        return self._rested


def test_exits_wait_at_most_exit_wait_and_in_vain_once_per_exit_every(at_exit: Callable[[], None]) -> None:
    now = [1e9]
    attempts = Attempts(dither.MemoryState(), Diagnostics(), "", lambda: now[0])
    waits = Waits()
    moments = []
    for _ in range(24 * 60):
        exit_wait = ExitWait(0.25, 600.0, attempts, waits)
        exit_wait.arm()
        before = len(waits.waits)
        at_exit()
        moments += [now[0] - 1e9] * (len(waits.waits) - before)
        exit_wait.cancel()
        now[0] += 60
    assert moments == [600.0 * number for number in range(144)]
    assert all(0 < wait <= 0.25 for wait in waits.waits)
    now[0] -= 1e8  # a clock that is set back does not end it for years
    exit_wait.arm()
    at_exit()
    assert len(waits.waits) == 145
    exit_wait.cancel()


def test_several_clients_wait_at_exit_together(at_exit: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("dither.upload.worker.time", SimpleNamespace(monotonic=lambda: now[0]))

    def slow(timeout: float) -> bool:
        now[0] += timeout
        return False

    several = [ExitWait(0.25, 0.0, Attempts(dither.MemoryState(), Diagnostics(), ""), slow) for _ in range(5)]
    for exit_wait in several:
        exit_wait.arm()
    at_exit()
    assert now[0] == 100.25


def test_no_exit_waits_within_an_hour_of_a_failure() -> None:
    now = [1e9]
    attempts = Attempts(dither.MemoryState(), Diagnostics(), "", lambda: now[0])
    attempts.note("no", "no", {}, accepted=False)
    attempts.note("yes", "yes", {}, accepted=True)
    for later, may in ((0, False), (3599, False), (3600, True), (3601, True)):
        now[0] = 1e9 + later
        assert attempts.may_wait(0.0) == may


def test_an_exit_without_upload_or_after_ten_seconds_does_not_wait(
    at_exit: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr("dither.upload.worker.time", SimpleNamespace(monotonic=lambda: now[0]))
    attempts = Attempts(dither.MemoryState(), Diagnostics(), "")
    monkeypatch.setattr(attempts, "may_wait", lambda _: pytest.fail("asked"))
    for waits, age in ((Waits(rested=True), 0), (Waits(), 11)):
        exit_wait = ExitWait(0.25, 0.0, attempts, waits)
        exit_wait.arm()
        now[0] += age
        at_exit()
        exit_wait.cancel()
        assert waits.waits == []


def test_control_c_ends_the_wait_at_exit_without_traceback(at_exit: Callable[[], None]) -> None:
    def interrupted(timeout: float) -> bool:
        if timeout:
            raise KeyboardInterrupt
        return False

    exit_wait = ExitWait(0.25, 0.0, Attempts(dither.MemoryState(), Diagnostics(), ""), interrupted)
    exit_wait.arm()
    at_exit()
    exit_wait.cancel()


@pytest.mark.parametrize("forked", [False, True])
def test_the_exit_of_a_forked_child_does_not_wait_for_the_parents_report(
    at_exit: Callable[[], None], forked: bool
) -> None:
    state, stuck = dither.MemoryState("on"), Stuck()
    parts_on(state).record("mobile", True)
    parts = parts_on(state, transport=stuck, **EXITS)
    parts.start()
    assert stuck.started.wait(60)
    if forked:
        stuck.started.clear()
        parts.after_fork()
        parts.record("theme", "dark")
        parts.uploader.wake()
        assert stuck.started.wait(60)
    at_exit()
    assert (json.loads(state.recall("delivery"))["exit_at"] > 0) is not forked
    parts.close()
    stuck.release.set()
    join_uploads()


# Programs that end at once upload what an earlier run left, however they end.

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
