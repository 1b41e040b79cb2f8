"""Shared by the tests of the client: a few metrics, a calendar that stands still, and a scripted transport."""

import threading
from collections.abc import Callable, Iterable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import dither
from dither.core import ClientCore, Setup
from dither.state.folder import FolderState
from dither.upload.schedule import UploadSchedule
from dither.upload.transport import Transport
from dither.upload.uploader import Uploader
from dither_shared import (
    Batch,
    BooleanQuestion,
    ChoiceQuestion,
    Metric,
    RandomizedResponse,
    Rappor,
    Report,
    StringQuestion,
)

ENDPOINT = "http://127.0.0.1:9"  # the discard port refuses an upload by mistake

MOBILE = Metric("mobile", BooleanQuestion(), RandomizedResponse.calibrate(2, 1.0))
THEME = Metric("theme", ChoiceQuestion(("light", "dark", "system")), RandomizedResponse.calibrate(4, 1.0))
SURVEY = Metric("survey", BooleanQuestion(), RandomizedResponse.calibrate(2, 1.0), period="once")
WEEKLY = Metric("weekly", BooleanQuestion(), RandomizedResponse.calibrate(2, 1.0), period="week")
_RAPPOR = Rappor.calibrate(None, 2.0, 4.0, cohorts=8, bits=64)
BROWSER = Metric("browser", StringQuestion(), _RAPPOR)
EDITOR = Metric("editor", StringQuestion(), _RAPPOR)
METRICS = {metric.name: metric for metric in (MOBILE, THEME, SURVEY, WEEKLY, BROWSER, EDITOR)}


class Calendar:
    """A UTC date that changes when a test says so."""

    def __init__(self) -> None:
        self.day = date(2026, 11, 18)  # a Wednesday

    def __call__(self) -> date:
        return self.day

    def pass_days(self, days: int) -> None:
        """Move the date forward by ``days``, or back if negative."""
        self.day += timedelta(days=days)


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 5000.0

    def __call__(self) -> float:
        return self.now


class Script:
    """A transport that keeps what was sent and answers from a list; then 202, or nothing at all if it is down."""

    def __init__(self, answers: Iterable[int | dither.Answer | OSError] = (), *, down: bool = False) -> None:
        self.bodies: list[bytes] = []
        self.down = down
        self.answers = list(answers)
        self._lock = threading.Lock()

    def send(self, body: bytes) -> dither.Answer:
        with self._lock:
            self.bodies.append(body)
            answer = self.answers.pop(0) if self.answers else OSError("down") if self.down else 202
        if isinstance(answer, OSError):
            raise answer
        return dither.Answer(answer) if isinstance(answer, int) else answer


class Stuck(Script):
    """A transport whose uploads hang until they are released."""

    def __init__(self) -> None:
        super().__init__()
        self.started = threading.Event()
        self.release = threading.Event()

    def send(self, body: bytes) -> dither.Answer:
        self.started.set()
        self.release.wait(60)
        return super().send(body)


State = Path | dither.MemoryState
Make = Callable[..., dither.Client]


def parts_on(state: State | FolderState, **other: Any) -> ClientCore:
    """Return the core of another client of the same device state, as in another process."""
    usual: dict[str, Any] = {"app": "tests", "metrics": METRICS, "endpoint": ENDPOINT, "spread": 0.0}
    usual |= {"state": FolderState(state) if isinstance(state, Path) else state, "today": Calendar()}
    return ClientCore(Setup(**(usual | other)))


def uploader_of(
    parts: ClientCore,
    transport: Transport,
    schedule: UploadSchedule | None = None,
    permitted: Callable[[], bool] = lambda: True,
) -> Uploader:
    """Return an uploader of the waiting reports, whose steps a test takes one by one."""
    parts.journal.refresh()
    return Uploader(parts.journal, parts.attempts, transport, permitted, print, schedule or UploadSchedule(0.0))


def compact(state: State, today: Calendar, **other: Any) -> None:
    """Compact a device's journal, as a client does when most of its records are obsolete."""
    journal = parts_on(state, today=today, **other).journal
    journal.refresh()
    journal.needs_compaction = True
    journal.compact()
    journal.close()


def upload_threads() -> list[threading.Thread]:
    """Return the threads of this process that upload."""
    return [thread for thread in threading.enumerate() if thread.name == "dither"]


def join_uploads() -> None:
    """Wait until the clients have no upload left or are closed, and their threads have ended."""
    for thread in upload_threads():
        thread.join(60)
        assert not thread.is_alive()


def reports(bodies: Iterable[bytes]) -> list[tuple[str, Report]]:
    """Return the metric's name and the report of each body of one row."""
    batches = [Batch.decode(body) for body in bodies]
    return [(batch.metric, Report.decode(batch.reports, METRICS[batch.metric].mechanism)) for batch in batches]
