"""An exception of the host's signal handler between any two steps leaves no lock held and no report unpaid."""

import inspect
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import pytest

from client.devices import Calendar, Make, parts_on
from dither.reporting.journal import Journal
from dither.state.folder import FolderState
from dither.state.journal_records import Debit, Queued, from_lines
from dither.state.locks import FileLock, Owner, ThreadLock
from dither.upload.worker import Worker

_WATCHED = {"journal.py", "locks.py", "files.py", "folder.py", "recorder.py", "permission.py", "core.py"}


@pytest.fixture(autouse=True)
def _timeout() -> Iterator[None]:
    """Let the host's handler of a signal raise what the client's own calls of the system raise, too."""

    def timeout(*_: object) -> NoReturn:
        raise TimeoutError

    before = signal.signal(signal.SIGTERM, timeout)
    yield
    signal.signal(signal.SIGTERM, before)


def ours(file: str) -> bool:
    return "dither" in file and Path(file).name in _WATCHED


class Interrupt:
    """Lets the signal arrive before the ``number``-th line, or byte code, of the files that are ``watched``."""

    def __init__(self, number: int, watched: Callable[[str], bool], *, opcodes: bool) -> None:
        self.left = number
        self._watched = watched
        self._event = "opcode" if opcodes else "line"

    def __call__(self, frame: FrameType, event: str, _: Any) -> "Interrupt | None":
        code = frame.f_code
        if not self._watched(code.co_filename):
            return None
        frame.f_trace_opcodes = self._event == "opcode"
        if event == self._event:
            self.left -= 1
            if not self.left:
                signal.raise_signal(signal.SIGTERM)
        return self


def interrupted(
    number: int, work: Callable[[], object], watched: Callable[[str], bool] = ours, *, opcodes: bool
) -> TimeoutError | None:
    """Return the exception that was raised, with the frames that it passed, or None if the call had fewer steps."""
    before, interrupt = sys.gettrace(), Interrupt(number, watched, opcodes=opcodes)
    here = inspect.currentframe()
    assert here is not None
    here.f_trace_opcodes = opcodes  # without it Python 3.12.1 traces byte codes only from the second settrace on
    sys.settrace(interrupt)
    try:
        work()
    except TimeoutError as error:
        return error
    finally:
        sys.settrace(before)
    assert interrupt.left > 0, "the exception is not lost"
    return None


def paid_and_queued(folder: Path) -> tuple[Counter[tuple[str, int]], Counter[tuple[str, int]]]:
    """Return how many debits and reports of each metric and day the journal holds."""
    records, damaged, torn = from_lines((folder / "journal").read_bytes())
    assert (damaged, torn) == (0, False)
    paid = Counter((record.name, record.day) for record in records if isinstance(record, Debit))
    return paid, Counter((record.name, record.day) for record in records if isinstance(record, Queued))


@pytest.mark.parametrize("opcodes", [False, True], ids=["lines", "opcodes"])
@pytest.mark.parametrize("fresh", [False, True], ids=["kept open", "opened"])
def test_interrupt_at_any_step_of_a_record_leaves_no_lock_held(
    make: Make, folder: Path, calendar: Calendar, monkeypatch: pytest.MonkeyPatch, opcodes: bool, fresh: bool
) -> None:
    monkeypatch.setattr("os.fsync", lambda _: None)
    monkeypatch.setattr(Journal, "compact", lambda *_, **__: None)  # the debits of all days are counted
    make(folder)  # the user consents here
    parts = parts_on(folder, today=calendar)
    other = make(folder)  # it has separate descriptors, as another process would
    parts.record("mobile", True)
    step = 17 if opcodes else 2
    number, caught = 0, None
    while number == 0 or caught:
        number += step
        calendar.pass_days(1)
        if fresh:
            parts.journal.close()
        caught = interrupted(number, lambda: parts.record("mobile", True), opcodes=opcodes)
        other.record("theme", "dark")
        parts.record("browser", "firefox")
        parts.record("mobile", True)
    status = parts.status()
    assert number > 50
    assert status.trouble == other.status().trouble == {}
    assert {metric.name: metric.reports for metric in status.metrics if metric.reports} == {
        "mobile": len(range(0, number, step)) + 1,
        "theme": len(range(0, number, step)),
        "browser": len(range(0, number, step)),
    }
    paid, queued = paid_and_queued(folder)
    assert paid == queued
    assert set(paid.values()) == {1}, "each answer once, whether its call returned or not"


@pytest.mark.parametrize("method", [False, True])
def test_exception_of_a_signal_handler_passes_and_the_next_record_works(make: Make, folder: Path, method: bool) -> None:
    class Handler(Calendar):
        """A calendar during whose reading a signal arrives, and the object that handles it."""

        armed = False

        def __call__(self, *signalled: object) -> date:
            if signalled:
                raise TimeoutError
            if self.armed:
                self.armed = False
                signal.raise_signal(signal.SIGTERM)
            return super().__call__()

    handler = Handler()
    client = make(folder, today=handler, strict=False)
    before = signal.signal(signal.SIGTERM, handler.__call__ if method else handler)
    try:
        handler.armed = True
        with pytest.raises(TimeoutError):
            client.record("mobile", True)
    finally:
        signal.signal(signal.SIGTERM, before)
    client.record("mobile", True)
    assert (client.status().queued, client.status().trouble) == (1, {})


def test_exception_of_an_enumeration_is_not_taken_for_that_of_a_handler(make: Make, folder: Path) -> None:
    """The default of a signal is itself a member of one, whose class is called like a handler."""

    def calendar() -> date:
        return date.max if signal.Signals(10**6) else date.min

    client = make(folder, today=calendar, strict=False)
    client.record("mobile", True)
    assert any(kind.startswith("record failed: ValueError") for kind in client.status().trouble)


def test_interrupt_at_any_step_of_sending_frees_the_lock(make: Make, folder: Path) -> None:
    client = make(folder)
    client.record("mobile", True)
    state, number, caught = FolderState(folder), 0, None

    def send() -> None:
        with state.sending():
            pass

    while number == 0 or caught:
        number += 1
        caught = interrupted(number, send, opcodes=False)
        lock = FileLock(str(folder / "sending"), 1)
        assert lock.acquire()
        lock.release()


def test_interrupt_within_a_condition_of_the_standard_library_leaves_the_worker_to_other_threads() -> None:
    """Its steps are in Python; those of a lock are not."""
    worker, number, caught = Worker(lambda: None, print), 0, None
    while number == 0 or caught:
        number += 1
        caught = interrupted(number, worker.close, threading.__file__.__eq__, opcodes=True)
        other = threading.Thread(target=worker.rested, args=(0,), daemon=True)
        other.start()
        other.join(20)
        assert not other.is_alive(), caught
    assert number > 10


def test_the_lock_of_a_dropped_owner_is_free() -> None:
    lock, dropped, next_one = ThreadLock(), Owner(), Owner()
    assert lock.acquire(dropped)
    assert lock.is_held(dropped)
    lock.release(next_one)
    assert lock.is_held(dropped), "no client releases the lock of another"
    del dropped
    assert lock.acquire(next_one)
    assert lock.is_held(next_one)
