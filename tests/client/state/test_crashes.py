"""Death of a process between any two system calls: every recorded answer is kept, and nothing is reported twice."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

import dither
from client.devices import ENDPOINT, METRICS, Calendar, Make, Script
from client.test_processes import needs_fork
from dither_shared import Batch, Report, parse_metrics

CALLS = ("open", "write", "ftruncate", "replace", "mkdir", "chmod", "unlink")
"""Calls that change the folder. Before any other call a process leaves what it leaves before the next of these."""

NAMES = ("mobile", "browser", "theme")


def die_at(number: int) -> None:
    """End this process, as if by kill -9, just before the ``number``-th system call from now on that changes files."""
    left, opened = [number], os.open

    def mortal(call: Callable[..., object]) -> Callable[..., object]:
        def wrapped(*arguments: object, **named: object) -> object:
            left[0] -= call is not opened or bool(arguments[1] & os.O_CREAT)  # type: ignore[operator]
            if left[0] == 0:
                os._exit(9)
            return call(*arguments, **named)

        return wrapped

    for name in CALLS:
        setattr(os, name, mortal(getattr(os, name)))


def live(folder: Path, number: int, pipe: int) -> NoReturn:
    """Record three answers, send them, note each in a pipe, and die at the ``number``-th system call."""
    write = os.write
    die_at(number)

    class Noted(Script):
        def send(self, body: bytes) -> dither.Answer:
            write(pipe, b"sent %b\n" % Batch.decode(body).batch.encode())
            return super().send(body)

    client = dither.Client(
        METRICS,
        ENDPOINT,
        "tests",
        folder,
        today=Calendar(),
        background=False,
        environ={"DITHER": "on"},
        transport=Noted(),
    )
    for name in NAMES:
        if name == NAMES[-1]:
            pytest.MonkeyPatch().setattr(
                "dither.reporting.journal._SLACK", 0
            )  # so that it is rewritten before the first upload
        client.record(name, "true")
        write(pipe, b"recorded\n")
    client.flush(60)
    os._exit(0)


def deaths(life: Callable[[Path, int, int], NoReturn], tmp_path: Path) -> Iterator[tuple[Path, list[str]]]:
    """Let processes die before their first system call, before their second, and so on until one lives to its end.

    Yields the folder and the notes that each process left.
    """
    status, number = 9, 0
    while status:
        number += 1
        folder = tmp_path / str(number)
        reading, noting = os.pipe()
        child = os.fork()
        if child == 0:
            life(folder, number, noting)
        os.close(noting)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status in {0, 9}
        with os.fdopen(reading, "rb") as pipe:
            yield folder, pipe.read().decode().splitlines()


@needs_fork
def test_state_survives_a_death_between_any_two_system_calls(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.fsync", lambda _: None)  # a killed process does not undo what it gave to the system
    number = 0
    for folder, notes in deaths(live, tmp_path):
        number += 1
        sent = {note.removeprefix("sent ") for note in notes if note.startswith("sent ")}
        check(make, folder, notes.count("recorded"), sent)
    assert number > 40, "each call was tried"


def check(make: Make, folder: Path, recorded: int, sent: set[str]) -> None:
    """Check the state after a death: every acknowledged answer is there once, and the next start is healthy.

    An unsent report must not count as sent.
    """
    script = Script()
    for draft in folder.glob("*.new"):
        os.utime(draft, (0, 0))  # as if it were older than a minute
    after = make(folder, mode=None, environ={"DITHER": "on"}, transport=script)
    kept = after.status().queued + after.status().sent
    assert {Batch.decode(body).batch for body in after.sent()} <= sent
    assert recorded <= kept <= len(NAMES)
    for name in NAMES:
        after.record(name, "true")
    bodies = [Batch.decode(body) for body in after.preview() + after.sent()]
    assert len({batch.batch for batch in bodies}) == len(bodies)
    assert all([batch.metric for batch in bodies].count(name) <= 1 for name in NAMES)
    assert len(bodies) >= len(NAMES) - (recorded < len(NAMES)), "at most the unfinished report is lost"
    after.flush(60)
    assert after.status().trouble == {}
    assert not list(folder.glob("*.new")), "no draft stays"


EVENTS = parse_metrics("""[metrics]
exports = {type = "choice", values = ["1", "2", "3"], of = "furthest", period = "week", epsilon = 20.0}
crash = {type = "boolean", of = "any", period = "week", epsilon = 20.0}
""")


def live_for_events(folder: Path, number: int, pipe: int) -> NoReturn:
    """Add events in two weeks, note each in a pipe, and die at the ``number``-th system call."""
    write, calendar = os.write, Calendar()
    die_at(number)
    client = dither.Client(
        EVENTS, ENDPOINT, "tests", folder, today=calendar, background=False, environ={"DITHER": "on"}
    )
    for step in ("1", "2"):
        client.add("exports", step)
        client.add("crash")
        write(pipe, b"%b\n" % step.encode())
    calendar.pass_days(7)
    client.add("exports", "3")
    write(pipe, b"3\n")
    os._exit(0)


@needs_fork
def test_events_survive_a_death_between_any_two_system_calls(
    make: Make, tmp_path: Path, calendar: Calendar, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.fsync", lambda _: None)
    for folder, notes in deaths(live_for_events, tmp_path):
        calendar.day = Calendar().day
        calendar.pass_days(7)
        reported: dict[str, list[str]] = {}
        for _ in range(2):
            after = make(folder, mode=None, metrics=EVENTS, environ={"DITHER": "on"})
            after.flush()  # no upload arrives, but the ended period is reported
            assert after.status().trouble.keys() <= {"upload failed: OSError"}
        for batch in map(Batch.decode, after.preview() + after.sent()):
            metric = EVENTS[batch.metric]
            (cell,) = Report.decode(batch.reports, metric.mechanism).cells(metric.mechanism)
            reported.setdefault(batch.metric, []).append(metric.labels[cell])
        first = next(iter(reported.get("exports", [])), "other")
        assert len(reported.get("exports", [])) <= 1
        assert len(reported.get("crash", [])) <= 1
        if notes:
            assert first in {max(notes[:2]), "2"}, "no event is lost whose add returned"
            assert reported["crash"] == ["true"]
