"""Programs that end at once bring what an earlier run left, and wait for that a moment; no other exit waits."""

import json
import os
import socket
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
from client.test_lives import python_of
from client.test_processes import FLOORS, needs_fork, run
from dither.diagnostics import Diagnostics
from dither.upload.attempts import Attempts
from dither.upload.exits import ExitWait
from dither_shared import Batch

FIRST = date(2026, 11, 18).toordinal()

_ENDS_AT_ONCE = """
import datetime, os, signal, dither
day = datetime.date.fromordinal(int(sys.argv[4]))
surroundings = {"today": lambda: day, "environ": {"DITHER": "on"}}
client = dither.Client(sys.argv[1], sys.argv[3], "app", sys.argv[2], exit_every=0, exit_wait=20, **surroundings)
client.record("theme", "dark")
"""


@pytest.fixture
def definitions(tmp_path: Path) -> str:
    path = tmp_path / "metrics.toml"
    path.write_text('[metrics.theme]\ntype = "choice"\nvalues = ["light", "dark"]\nepsilon = 1.0\n')
    return str(path)


def days(collector: Collector) -> int:
    """Return how many reports arrived, each counted once."""
    return len({Batch.decode(one.body).batch for one in collector.arrived})


def test_forty_programs_that_end_at_once_bring_their_reports(
    definitions: str, folder: Path, collector: Collector
) -> None:
    program = _ENDS_AT_ONCE.replace("exit_wait=20", "exit_wait=0.25") + "import time; time.sleep(0.05)\n"
    for number in range(40):
        done = run(program, definitions, str(folder), collector.endpoint, str(FIRST + number))
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert days(collector) >= 30  # each run but the first finds one


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("", 0),
        ("sys.exit(3)", 3),
        ("1 / 0", 1),
        ("os.kill(os.getpid(), signal.SIGINT)", None),  # Python says -2 or 1
        ("signal.signal(signal.SIGTERM, lambda *_: sys.exit(4)); os.kill(os.getpid(), signal.SIGTERM)", 4),
        ("import threading; threading.Thread(target=lambda: None).start()", 0),
        ("del client; import gc; gc.collect()", 0),
    ],
)
def test_however_it_ends(definitions: str, folder: Path, collector: Collector, ending: str, code: int | None) -> None:
    for number in range(2):
        done = run(_ENDS_AT_ONCE + ending, definitions, str(folder), collector.endpoint, str(FIRST + number))
        assert code is None or done.returncode == code
        assert "dither" not in done.stderr.replace("dither.Client", "")
    assert days(collector) == 1


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_in_all_versions(definitions: str, folder: Path, collector: Collector, version: str) -> None:
    """They differ in what threads may still do at exit."""
    program = f"import sys; sys.path[:0] = {FLOORS!r}\n{_ENDS_AT_ONCE}"
    for number in range(3):
        arguments = [definitions, str(folder), collector.endpoint, str(FIRST + number)]
        done = subprocess.run(
            [python_of(version), "-I", "-S", "-c", program, *arguments], capture_output=True, timeout=60, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert days(collector) == 2


@pytest.mark.parametrize("ending", ["client.close()", "os._exit(0)"])
def test_whoever_closes_does_not_wait(definitions: str, folder: Path, ending: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as hung:
        endpoint = f"http://127.0.0.1:{hung.getsockname()[1]}"
        for number in range(2):
            program = _ENDS_AT_ONCE.replace("exit_wait=20", "exit_wait=1e6") + ending
            done = run(program, definitions, str(folder), endpoint, str(FIRST + number))
            assert (done.returncode, done.stderr) == (0, "")


def test_a_collector_that_never_answers_is_not_waited_for_long(definitions: str, folder: Path) -> None:
    program = _ENDS_AT_ONCE.replace("exit_wait=20", "exit_wait=0.25")
    with socket.create_server(("127.0.0.1", 0)) as hung:
        endpoint = f"http://127.0.0.1:{hung.getsockname()[1]}"
        for number in range(3):
            done = run(program, definitions, str(folder), endpoint, str(FIRST + number))
            assert (done.returncode, done.stderr) == (0, "")


@needs_fork
def test_a_child_does_not_wait_for_what_its_parent_sends(definitions: str, folder: Path, collector: Collector) -> None:
    program = _ENDS_AT_ONCE + (
        "child = os.fork()\n"
        "if child == 0:\n"
        "    sys.exit(7)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    for number in range(2):
        done = run(program, definitions, str(folder), collector.endpoint, str(FIRST + number))
        assert (done.stdout, done.stderr) == ("7\n", "")
    assert days(collector) == 1


@pytest.mark.parametrize("when", ["early", "late"])
def test_under_gevent(definitions: str, folder: Path, collector: Collector, when: str) -> None:
    pytest.importorskip("gevent", reason="gevent is not installed")
    patch = "import sys\nfrom gevent import monkey; monkey.patch_all()\n"
    program = patch + _ENDS_AT_ONCE if when == "early" else "import sys\n" + _ENDS_AT_ONCE + patch
    for number in range(2):
        arguments = [definitions, str(folder), collector.endpoint, str(FIRST + number)]
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program.replace("exit_wait=20", "exit_wait=5"), *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=os.environ,
        )
        assert (done.returncode, done.stderr) == (0, "")
    assert days(collector) == 1


@pytest.fixture
def at_exit(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return a function that does what was registered for the exit of the program."""
    registered: list[Callable[[], None]] = []

    def unregister(function: Callable[[], None]) -> None:
        registered[:] = [one for one in registered if one is not function]

    monkeypatch.setattr(
        "dither.upload.exits.atexit", SimpleNamespace(register=registered.append, unregister=unregister)
    )
    monkeypatch.setattr("dither.upload.exits._armed", weakref.WeakSet())

    def leave() -> None:
        for function in registered:
            function()

    return leave


def waited(folder: Path) -> bool:
    """Return whether the exit of some program of a device has waited, which it notes."""
    return (folder / "delivery").exists() and json.loads((folder / "delivery").read_bytes())["exit_at"] > 0


EXITS = {"exit_wait": 0.01, "exit_every": 0.0, "background": True}


@pytest.mark.parametrize(
    ("other", "waits"), [({}, True), ({"exit_wait": 0}, False), ({"background": False}, False)], ids=str
)
def test_a_run_that_finds_a_report_due_waits(
    make: Make, folder: Path, at_exit: Callable[[], None], other: dict[str, object], waits: bool
) -> None:
    make(folder).record("mobile", True)
    stuck = Stuck()
    client = make(folder, mode=None, transport=stuck, **(EXITS | other))
    if "background" not in other:
        assert stuck.started.wait(10)
    at_exit()
    assert waited(folder) is waits
    client.close()
    stuck.release.set()


@pytest.mark.parametrize("how", ["it found none", "it is closed", "it rests"])
def test_any_other_run_does_not_wait(make: Make, folder: Path, at_exit: Callable[[], None], how: str) -> None:
    if how != "it found none":
        make(folder).record("mobile", True)
    stuck = Stuck()
    client = make(folder, transport=stuck, **EXITS)
    client.record("mobile", True)
    assert stuck.started.wait(10)
    if how == "it is closed":
        client.close()
    if how == "it rests":
        stuck.release.set()
        join_uploads()
    at_exit()
    assert not waited(folder)
    client.close()
    stuck.release.set()


@pytest.mark.parametrize("another", [False, True])
def test_a_report_that_the_collector_put_off_is_not_due(
    make: Make, folder: Path, at_exit: Callable[[], None], another: bool
) -> None:
    first = make(folder, transport=Script([dither.Answer(503, 60)]))
    first.record("mobile", True)
    assert not first.flush(5)
    notes = json.loads((folder / "delivery").read_bytes()) | {"failed_at": 0.0}  # after which no exit waits
    (folder / "delivery").write_text(json.dumps(notes))
    if another:
        first.record("theme", "dark")
    stuck = Stuck()
    client = make(folder, mode=None, transport=stuck, **EXITS)
    client.record("theme", "dark")
    client.flush(0)  # for its thread rests
    assert stuck.started.wait(10)
    at_exit()
    assert waited(folder) is another
    client.close()
    stuck.release.set()


class Waits:
    """Stands for a worker that is at an upload, and keeps for how long it was waited for."""

    def __init__(self, rested: bool = False) -> None:
        self.waits: list[float] = []
        self._rested = rested

    def __call__(self, timeout: float) -> bool:
        if timeout:
            self.waits.append(timeout)
        return self._rested


def test_an_exit_waits_at_most_as_long_as_it_may_and_not_again_soon(at_exit: Callable[[], None]) -> None:
    now = [1e9]
    attempts = Attempts(dither.MemoryState(), Diagnostics(), "", lambda: now[0])
    waits = Waits()
    moments = []
    for _ in range(24 * 60):
        one = ExitWait(0.25, 600.0, attempts, waits)
        one.arm()
        before = len(waits.waits)
        at_exit()
        moments += [now[0] - 1e9] * (len(waits.waits) - before)
        one.cancel()
        now[0] += 60
    assert moments == [600.0 * number for number in range(144)]
    assert all(0 < wait <= 0.25 for wait in waits.waits)
    now[0] -= 1e8  # a clock that is set back does not end it for years
    one.arm()
    at_exit()
    assert len(waits.waits) == 145
    one.cancel()


def test_several_clients_wait_together(at_exit: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("dither.upload.exits.time", SimpleNamespace(monotonic=lambda: now[0]))

    def slow(timeout: float) -> bool:
        now[0] += timeout
        return False

    several = [ExitWait(0.25, 0.0, Attempts(dither.MemoryState(), Diagnostics(), ""), slow) for _ in range(5)]
    for one in several:
        one.arm()
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


def test_an_exit_with_nothing_under_way_or_late_in_life_does_not_even_ask(
    at_exit: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr("dither.upload.exits.time", SimpleNamespace(monotonic=lambda: now[0]))
    attempts = Attempts(dither.MemoryState(), Diagnostics(), "")
    monkeypatch.setattr(attempts, "may_wait", lambda _: pytest.fail("asked"))
    for waits, age in ((Waits(rested=True), 0), (Waits(), 11)):
        one = ExitWait(0.25, 0.0, attempts, waits)
        one.arm()
        now[0] += age
        at_exit()
        one.cancel()
        assert waits.waits == []


def test_an_impatient_user_does_not_wait_and_sees_no_traceback(at_exit: Callable[[], None]) -> None:
    def interrupted(timeout: float) -> bool:
        if timeout:
            raise KeyboardInterrupt
        return False

    one = ExitWait(0.25, 0.0, Attempts(dither.MemoryState(), Diagnostics(), ""), interrupted)
    one.arm()
    at_exit()
    one.cancel()


@pytest.mark.parametrize("forked", [False, True])
def test_a_child_that_sends_does_not_wait_for_what_its_parent_found(at_exit: Callable[[], None], forked: bool) -> None:
    state, stuck = dither.MemoryState("on"), Stuck()
    parts_on(state).record("mobile", True)
    parts = parts_on(state, transport=stuck, **EXITS)
    parts.start()
    assert stuck.started.wait(10)
    if forked:
        stuck.started.clear()
        parts.after_fork()
        parts.record("theme", "dark")
        parts.uploader.wake()
        assert stuck.started.wait(10)
    at_exit()
    assert (json.loads(state.recall("delivery"))["exit_at"] > 0) is not forked
    parts.controls.stop()
    stuck.release.set()
    join_uploads()


@pytest.mark.parametrize("name", ["exit_wait", "exit_every"])
@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_a_time_that_cannot_be_is_named(make: Make, name: str, value: float) -> None:
    with pytest.raises(dither.ParameterError, match=rf"^{name}: "):
        make(**{name: value})
