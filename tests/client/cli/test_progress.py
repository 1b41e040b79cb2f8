"""Progress of an audit, which takes long."""

import io
import os
import signal
import subprocess
import sys
from typing import NoReturn

import pytest

from dither.cli.developers import Progress

pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_of_an_audit_on_a_terminal_is_one_line_erased_at_the_end() -> None:
    terminal, now = _Terminal(), [0.0]
    with Progress("audit", 1000, terminal, lambda: now[0]) as progress:
        for _ in range(10):
            progress.advance(100)
            now[0] += 0.06
    assert terminal.getvalue().split("\r")[1:-2] == [f"audit: {percent}%" for percent in (10, 30, 50, 70, 90)]
    assert terminal.getvalue().endswith(f"\r{' ' * len('audit: 90%')}\r")
    assert "\n" not in terminal.getvalue()


def test_progress_of_an_audit_in_a_log_is_a_line_every_five_seconds() -> None:
    log, now = io.StringIO(), [0.0]
    with Progress("audit", 100, log, lambda: now[0]) as progress:
        for _ in range(100):
            progress.advance(1)
            now[0] += 0.11
    assert log.getvalue().splitlines() == ["dither: audit: 47%", "dither: audit: 93%"]


def test_failure_to_print_progress_does_not_stop_an_audit() -> None:
    class Closed(io.StringIO):
        def write(self, _: str) -> NoReturn:
            raise BrokenPipeError

    now = [0.0]
    with Progress("audit", 2, Closed(), lambda: now[0]) as progress:
        for _ in range(2):
            now[0] += 10.0
            progress.advance(1)


def test_control_c_ends_an_audit_and_leaves_the_terminal_as_it_was() -> None:
    """Users took twenty seconds without output for a hang."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "dither", "audit", "--mechanism", "rappor", "--epsilon", "1"]
    with subprocess.Popen([*command, "--draws", "100000000"], stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        while b"%" not in shown:
            shown += os.read(ours, 1000)
        process.send_signal(signal.SIGINT)
        while True:
            try:
                shown += os.read(ours, 1000)
            except OSError:  # the other end is closed
                break
        assert process.wait(60) == 130
    os.close(ours)
    assert shown.startswith(b"\raudit of rappor (1 of 1): 0%")
    assert shown.endswith(b" \r")
    assert b"Traceback" not in shown
