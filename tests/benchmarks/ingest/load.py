"""Servers in processes of their own, loaded by wrk from another: their throughput and its cost."""

import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from dither_shared import Metric
from server.collecting import batch, environment

CONNECTIONS = 64

_SERVERS: Mapping[str, Sequence[str]] = {
    "waitress": ("waitress", "--host=127.0.0.1", "--threads=64", "--connection-limit=1000", "--asyncore-use-poll"),
    "granian": ("granian", "--interface", "wsgi", "--no-ws", "--http", "1", "--blocking-threads", "64"),
    "gunicorn": ("gunicorn", "--worker-class", "gthread", "--threads", "64", "--keep-alive", "30"),
}


class Run(NamedTuple):
    """The result of a run: accepted requests per second of the wall and of CPU, and the p99 of answers in ms."""

    rate: float
    per_core: float
    p99: float


class Behind(NamedTuple):
    """The backend of a server: its settings, and the process whose children, such as PostgreSQL's, also work for it."""

    settings: Mapping[str, str] = MappingProxyType({})
    parent: int = -1


_ITSELF = Behind()


def why_not(*programs: str) -> str | None:
    """Return the missing program or package, or None if all are installed."""
    missing = [program for program in programs if shutil.which(program) is None]
    return f"apt-get install {' '.join(missing)}" if missing else None


@contextmanager
def slow_disk() -> Iterator[Sequence[str]]:
    """Return the words in front of a command that make every fsync take 2 ms longer."""
    with tempfile.TemporaryDirectory() as folder:
        library, source = f"{folder}/slow_disk.so", str(Path(__file__).with_name("slow_disk.c"))
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", library, source, "-ldl"], check=True)
        yield ["env", f"LD_PRELOAD={library}"]


def measure(
    server: str,
    app: str | None,
    toml: str,
    reports: tuple[Metric, bytes],
    seconds: int = 4,
    before: Sequence[str] = (),
    behind: Behind = _ITSELF,
) -> Run:
    """Load a server of ``app`` (None: ``dither-server run``) with batches of these reports over 64 connections."""
    metric, rows = reports
    body = json.loads(batch(metric, rows).encode())
    rest = ", ".join(f'"{name}": "{value}"' for name, value in body.items() if name != "batch") + "}"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "metrics.toml").write_text(toml, encoding="utf-8")
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        surroundings = {**environment(Path(folder)), "BASELINE": folder, **behind.settings}
        with _running([*before, sys.executable, "-m", *_command(server, app, port)], surroundings, port) as session:
            address = f"http://127.0.0.1:{port}"
            load(address, "report.lua", rest, seconds=1)
            used = _cpu_seconds(session, behind.parent)
            found = load(address, "report.lua", rest, seconds=seconds)
            used = _cpu_seconds(session, behind.parent) - used
    return Run(found["requests"] / found["seconds"], found["requests"] / used, found["p99"])


HEAD = ("requests/s", "times the first", "per core", "times the first", "p99 ms")


def compare(servers: Mapping[str, Callable[[], Run]], rounds: int) -> list[list[str]]:
    """Print and return rows of the medians of each server's runs, which alternate, as ``HEAD`` has them."""
    runs: dict[str, list[Run]] = {name: [] for name in servers}
    for _ in range(rounds):
        for name, measured in servers.items():
            runs[name].append(measured())
    medians = {name: Run(*map(statistics.median, zip(*some, strict=True))) for name, some in runs.items()}
    first, rows = next(iter(medians.values())), []
    for name, (rate, core, p99) in medians.items():
        speed = [f"{rate:,.0f}", f"{rate / first.rate:.2f}", f"{core:,.0f}", f"{core / first.per_core:.2f}"]
        rows.append([name, *speed, f"{p99:.1f}"])
        print(*rows[-1], sep="  ", flush=True)
    return rows


def _command(server: str, app: str | None, port: int) -> list[str]:
    if app is None:
        return ["dither_server", "run", "--port", str(port)]
    command = [*_SERVERS[server]]
    if server == "gunicorn":
        return [*command, "--bind", f"127.0.0.1:{port}", app]
    if app.endswith(":make"):
        command.append("--call" if server == "waitress" else "--factory")
    return [*command, *([f"--port={port}"] if server == "waitress" else ["--port", str(port)]), app]


@contextmanager
def _running(command: Sequence[str], surroundings: Mapping[str, str], port: int) -> Iterator[int]:
    """Run a server in a session of its own, and yield the session's number."""
    tests = str(Path(__file__).parents[2])
    settings = {**surroundings, "DITHER_OPEN": "report", "PYTHONPATH": tests}
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=quiet, stderr=quiet, env=settings, start_new_session=True) as process:
        try:
            _wait(port)
            yield process.pid
        finally:
            os.killpg(process.pid, signal.SIGTERM)


def _wait(port: int) -> None:
    for _ in range(300):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError("the server did not start")


def load(url: str, script: str, *arguments: str, seconds: int) -> Mapping[str, float]:
    """Let wrk send what a script makes; return what it counted."""
    path = str(Path(__file__).with_name(script))
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "-s", path, url, "--", *arguments]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    numbers: Mapping[str, float] = json.loads(output.splitlines()[-1])
    assert numbers["refused"] == 0, numbers
    return numbers


def _cpu_seconds(session: int, parent: int) -> float:
    """Return the CPU seconds used so far by the processes of a session and the children of a process."""
    used = 0
    for process in Path("/proc").iterdir():
        try:
            fields = (process / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if fields and (int(fields[3]) == session or int(fields[1]) == parent):
            used += int(fields[11]) + int(fields[12])
    return used / os.sysconf("SC_CLK_TCK")
