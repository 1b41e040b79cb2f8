"""The rate and storage of a relay process, and the cost of a round. ``python -m tests.benchmarks.relay [reports]``.

wrk sends sealed reports over 64 connections to a relay on SQLite with synchronous=FULL; "per core" divides by its own
CPU time. Then relays that hold 100,000 reports, and the number given, forward them to a collector in another process
that opens nothing: the time is that of the relay and of sockets.
"""

import argparse
import os
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from multiprocessing import Queue, get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.ingest.load import load
from dither_relay.store import RelayStore
from relay.fake_collector import collecting
from relay.relaying import LIMITS, LISTED, POOLS, THEME, TODAY, arrivals, rounds, rows, running, until_ready, url_of
from torture.processes import cpu_seconds, memory_of

from .tables import Table, add_option, write

_SECONDS = 8
_PAGES = ("page_count", "freelist_count", "page_size")


def taken(digits: int) -> list[str]:
    """Print and return how many sealed rows of a length in base64 digits one relay takes per second."""
    with tempfile.TemporaryDirectory() as folder, collecting(POOLS) as collector:
        with running(Path(folder), collector.url) as (url, process):
            until_ready(url)
            before = cpu_seconds(process.pid)
            found = load(url, "sealed.lua", str(THEME), str(digits), seconds=_SECONDS)
            used, peak = cpu_seconds(process.pid) - before, memory_of(process.pid, "VmHWM")
        rate = found["requests"] / found["seconds"]
        core, p99 = f"{found['requests'] / used:,.0f}", f"{found['p99']:.0f}"
        print(f"rows of {digits * 3 // 4} bytes: {rate:,.0f} a second, {core} per core, p99 {p99} ms, {peak:.0f} MB")
        return [f"{digits * 3 // 4}", f"{rate:,.0f}", core, p99, f"{peak:.0f}"]


def forwarded(reports: int, length: int, pool: int) -> list[str]:
    """Print and return the cost of a round of ``count`` reports, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder, collecting(POOLS) as collector:
        fresh = get_context("spawn")
        measured: Queue[tuple[float, ...]] = fresh.Queue()
        work = fresh.Process(target=_round, args=(Path(folder), collector.url, reports, length, pool, measured))
        work.start()
        held, left, seconds, cpu, frozen, peak = measured.get()
        work.join()
        assert sum(collector.rows().values()) == reports
        print(
            f"{reports:,} reports of {length} bytes: {held:.0f} bytes each while they wait, {left:.0f} afterwards; "
            f"{seconds:.1f} s to forward in {len(collector.bodies)} bodies, {cpu:.1f} s of them computing, "
            f"{frozen:.2f} s to freeze; {peak:.0f} MB"
        )
        sizes, times = (f"{held:.0f}", f"{left:.0f}"), (f"{seconds:.1f}", f"{cpu:.1f}", f"{frozen:.2f}")
        return [f"{reports:,}", f"{length}", *sizes, *times, f"{peak:.0f}"]


def _round(folder: Path, url: str, reports: int, length: int, pool: int, measured: "Queue[tuple[float, ...]]") -> None:
    with closing(RelayStore(url_of(folder))) as store:
        store.list_pools(LISTED, LIMITS)
        for start in range(0, reports, 500):
            store.commit(arrivals(rows(min(500, reports - start), start, length), pool), TODAY, b"")
        store.checkpoint()
        held = (folder / "relay.db").stat().st_size / reports
        began, cpu = time.perf_counter(), time.process_time()
        one = rounds(store, url)
        one.freeze()
        frozen = time.perf_counter() - began
        assert one.post({}).reports == reports
        one.tidy()
        spent = time.perf_counter() - began, time.process_time() - cpu
        left = _used_bytes(folder / "relay.db")
        measured.put((held, left / reports, *spent, frozen, memory_of(os.getpid(), "VmHWM")))


def _used_bytes(file: Path) -> int:
    with closing(sqlite3.connect(file)) as connection:
        values = [int(connection.execute(f"PRAGMA {pragma}").fetchone()[0]) for pragma in _PAGES]
    return (values[0] - values[1]) * values[2]


TAKEN = ("bytes of a sealed row", "reports/s", "per core", "p99 ms", "most memory, MB")
FORWARDED = (
    *("reports", "bytes each", "bytes on disk, waiting", "bytes afterwards", "s to forward", "s of CPU", "s to freeze"),
    "most memory, MB",
)


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reports", type=int, nargs="*")
    add_option(parser)
    options = parser.parse_args()
    rate = taken(68)
    forwards = [forwarded(reports, 51, 1) for reports in (100_000, *options.reports)]
    forwards.append(forwarded(20_000, 1139, 3))
    write(options.tables, Table("relay", TAKEN, [rate], words=0), Table("relay-rounds", FORWARDED, forwards, words=0))


if __name__ == "__main__":
    main()
