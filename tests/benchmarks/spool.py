"""Measure the cost of a spool, for collecting and folding: ``python -m tests.benchmarks.spool [REPORTS ...]``.

By default, 10 million reports are folded. Collectors on a spool, on SQLite and on PostgreSQL take one report a request
in turns, and "per core" divides by the CPU time of all processes that work for them, including PostgreSQL's. The folded
segments are like those of collectors; a tenth of their batches came to another collector before. Each figure of
collecting is the median of its rounds; the time that a fold takes, and its memory, are those of the command's own
process.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import psycopg

from benchmarks.ingest.load import HEAD, Behind, compare, measure, why_not
from benchmarks.ingest_speed import BITS, THEME, TOML, rows
from dither_server.store import Store
from dither_shared import Metric
from dither_shared.metrics.period import utc_today
from dither_spool.blobs import Folder
from dither_spool.layout import claim
from dither_spool.records import Records, number_of
from dither_spool.segment import SEGMENTS, Segment, write_segment
from server.collecting import environment
from server.postgresql import server

from . import tables

FOLDED = (
    *("reports", "bytes a row", "bytes in a segment", "reports/s of CPU", "s of CPU", "s of wall", "most memory, MB"),
    "bytes an id",
)

JOURNAL, RECORD, REPEATED = 1 << 26, 29, 10
"""Bytes of a full journal, those of a record beside its rows, and every how many of them came before."""


@contextmanager
def backends(folder: str) -> Iterator[Mapping[str, Behind]]:
    """Yield the backends of collectors: a spool in ``folder``, SQLite, and PostgreSQL where there is one."""
    spooling = {"DITHER_SPOOL": f"{folder}/spool", "DITHER_DB": f"sqlite:///{folder}/counts.db"}
    found = {"SQLite": Behind(), "a spool": Behind(spooling)}
    with server() as url:
        if url is None:
            yield found
            return
        with psycopg.connect(f"{url}/postgres", autocommit=True) as connection:
            name = f"dither_bench_{os.getpid()}"
            connection.execute(f"CREATE DATABASE {name}".encode())
            stat = Path(f"/proc/{connection.info.backend_pid}/stat")  # of another machine's server there is none
            parent = int(stat.read_text().rpartition(")")[2].split()[1]) if stat.exists() else -1
            try:
                yield {**found, "PostgreSQL": Behind({"DITHER_DB": f"{url}/{name}"}, parent)}
            finally:
                connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def collecting(rounds: int) -> tables.Table:
    """Print and return how collectors fare with one report a request."""
    reports = (THEME, rows(THEME, 1, 0))
    with tempfile.TemporaryDirectory() as folder, backends(folder) as some:
        servers = {
            name: partial(measure, "waitress", None, TOML, reports, behind=behind) for name, behind in some.items()
        }
        table = compare(servers, rounds)
        size, count = _segments(Folder(Path(folder, "spool")))
    print(f"in segments of {count / rounds:,.0f} batches: {size / count:.1f} bytes each, heads included", flush=True)
    return tables.Table("spool", ("one report a request, on", *HEAD), table)


def _segments(place: Folder) -> tuple[int, int]:
    """Return the bytes and the batches of all segments of a place."""
    size, count = 0, 0
    for name in place.names(SEGMENTS):
        with closing(place.open(SEGMENTS, name)) as file:
            count += sum(Segment(file, name).counts)
        size += (place.folder / SEGMENTS / name).stat().st_size
    return size, count


def batches(metric: Metric, number: int, count: int) -> tuple[Any, ...]:
    """Return the columns of a segment, by number; a tenth of its batches are the first of the segment before."""
    width, came = metric.mechanism.row_bytes, count // REPEATED if number else 0
    ids, content = bytearray(), bytearray()
    for seed, taken in ((number, count - came), (number - 1, came)):
        if taken:
            ids += np.random.default_rng(seed).bytes(16 * taken)
            content += rows(metric, taken, seed)
    day, lengths = np.full(count, number_of(utc_today()), np.uint16), np.full(count, width, np.uint32)
    return bytes(ids), bytes.fromhex(metric.version) * count, day, bytes(count), lengths, bytes(content)


def write(what: tuple[Folder, Metric, int, int]) -> float:
    """Write a segment; return the CPU seconds that a collector takes to put it in order."""
    place, metric, number, count = what
    columns = batches(metric, number, count)
    start = time.process_time()
    content = write_segment(Records.by_id(*columns))
    used = time.process_time() - start
    place.put(SEGMENTS, f"{number:032x}.segment", content)
    return used


class Fold(NamedTuple):
    """Cost of the command: seconds of wall clock and CPU, peak memory in MB, and its report."""

    wall: float
    cpu: float
    memory: float
    report: Mapping[str, int]


def fold(spool: Path, folder: Path) -> Fold:
    """Run ``dither-server fold`` in a process of its own."""
    command = [sys.executable, "-m", "dither_server", "fold", "--spool", str(spool), "--json"]
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment(folder)) as process:
        assert process.stdout is not None
        report = json.loads(process.stdout.read())
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    wall = time.perf_counter() - start
    return Fold(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, report)


def folding(metric: Metric, count: int) -> list[str]:
    """Print and return the cost of folding ``count`` batches of one report each."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("DITHER_BENCH_FOLDER")) as name:
        folder, place = Path(name), Folder(Path(name, "spool"))
        with closing(Store(f"sqlite:///{folder}/dither.db")) as store:
            store.register([metric])
            claim(place, store.identity())
        full = JOURNAL // (RECORD + metric.mechanism.row_bytes)
        parts = [min(full, count - start) for start in range(0, count, full)]
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:  # or its memory would be taken for ours
            ordering = sum(pool.map(write, [(place, metric, number, part) for number, part in enumerate(parts)]))
        size, _ = _segments(place)
        took = fold(place.folder, folder)
        remembered = sum(path.stat().st_size for path in (place.folder / "ids").rglob("*.ids"))
    repeated = sum(part // REPEATED for part in parts[1:])
    counted = {"batches": count - repeated, "repeated": repeated, "conflicts": 0}
    assert took.report.items() >= counted.items(), took.report
    print(f"{count:,} reports of {metric.mechanism.row_bytes} bytes in {len(parts)} segments, {repeated:,} came twice")
    print(f"  in a segment   {size / count:9.1f} bytes a report, {1e6 * ordering / count:.2f} µs to put in order")
    print(f"  folded         {count / took.cpu:9,.0f} a second of CPU: {took.cpu:.1f} s, {took.wall:.1f} s of wall")
    print(f"  most memory    {took.memory:9,.0f} MB")
    print(f"  remembered     {remembered / took.report['batches']:9.1f} bytes an id", flush=True)
    costs = [f"{took.cpu:.1f}", f"{took.wall:.1f}", f"{took.memory:,.0f}", f"{remembered / took.report['batches']:.1f}"]
    width = f"{metric.mechanism.row_bytes}"
    return [f"{count:,}", width, f"{size / count:.1f}", f"{count / took.cpu:,.0f}", *costs]


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("counts", metavar="REPORTS", type=float, nargs="*", default=[1e7])
    parser.add_argument("--rounds", type=int, default=3)
    tables.add_option(parser)
    options = parser.parse_args()
    written = []
    if missing := why_not("wrk"):
        print(f"no load without wrk: {missing}")
        if options.tables:
            sys.exit(1)
    else:
        written.append(collecting(options.rounds))
    counts = [int(count) for count in options.counts]
    folds = [*(folding(THEME, count) for count in counts), folding(BITS, min(counts))]
    tables.write(options.tables, *written, tables.Table("fold", FOLDED, folds, words=0))


if __name__ == "__main__":
    main()
