"""The processes that fold: the command, which stops where a test asks for it, and a Dask cluster."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from server.collecting import environment
from server.test_process import PATIENCE

__all__ = ["WRITE", "Cluster", "Command"]

WRITE = "WRITE"
"""Where the command stops if that is at no step: before it opens, renames or deletes a file.

Not before it opens a journal, because then it holds the lock of all journals: while it stands still, collectors that
need a fresh one answer 503.
"""

_ENVIRONMENT = {**os.environ, "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "1s"}
"""Timeout of a cluster, whose scheduler tries by default for 30 s to get a result from a worker that is gone."""

_HERE = "here\n"

_COMMAND = f"""
import os, sys
from dataclasses import replace
from dither_server.cli.main import cli
from dither_spool.fold import Folding

where, left = sys.argv[1], int(sys.argv[2])
fold = Folding.fold

def passed(place):
    global left
    left -= place == where
    if place == where and left == 0:
        print("here", flush=True)
        sys.stdin.readline()

def hear(event, arguments):
    opened = event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)
    if opened and str(arguments[0]).endswith(".journal"):
        return
    if opened or event in ("os.rename", "os.remove"):
        passed("{WRITE}")

Folding.fold = lambda self, wait: fold(replace(self, after=lambda step: passed(step.name)), wait)
if __name__ == "__main__":  # and not in a process that it starts
    sys.addaudithook(hear)
    cli(["fold", *sys.argv[3:]])
"""

_SCHEDULER = """
import asyncio
from distributed import Scheduler

async def main():
    async with Scheduler(host="127.0.0.1", port=0, dashboard_address=None) as scheduler:
        print(scheduler.address, flush=True)
        await scheduler.finished()

asyncio.run(main())
"""

_WORKER = """
import asyncio, sys
from distributed import Worker

async def main():
    async with Worker(sys.argv[1], nthreads=1, dashboard=False) as worker:
        print(worker.address, flush=True)
        await worker.finished()

asyncio.run(main())
"""


class Command:
    """``dither-server fold`` on the spool of a folder. It stops the given time that it comes ``where``, and waits."""

    def __init__(self, folder: Path, where: str = "", time: int = 0, options: Sequence[str] = ()) -> None:
        arguments = [where, str(time), "--spool", str(folder / "spool"), "--json", *options]
        self.log = folder / "fold.log"
        with self.log.open("w", encoding="utf-8") as log:
            self.process = _begun(_COMMAND, arguments, environment(folder), log)
        self.watch = threading.Timer(3 * PATIENCE, self.process.kill)
        self.watch.daemon = True
        self.watch.start()
        assert self.process.stdout is not None
        self.said = ""
        while where and (line := self.process.stdout.readline()) and line != _HERE:
            self.said += line
        self.stopped = bool(where) and line == _HERE

    def processes(self) -> list[int]:
        """Return the ids of the processes that it started to share the work with."""
        listing = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        children = [int(one) for one in Path(listing).read_text("ascii").split()]
        return [child for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]

    def kill(self) -> None:
        """Kill it, where it has stopped."""
        self.process.kill()
        assert self._ended()[0] == -signal.SIGKILL

    def go_on(self) -> bool:
        """Let it go on to its end; return whether it did all of its work, and did not say that workers are lost.

        Raises AssertionError if it fails otherwise, or comes upon batches that no client sent.
        """
        code, output, errors = self._ended()
        last = (errors.splitlines() or [""])[-1]
        lost = "a worker process was killed" in last or " is lost (" in last
        assert code == 0 or (code == 1 and lost), (code, errors)
        for line in output.splitlines():
            assert (report := json.loads(line))["conflicts"] == report["damaged"] == 0, report
        return code == 0

    def _ended(self) -> tuple[int, str, str]:
        with self.process as process:
            assert process.stdin is not None
            assert process.stdout is not None
            with suppress(BrokenPipeError):
                process.stdin.close()
            output = self.said + process.stdout.read()
        self.watch.cancel()
        return process.returncode, output, self.log.read_text("utf-8")


class Cluster:
    """A Dask scheduler and two workers, each a process, started when they are needed."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.address = ""
        self.scheduler: list[subprocess.Popen[str]] = []
        self.workers: list[subprocess.Popen[str]] = []

    def start(self) -> None:
        """Start the processes that are not alive. Workers do not outlive the scheduler."""
        if not all(_alive(self.scheduler)):
            self.close()
        with self.log.open("a", encoding="utf-8") as log:
            if not self.scheduler:
                self.scheduler = [_begun(_SCHEDULER, [], _ENVIRONMENT, log)]
                self.address = _line(self.scheduler[0])
            alive = _alive(self.workers)
            _end([one for one, lives in zip(self.workers, alive, strict=True) if not lives])
            self.workers = [one for one, lives in zip(self.workers, alive, strict=True) if lives]
            fresh = [_begun(_WORKER, [self.address], _ENVIRONMENT, log) for _ in range(2 - len(self.workers))]
        for one in fresh:
            _line(one)
        self.workers += fresh

    def close(self) -> None:
        """Kill the remaining processes."""
        _end(self.workers + self.scheduler)
        self.workers, self.scheduler = [], []


def _begun(script: str, arguments: Sequence[str], env: Mapping[str, str], log: IO[str]) -> "subprocess.Popen[str]":
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=log, text=True, env=env)


def _line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    assert line, f"{process.args!r} has ended"
    return line


def _alive(processes: Sequence["subprocess.Popen[str]"]) -> list[bool]:
    return [process.poll() is None for process in processes]


def _end(processes: Sequence["subprocess.Popen[str]"]) -> None:
    for process in processes:
        process.kill()
        process.communicate()
