"""Ingest, beside a plain Flask view that commits per request: ``python -m tests.benchmarks.ingest_speed``.

Both stand on SQLite with WAL and synchronous=FULL, and are loaded by wrk over 64 connections. "per core" divides by
the server's own CPU time, so the load generator costs it nothing. Rounds alternate, and each figure is the median of
its rounds: other load on the machine is shared by all. Granian is measured, too, if it is installed.
"""

import argparse
import statistics
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from benchmarks.ingest.load import CONNECTIONS, Run, measure, slow_disk, why_not
from dither_shared import Metric, parse_metrics

from .tables import Table, add_option, write

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
OURS, PLAIN = "dither_server.wsgi:app", "benchmarks.ingest.baseline:make"
SERVERS: Mapping[str, tuple[str, str | None]] = {
    "a Flask view, a commit each: waitress": ("waitress", PLAIN),
    "the same: granian": ("granian", PLAIN),
    "dither-server run": ("waitress", None),
    "dither_server.wsgi: granian": ("granian", OURS),
    "dither_server.wsgi: gunicorn, threads": ("gunicorn", OURS),
}
BASELINE, RUN = "a Flask view, a commit each: waitress", "dither-server run"


def rows(metric: Metric, count: int, seed: int) -> bytes:
    """Rows that could be reports."""
    random = np.random.default_rng(seed)
    wide = random.integers(0, 256, size=(count, metric.mechanism.row_bytes), dtype=np.uint8)
    return bytes(wide) if metric is BITS else bytes(wide % metric.mechanism.cells)


def compare(
    title: str, names: Mapping[str, tuple[str, str | None]], rounds: int, before: Sequence[str] = ()
) -> list[list[str]]:
    """Print and return how servers fare with one report a request."""
    runs: dict[str, list[Run]] = {name: [] for name in names}
    for _ in range(rounds):
        for name, (server, app) in names.items():
            runs[name].append(measure(server, app, TOML, (THEME, rows(THEME, 1, 0)), before=before))
    medians = {name: Run(*map(statistics.median, zip(*some, strict=True))) for name, some in runs.items()}
    first, lines = medians[BASELINE], []
    print(f"{title:44} requests/s          per core        p99 ms")
    for name, (rate, core, p99) in medians.items():
        gains = f"{rate:9,.0f} {rate / first.rate:5.1f}x {core:9,.0f} {core / first.per_core:5.1f}x {p99:9.1f}"
        print(f"  {name:40} {gains}", flush=True)
        per_core = [f"{core:,.0f}", f"{core / first.per_core:.1f}"]
        lines.append([f"{name}; {title}", f"{rate:,.0f}", f"{rate / first.rate:.1f}", *per_core, f"{p99:.1f}"])
    return lines


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", type=int, nargs="?", default=3)
    add_option(parser)
    options = parser.parse_args()
    rounds: int = options.rounds
    if missing := why_not("wrk"):
        print(f"no load without wrk: {missing}")
        sys.exit(1 if options.tables else 0)
    here = {name: which for name, which in SERVERS.items() if find_spec(which[0])}
    lines = compare(f"one report a request, {CONNECTIONS} connections", here, rounds)
    if why_not("cc"):
        print("no slow disk without a C compiler")
    else:
        slow = {name: SERVERS[name] for name in (BASELINE, RUN)}
        with slow_disk() as before:
            lines += compare("the same, every fsync 2 ms slower", slow, rounds, before)
    many = [measure("waitress", None, TOML, (BITS, rows(BITS, 1000, 0))) for _ in range(rounds)]
    rate, core, p99 = map(statistics.median, zip(*many, strict=True))
    many_told = f"{1000 * rate:,.0f} reports/s, {1000 * core:,.0f} per core, p99 {p99:.1f} ms"
    print(f"1,000 reports of 128 bits a request: {many_told}")
    lines.append(
        [
            "dither-server run; 1,000 reports of 128 bits a request",
            f"{rate:,.0f}",
            "",
            f"{core:,.0f}",
            "",
            f"{p99:.1f}",
        ]
    )
    if options.tables and any(row[1] == "0" for row in lines):
        sys.exit("no table is written, for a server answered nothing")
    head = ("server", "requests/s", "times the first", "per core", "times the first", "p99 ms")
    write(options.tables, Table("ingest", head, lines))


if __name__ == "__main__":
    main()
