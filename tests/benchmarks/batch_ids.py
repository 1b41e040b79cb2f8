"""What batch ids cost an upload's commit: ``python -m tests.benchmarks.batch_ids [IDS ...]``.

By default, none and 10 million.

The database holds so many ids of 45 days, as a collector would have left them, and the process knows their filters.
Measured is the processor's time for each upload of ``Store.commit`` and of the steps that follow it, in groups of 64,
as the committer calls them; first on its own, then while the oldest day is forgotten. 100 million ids take 5 GB.
Commits do not wait for the disk here, and each figure is the best of some runs, of 70,400 uploads each: so many that
the journal moves once.
"""

import argparse
import os
import resource
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy

from dither_server.store import Store, Upload
from dither_server.store.batch_ids.filters import filter_of
from dither_shared import Metric, parse_metrics

from .tables import Table, add_option, write

HEAD = ("ids", "MB", "forgetting", "µs an upload", "p99 ms", "longest ms", "RSS MB")
GROUP, DAYS = 64, 45
TODAY = date(2026, 11, 20)
THEME = parse_metrics(
    '[metrics.theme]\ntype = "choice"\nmechanism = "randomized-response"\nvalues = ["dark", "light"]\nepsilon = 1.0\n'
)["theme"]


def fill(path: Path, count: int) -> None:
    """Put ids into the days before today, each half of a day in order, as the journal brings them."""
    random = np.random.default_rng(1)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for pragma in ("journal_mode=OFF", "synchronous=OFF", "cache_size=-200000"):
            connection.execute(f"PRAGMA {pragma}")
        for turn in range(1, DAYS + 1 if count else 1):
            day, ids = str(TODAY - timedelta(days=DAYS + 1 - turn)), []
            for _ in range(2):
                keys = random.integers(0, 2**64, (count // DAYS // 2, 2), np.uint64)
                keys = keys[np.argsort(keys[:, 0])]
                ids.append(keys.astype(">u8").tobytes())
                connection.execute("BEGIN")
                connection.executemany("INSERT OR IGNORE INTO batches VALUES (?, ?, ?)", rows(day, ids[-1]))
                connection.execute("COMMIT")
            closed = None if turn == DAYS else 1000 + turn
            connection.execute("INSERT INTO batch_days VALUES (?, ?, ?)", (day, turn, closed))
            if closed:
                each = [part[start : start + 16] for part in ids for start in range(0, len(part), 16)]
                connection.execute("INSERT INTO batch_filters VALUES (?, ?)", (day, filter_of(each)))


def rows(day: str, ids: bytes) -> Iterator[tuple[str, bytes, bytes]]:
    """Rows of a table of ids."""
    return ((day, ids[start : start + 16], ids[start : start + 16]) for start in range(0, len(ids), 16))


def group(metric: Metric) -> list[Upload]:
    """Uploads that nobody has sent before."""
    return [Upload(os.urandom(16), metric, b"\x00") for _ in range(GROUP)]


def measure(store: Store, groups: int, forgetting: bool) -> tuple[float, float, float]:
    """Return µs of processor for each upload, the longest wait for a group in ms, and the 99th percentile."""
    used, waits, more = 0.0, [], True
    for _ in range(groups):
        uploads = group(THEME)
        start, processor = time.perf_counter(), time.process_time()
        store.commit(uploads, TODAY, b"s" * 16)
        store.tend()
        if forgetting and more:
            more = store.forget(TODAY - timedelta(days=DAYS - 1))
        used += time.process_time() - processor
        waits.append(time.perf_counter() - start)
    waits.sort()
    return 1e6 * used / groups / GROUP, 1e3 * waits[-1], 1e3 * waits[int(0.99 * groups)]


def _hurry(connection: Any, record: Any, _proxy: object) -> None:
    if "hurried" not in record.info:  # once for each connection
        record.info["hurried"] = True
        connection.execute("PRAGMA synchronous=NORMAL").close()


def _line(row: Sequence[str]) -> str:
    return "  ".join(map(format, row, (">12", ">6", "10", ">12", ">7", ">10", ">6")))


def main() -> None:
    """Print a line for each number of ids."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("counts", metavar="IDS", type=float, nargs="*", default=[0, 1e7])
    add_option(parser)
    asked, found = parser.parse_args(), []
    sqlalchemy.event.listen(sqlalchemy.pool.Pool, "checkout", _hurry)  # after the store has set its own connections up
    print(_line(HEAD))
    for count in map(int, asked.counts):
        with tempfile.TemporaryDirectory(dir=os.environ.get("DITHER_BENCH_FOLDER")) as folder:
            path = Path(folder, "dither.db")
            url = f"sqlite:///{path}"
            with closing(Store(url)) as store:
                store.register([THEME])
            fill(path, count)
            with closing(Store(url)) as store:
                measure(store, 1100, forgetting=False)  # fills the journal, so that all that is to be done is done
                for forgetting in (False, True):
                    runs = [measure(store, 1100, forgetting) for _ in range(3)]
                    processor, longest, p99 = (min(run[place] for run in runs) for place in range(3))
                    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
                    told = [f"{count:,}", f"{path.stat().st_size / 1e6:.0f}", "yes" if forgetting else "no"]
                    found.append([*told, f"{processor:.1f}", f"{p99:.1f}", f"{longest:.1f}", f"{used:.0f}"])
                    print(_line(found[-1]), flush=True)
    write(asked.tables, Table("batch-ids", HEAD, found, words=0))


if __name__ == "__main__":
    main()
