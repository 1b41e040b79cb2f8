"""Ingest, beside a plain Flask view that commits per request: ``python -m tests.benchmarks.ingest_speed``.

Both stand on SQLite with WAL and synchronous=FULL, and are loaded by wrk over 64 connections. "per core" divides by
the server's own CPU time, so the load generator costs it nothing. Rounds alternate, and each figure is the median of
its rounds: other load on the machine is shared by all. Granian is measured, too, if it is installed.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from benchmarks.ingest.load import CONNECTIONS, HEAD, Run, compare, measure, slow_disk, why_not
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


def servers(names: Iterable[str], title: str, before: Sequence[str] = ()) -> dict[str, Callable[[], Run]]:
    """Return the measures of some servers, by name, with one report a request."""
    reports = (THEME, rows(THEME, 1, 0))
    return {f"{name}; {title}": partial(measure, *SERVERS[name], TOML, reports, before=before) for name in names}


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", type=int, nargs="?", default=3)
    add_option(parser)
    options = parser.parse_args()
    if missing := why_not("wrk", "cc"):
        sys.exit(f"no load without wrk, and no slow disk without a C compiler: {missing}")
    here = [name for name, which in SERVERS.items() if find_spec(which[0])]
    lines = compare(servers(here, f"one report a request, {CONNECTIONS} connections"), options.rounds)
    with slow_disk() as before:
        lines += compare(servers((BASELINE, RUN), "the same, every fsync 2 ms slower", before), options.rounds)
    many = partial(measure, "waitress", None, TOML, (BITS, rows(BITS, 1000, 0)))
    ((name, rate, _, core, _, p99),) = compare({f"{RUN}; 1,000 reports of 128 bits a request": many}, options.rounds)
    lines.append([name, rate, "", core, "", p99])
    if any(row[1] == "0" for row in lines):
        sys.exit("no table is written, because a server answered nothing")
    write(options.tables, Table("ingest", ("server", *HEAD), lines))


if __name__ == "__main__":
    main()
