"""Forks, threads, dying processes, and the cost of an import."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import dither
import dither_shared
from client.devices import METRICS, Calendar, Make, Script, Stuck
from dither.upload.worker import Worker
from dither_shared.encoding import Answers
from dither_shared.questions.listed import BooleanQuestion

FLOORS = [str(Path(module.__file__ or "").parents[1]) for module in (dither, dither_shared)]
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
needs_posix = pytest.mark.skipif(os.name != "posix", reason="signals, modes and devices are those of POSIX")


def run(
    program: str, *arguments: str, python: str = sys.executable, options: Iterable[str] = ("-I", "-S")
) -> subprocess.CompletedProcess[str]:
    """Run a program in a Python that has only the standard library and the project's two device packages."""
    command = [python, *options, "-c", f"import sys; sys.path[:0] = {FLOORS!r}\n{program}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


def in_threads(*works: Callable[[], object]) -> None:
    """Call each of ``works`` in a thread of its own, all at once, and wait for their ends."""
    start = threading.Barrier(len(works))
    threads = [threading.Thread(target=lambda work=work: (start.wait(60), work())) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
        assert not thread.is_alive()


def in_child(work: object) -> int:
    """Fork, call ``work`` in the child, and return its exit status; a child that hangs is killed by its alarm."""
    child = os.fork()
    if child == 0:
        signal.alarm(120)
        try:
            work()  # type: ignore[operator]
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_client_runs_with_the_standard_library_alone() -> None:
    done = run(
        "import dither\n"
        "[getattr(dither, name) for name in dither.__all__]\n"
        "import dither.__main__, http.client, logging\n"
        "client = dither.Client({}, 'http://127.0.0.1:9', 'app', dither.MemoryState('on'))\n"
        "ours = ('dither', 'dither_shared', '__main__')\n"
        "print([name for name in sys.modules if name.split('.')[0] not in sys.stdlib_module_names and\n"
        "       name.split('.')[0] not in ours])\n"
    )
    assert done.stderr == ""
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("work", "unused"),
    [
        ("", "dither.client dither_shared dataclasses ssl tomllib http.client argparse logging threading"),
        (
            "dither.Client({}, 'https://example.org', 'app', dither.MemoryState('on'))",
            "ssl http.client argparse logging email dither.transparency.status dither.transparency.explain",
        ),
    ],
    ids=["import", "off"],
)
def test_import_and_a_client_that_is_off_load_few_modules(work: str, unused: str) -> None:
    done = run(f"import dither\n{work}\nprint({{*{unused.split()}}} & sys.modules.keys())")
    assert done.stdout.strip() == "set()", done.stderr


def test_every_lazy_name_is_in_its_stated_module() -> None:
    assert {name for name in dither.__all__ if getattr(dither, name).__name__ != name} == set()
    assert dir(dither) == sorted(dither.__all__)
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = dither.nothing_of_the_kind


_RECORDS_AND_DIES = """
import dither, os, signal, datetime
metrics = dither.load_metrics(sys.argv[1])
day = datetime.date(2026, 11, 18).toordinal()
client = dither.Client(
    metrics, "http://127.0.0.1:9", "app", sys.argv[2], today=lambda: datetime.date.fromordinal(day), environ={}
)
client.consent("on")
for _ in range(int(sys.argv[3])):
    client.record("theme", "dark")
    day += 0 if sys.argv[4] == "same" else 1
print("recorded", flush=True)
if sys.argv[5] == "die":
    os.kill(os.getpid(), signal.SIGKILL)
"""


@needs_posix
def test_recorded_answer_survives_kill_9(definitions: str, folder: Path, make: Make, calendar: Calendar) -> None:
    done = run(_RECORDS_AND_DIES, definitions, str(folder), "25", "next", "die")
    assert done.stdout == "recorded\n"
    assert done.returncode == -signal.SIGKILL
    calendar.pass_days(24)
    client = make(folder, metrics=definitions)
    assert client.status().queued == 25
    assert client.status().metrics[0].reports == 25


def test_processes_that_share_a_state_report_once(definitions: str, folder: Path, make: Make) -> None:
    in_threads(*[lambda: run(_RECORDS_AND_DIES, definitions, str(folder), "30", "same", "live")] * 3)
    client = make(folder, metrics=definitions, mode=None)
    assert client.status().queued == 1
    assert client.status().metrics[0].reports == 1
    assert client.status().trouble == {}


def test_threads_that_share_a_client_report_once(make: Make, folder: Path) -> None:
    client = make(folder)

    def work() -> None:
        for name in METRICS:
            client.record(name, "true")

    in_threads(*[work] * 8)
    assert client.status().trouble == {}
    assert client.status().queued == len(METRICS)
    assert client.status().ignored == 7 * len(METRICS)
    assert {metric.reports for metric in client.status().metrics} == {1}


class Holding(Calendar):
    """A calendar that stops the thread ``held_by`` when it reads the date while holding the journal."""

    def __init__(self) -> None:
        super().__init__()
        self.held_by: threading.Thread | None = None
        self.holding, self.let_go = threading.Event(), threading.Event()

    def __call__(self) -> date:
        if threading.current_thread() is self.held_by:
            self.holding.set()
            self.let_go.wait(60)
        return super().__call__()


@needs_fork
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_fork_with_locks_held_and_an_upload_under_way_is_safe(make: Make, folder: Path) -> None:
    sent, calendar = Stuck(), Holding()
    client = make(folder, transport=sent, background=True, today=calendar)
    client.record("mobile", True)
    assert sent.started.wait(60)

    def child() -> None:
        sent.release.set()  # the child's own copy: its transport would send at once
        client.record("mobile", False)
        client.record("theme", "dark")
        client.flush(0.1)
        assert client.status().ignored == 1
        assert client.status().queued == 2
        assert sent.bodies == [], "the parent is sending"

    assert in_child(child) == 0
    holder = threading.Thread(target=client.preview)
    calendar.held_by = holder
    holder.start()
    assert calendar.holding.wait(60)
    # Another thread holds the journal permanently: the child is refused, but it neither hangs nor writes.
    assert in_child(lambda: client.record("survey", True)) == 0
    calendar.let_go.set()
    holder.join()
    sent.release.set()
    assert client.flush(60)
    assert len(sent.bodies) == 2
    assert client.status().trouble == {}


@needs_fork
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_fork_while_a_thread_computes_a_metric_property_does_not_hang(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, whole = make(metrics={"mobile": replace(METRICS["mobile"])}), BooleanQuestion.answers
    begun, go_on = threading.Event(), threading.Event()

    def slow(*arguments: Any) -> Answers:
        begun.set()
        assert go_on.wait(60)
        return whole(*arguments)

    monkeypatch.setattr(BooleanQuestion, "answers", slow)
    first = threading.Thread(target=client.record, args=("mobile", True))
    first.start()
    assert begun.wait(60)

    def child() -> None:
        go_on.set()  # the child's own copy
        client.record("mobile", True)
        assert client.status().queued == 1

    assert in_child(child) == 0
    go_on.set()
    first.join()
    assert client.status().queued == 1


@needs_fork
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_forked_child_sends_what_waits_once_while_its_parents_worker_rests(make: Make, folder: Path) -> None:
    sent = Script()
    client = make(folder, transport=sent, background=True, spread=1e6)
    client.record("mobile", True)

    def child() -> None:
        client.record("theme", "dark")
        assert client.flush(20)
        assert len(sent.bodies) == 2

    assert in_child(child) == 0
    assert client.flush(60)
    assert sent.bodies == []
    assert (client.status().sent, client.status().trouble) == (2, {})


@needs_fork
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_worker_runs_in_a_child_that_was_forked_while_its_lock_was_held() -> None:
    stepped, statuses = threading.Event(), list[int]()

    def step() -> float:
        stepped.set()
        return 60.0

    worker = Worker(step, print)

    def child() -> None:
        stepped.clear()
        worker.after_fork()
        worker.wake()
        assert stepped.wait(20)

    def over() -> bool:  # called with the lock
        statuses.append(in_child(child))
        return True

    worker.flush(60, over)
    worker.close()
    assert statuses == [0]


@needs_fork
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_forked_child_does_not_send_its_parents_in_memory_reports(make: Make) -> None:
    sent = Script()
    client = make(transport=sent)
    client.record("mobile", True)

    def child() -> None:
        assert client.preview() == []
        assert client.flush(60)
        assert sent.bodies == []
        client.record("mobile", True)
        assert client.status().queued == 0

    assert in_child(child) == 0
    assert client.status().queued == 1


def test_a_signal_handler_that_records_does_not_hang(make: Make, folder: Path) -> None:
    handled = [lambda: client.record("theme", "dark")]

    class Interrupted(Calendar):
        """A calendar whose reading is interrupted by a signal; in a transaction the holder of the journal reads it."""

        def __call__(self) -> date:
            while recorded and handled:
                handled.pop()()
            return super().__call__()

    recorded: list[bool] = []
    client: dither.Client = make(folder, today=Interrupted())
    client.record("mobile", True)
    recorded.append(True)
    assert len(client.preview()) == 1
    assert client.status().trouble == {"record failed: BusyError": 1}
    client.record("theme", "dark")
    assert client.status().queued == 2
