"""Measures of each library, each taken in fresh processes with a clean home folder."""

import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.sdks.collector import Collector, black_hole

__all__ = ["Bench", "Failed", "Numbers"]

Numbers = dict[str, list[float]]
"""The measures of each round."""

_SUBJECT = Path(__file__).with_name("subject.py")
_METRIC = '[metrics.browser-{}]\ntype = "string"\nmechanism = "rappor"\nbits = 128\nf = 0.5\np = 0.25\nq = 0.75\n'
_MANY = 1_000
"""Metrics, where each call is to make a report within the outbox's 30 days."""

_USUAL = 4
"""Metrics of an ordinary app; a few events then take 25 days."""

_ASKED = """
[metrics.theme]
type = "choice"
values = ["light", "dark", "system"]
epsilon = 1.0
[metrics.crashed]
type = "boolean"
epsilon = 1.0
[metrics.files]
type = "number"
low = 0
high = 1000
epsilon = 1.0
"""
"""The three questions of a small tool, of which the starts are measured."""

_IMPORTS = {"bare": "pass", "dither": "import dither", "sentry-sdk": "import sentry_sdk", "posthog": "import posthog"}
_STARTS = {
    "bare": "pass",
    "dither": "import dither; client = dither.Client('metrics.toml', endpoint='{}', app='bench')",
    "sentry-sdk": "import sentry_sdk; sentry_sdk.init('{}/1')",
    "posthog": "from posthog import Posthog; client = Posthog('key', host='{}')",
}
_FIRSTS = {
    "bare": "pass",
    "dither": "client.record('theme', 'dark')",
    "sentry-sdk": "sentry_sdk.capture_message('Firefox')",
    "posthog": "client.capture('browser', distinct_id='device', properties={'value': 'Firefox'})",
}

_ANSWERED = """
from datetime import UTC, datetime, timedelta
import dither
client = dither.Client('metrics.toml', '{}', 'bench', today=lambda: datetime.now(UTC).date() - timedelta({}))
client.consent('on')
for name, value in (('theme', 'dark'), ('crashed', False), ('files', 12)):
    client.record(name, value)
assert client.flush(120), "a report was not sent"
"""
_LEAVE = "import os; os._exit(0)"


class Failed(Exception):  # noqa: N818 - shown in place of the table
    """A process of a library did not do its task."""


class Bench:
    """Measures the libraries whose Pythons are given, by name, in a scratch folder."""

    def __init__(self, pythons: dict[str, Path], scratch: Path) -> None:
        self._pythons = pythons
        self._scratch = scratch
        self._kept = {name: scratch / name for name in ("settled", "yesterday", "today")}
        start = _STARTS["dither"] + "; client.close()"  # definitions are kept compiled by the second start
        with Collector() as collector:
            collector.open()
            with self._home(_metrics(_USUAL)) as home:
                self._do("dither", "settle", collector.endpoint, home)
                self._lifetime("dither", start.format(collector.endpoint), home)
                shutil.copytree(home, self._kept["settled"])
            for days, name in enumerate(("today", "yesterday")):
                with self._home(_ASKED) as home:
                    self._lifetime("dither", _ANSWERED.format(collector.endpoint, days), home)
                    self._lifetime("dither", start.format(collector.endpoint), home)
                    shutil.copytree(home, self._kept[name])

    def startup(self, library: str) -> Numbers:
        """Return the milliseconds that fresh interpreters live: empty, importing, starting, recording an event.

        The event is the first of the day. Processes with an event exit at once, as does an empty one, because
        the exit is measured elsewhere. dither is also measured with a report of today, and before the user was asked;
        these processes end as any program does.
        """
        with Collector() as down:
            start = _STARTS[library].format(_address(library, down))
            event = f"{start}; {_FIRSTS[library]}"
            codes = {
                "pass": ("pass", ""),
                "import": (_IMPORTS[library], ""),
                "start": (start, "today"),
                "left": (_LEAVE, ""),
                "first": (f"{event}; {_LEAVE}", "yesterday"),
            }
            if library == "dither":
                codes |= {"again": (event, "today"), "off": (event, "")}
            found: Numbers = {}
            for name, (code, kept) in codes.items():
                with self._home(_ASKED, kept) as home:
                    took, worked = self._lifetime(library, code, home)
                found |= {name: [took * 1e3], f"{name}, work": [worked * 1e3]}
            return found

    def memory(self, library: str) -> Numbers:
        """Return peaks of memory in KiB, each beside a bare interpreter's: after the import, after a few events."""
        numbers: Numbers = {}
        with Collector() as down:
            for name, subject, task in (
                ("bare", "bare", "imported"),
                ("import", library, "imported"),
                ("bare, events", "bare", "memory"),
                ("events", library, "memory"),
                ("upload", library, "uploading"),
            ):
                with self._home(_metrics(_USUAL), "settled") as home:
                    numbers[name] = self._numbers(library, task, down.endpoint, home, subject)
        return numbers

    def latency(self, library: str) -> Numbers:
        """Return the microseconds that calls take while connections are refused: by the clock, and of a processor."""
        found: list[float] = []
        with Collector() as down:
            for task in ("latency", "work"):
                with self._home(_metrics(_MANY)) as home:
                    found += self._numbers(library, task, down.endpoint, home)
        names = [
            f"{calls}{which}" for calls in ("", "early ", "again ", "work ") for which in ("p50", "p99", "longest")
        ]
        return {name: [number / 1e3] for name, number in zip(names, found, strict=True)}

    def survival(self, library: str, *, up: bool) -> Numbers:
        """Return how many events are left on disk, and how many ever arrive, after a kill when all were recorded."""
        with Collector() as collector, self._home(_metrics(_MANY)) as home:
            if up:
                collector.open()
            self._killed(library, collector.endpoint, home)
            before = len(collector.arrived)
            collector.open()
            waiting = self._numbers(library, "drain", collector.endpoint, home)
            return {"before": [before], "on disk": waiting, "arrived": [len(collector.arrived)]}

    def exit(self, library: str) -> Numbers:
        """Return the seconds from a program's last statement to its end: without and with an upload under way."""
        numbers: Numbers = {}
        for subject in ("bare", library):
            with black_hole() as hole, self._home(_metrics(_USUAL), "settled") as home:
                endpoint = f"http://127.0.0.1:{hole.getsockname()[1]}"
                last = self._numbers(library, "leave", endpoint, home, subject)[0]
                numbers["bare" if subject == "bare" else "exit"] = [time.monotonic() - last]
        return numbers

    @contextmanager
    def _home(self, metrics: str, kept: str = "") -> Iterator[Path]:
        """Enter with a fresh home, in which dither's state is new or, by its name, that of a device that answered."""
        with tempfile.TemporaryDirectory(dir=self._scratch) as name:
            home = Path(name)
            if kept:
                shutil.copytree(self._kept[kept], home, dirs_exist_ok=True)
            (home / "metrics.toml").write_text(metrics)
            yield home

    def _lifetime(self, library: str, code: str, home: Path) -> tuple[float, float]:
        """Return how many seconds an interpreter lives, and for how many it keeps a processor at work."""
        worked = _work_of_children()
        start = time.perf_counter()
        done = subprocess.run(
            [self._pythons[library], "-c", code], cwd=home, env=_environ(home), capture_output=True, check=False
        )
        took = time.perf_counter() - start
        _check(library, code, done.returncode, done.stderr)
        return took, _work_of_children() - worked

    def _numbers(self, library: str, task: str, endpoint: str, home: Path, subject: str = "") -> list[float]:
        return [float(word) for word in self._do(library, task, endpoint, home, subject).split()]

    def _do(self, library: str, task: str, endpoint: str, home: Path, subject: str = "") -> bytes:
        command = self._command(library, task, endpoint, subject)
        done = subprocess.run(command, cwd=home, env=_environ(home), capture_output=True, check=False)
        _check(library, task, done.returncode, done.stderr)
        return done.stdout

    def _killed(self, library: str, endpoint: str, home: Path) -> None:
        """Let a process record all events, and kill it at once."""
        command = self._command(library, "fill", endpoint)
        with subprocess.Popen(
            command, cwd=home, env=_environ(home), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            assert process.stdout is not None
            line = process.stdout.readline()
            process.kill()
        if not line:
            raise Failed(f"{library}: fill ended early")

    def _command(self, library: str, task: str, endpoint: str, subject: str = "") -> list[str]:
        return [str(self._pythons[library]), str(_SUBJECT), subject or library, task, endpoint]


def _metrics(count: int) -> str:
    return "".join(map(_METRIC.format, range(count)))


def _work_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _address(library: str, collector: Collector) -> str:
    return collector.endpoint.replace("://", "://key@") if library == "sentry-sdk" else collector.endpoint


def _environ(home: Path) -> dict[str, str]:
    """Return an environment without a proxy, a wish about tracking, a sign of a test or a ban on bytecode."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return kept | {"HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "TMPDIR": str(home)}


def _check(library: str, task: str, code: int, stderr: bytes) -> None:
    if code:
        last = stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
        raise Failed(f"{library}: {task}: {last[0]}")
