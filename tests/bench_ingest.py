"""Ingest, beside a plain Flask view that commits per request: ``python -m tests.bench_ingest``.

Both are served by waitress with as many threads, on SQLite with WAL and synchronous=FULL, and loaded from a process of
its own over 64 connections. "per core" divides by the server's own CPU time, so the load generator costs it nothing.
"""

import json
import os
import selectors
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import waitress  # type: ignore[import-untyped]
from flask import Flask, request

from dither_server.tally import Tally
from dither_shared import Metric, SymmetricUnary, parse_metrics
from server.collecting import batch, environment

TOML = """
[metrics.theme]
type = "choice"
mechanism = "randomized-response"
values = ["dark", "light"]
epsilon = 1.0

[metrics.bits]
type = "choice"
mechanism = "symmetric-unary"
values = [VALUES]
epsilon = 1.0
""".replace("VALUES", ", ".join(f'"v{number}"' for number in range(127)))
THEME, BITS = parse_metrics(TOML).values()
CONNECTIONS = 64


class Measured(NamedTuple):
    """What one run gave: requests, seconds, the server's CPU seconds, and each answer's latency."""

    requests: int
    seconds: float
    cpu: float
    latencies: Sequence[float]

    @property
    def p99(self) -> float:
        """The latency that 99 of 100 answers keep, in milliseconds."""
        return 1000 * sorted(self.latencies)[int(0.99 * len(self.latencies))]


def serve_plainly(folder: str) -> None:
    """Serve the baseline: what one writes first."""
    app = Flask("baseline")
    path = f"{folder}/plain.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE batches (id TEXT PRIMARY KEY)")
        connection.execute("CREATE TABLE counts (metric TEXT, symbol INTEGER, n INTEGER, PRIMARY KEY (metric, symbol))")

    @app.post("/v1/reports")
    def report() -> tuple[dict[str, int], int]:
        body = request.get_json()
        row = body["reports"]
        with closing(sqlite3.connect(path, timeout=30)) as connection, connection:
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("INSERT INTO batches VALUES (?)", (body["batch"],))
            connection.execute(
                "INSERT INTO counts VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET n = n + 1", (body["metric"], row)
            )
        return {"accepted": 1}, 202

    server = waitress.create_server(app, port=0, threads=CONNECTIONS, connection_limit=1000, asyncore_use_poll=True)
    print(f"http://127.0.0.1:{server.effective_port}", flush=True)
    server.run()


def load(url: str, bodies: Sequence[bytes]) -> tuple[float, list[float]]:
    """Send every body over so many connections, each as fast as it is answered; return seconds and latencies."""
    address = (urlsplit(url).hostname or "", urlsplit(url).port or 0)
    requests = iter([
        b"POST /v1/reports HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        % len(body) + body
        for body in bodies
    ])  # fmt: skip
    latencies: list[float] = []
    with selectors.DefaultSelector() as ready:
        start = time.perf_counter()
        for _ in range(min(CONNECTIONS, len(bodies))):
            one = socket.create_connection(address, 30)
            one.sendall(next(requests))
            ready.register(one, selectors.EVENT_READ, [b"", time.perf_counter()])
        while ready.get_map():
            for key, _ in ready.select():
                connection, state = key.fileobj, key.data
                assert isinstance(connection, socket.socket)
                state[0] += connection.recv(65536)
                if b"\r\n\r\n" not in state[0] or not state[0].rstrip().endswith(b"}"):
                    continue
                assert state[0].startswith(b"HTTP/1.1 202"), state[0]
                now = time.perf_counter()
                latencies.append(now - state[1])
                following = next(requests, None)
                if following is None:
                    ready.unregister(connection)
                    connection.close()
                    continue
                state[:] = [b"", now]
                connection.sendall(following)
        return time.perf_counter() - start, latencies


def measure(command: Sequence[str], folder: Path, bodies: Sequence[bytes]) -> Measured:
    """Start a server, load it, end it."""
    full, surroundings = [sys.executable, *command], environment(folder)
    quiet = subprocess.DEVNULL
    with subprocess.Popen(full, stdout=subprocess.PIPE, stderr=quiet, text=True, env=surroundings) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        load(url, bodies[:CONNECTIONS])
        before = cpu_seconds(process.pid)
        seconds, latencies = load(url, bodies[CONNECTIONS:])
        cpu = cpu_seconds(process.pid) - before
        process.terminate()
    return Measured(len(latencies), seconds, cpu, latencies)


def cpu_seconds(pid: int) -> float:
    """Return what a process has used so far; its start is no part of ingest."""
    told = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


def rows(metric: Metric, count: int, seed: int) -> bytes:
    """Rows that could be reports."""
    random = np.random.default_rng(seed)
    wide = random.integers(0, 256, size=(count, metric.mechanism.row_bytes), dtype=np.uint8)
    return bytes(wide) if metric is BITS else bytes(wide % metric.mechanism.cells)


def folding() -> None:
    """Print what folding costs beside numpy's own way."""
    mechanism = SymmetricUnary.calibrate(128, 1.0)
    table = np.random.default_rng(0).integers(0, 256, size=(100_000, 16), dtype=np.uint8)
    block = table.tobytes()
    times = []
    for fold in (lambda: np.unpackbits(table, axis=1).sum(axis=0), lambda: Tally.fold(mechanism, block)):
        best = float("inf")
        for _ in range(15):
            start = time.process_time()
            fold()
            best = min(best, time.process_time() - start)
        times.append(best)
    print("folding blocks of 100,000 reports of 128 bits, million reports/s per core")
    print(f"  np.unpackbits(...).sum()       {0.1 / times[0]:8.1f}")
    print(f"  Tally.fold                     {0.1 / times[1]:8.1f}   {times[0] / times[1]:.1f} times")


def main(requests: int = 6000) -> None:
    """Print everything."""
    folding()
    ours = ["-m", "dither_server", "run", "--port", "0"]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "metrics.toml").write_text(TOML, encoding="utf-8")
        single = [batch(THEME, rows(THEME, 1, seed)).encode() for seed in range(requests)]
        plain = measure([__file__, "plain", place], folder, single[: requests // 3])
        fast = measure(ours, folder, single)
        print(f"one report a request, {CONNECTIONS} connections        requests/s  per core      p99 ms")
        for name, run in (("a Flask view, a commit each", plain), ("dither-server run", fast)):
            rates = f"{run.requests / run.seconds:10.0f}  {run.requests / run.cpu:8.0f}  {run.p99:10.1f}"
            print(f"  {name:38}{rates}")
        gain = fast.requests / fast.seconds / (plain.requests / plain.seconds)
        core = fast.requests / fast.cpu / (plain.requests / plain.cpu)
        print(f"  {gain:.1f} times the requests/s, {core:.1f} times those of a core")
        many = measure(ours, folder, [batch(BITS, rows(BITS, 1000, seed)).encode() for seed in range(1000)])
        wall, core_rate = 1000 * many.requests / many.seconds, 1000 * many.requests / many.cpu
        print(f"1,000 reports of 128 bits a request: {wall:,.0f} reports/s, {core_rate:,.0f} per core")
        print(json.dumps({"gain": round(gain, 2), "gain_per_core": round(core, 2)}))


if __name__ == "__main__":
    if sys.argv[1:2] == ["plain"]:
        serve_plainly(sys.argv[2])
    else:
        main()
