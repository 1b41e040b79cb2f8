"""Measure the cost of batch ids for the commit of an upload: ``python -m tests.benchmarks.batch_ids``.

The database holds no ids, or 10 million. The CPU time of ``Store.commit`` per upload is measured in groups of 64, as
the committer calls it; first alone, then while ids of the oldest day are deleted, a slice after each commit. Commits do
not wait for the disk here, and each figure is the best of three runs of 70,400 uploads each.
"""

import os
import resource
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy

from dither_server.store import Store, Upload
from dither_shared import Metric, parse_metrics

from .tables import Part, run

HEAD = ("ids", "MB", "forgetting", "µs an upload", "p99 ms", "longest ms", "RSS MB")
GROUP, DAYS = 64, 45
TODAY = date(2026, 11, 20)
THEME = parse_metrics(
    '[metrics.theme]\ntype = "choice"\nmechanism = "randomized-response"\nvalues = ["dark", "light"]\nepsilon = 1.0\n'
)["theme"]


def fill(path: Path, count: int) -> None:
    """Add ids of the days before today, in four parts, each in the order of the table: so its pages are partly full."""
    random = np.random.default_rng(1)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for pragma in ("journal_mode=OFF", "synchronous=OFF", "cache_size=-400000"):
            connection.execute(f"PRAGMA {pragma}")
        days = [str(TODAY - timedelta(days=DAYS - turn)) for turn in range(DAYS if count else 0)]
        for turn, day in enumerate(days, 1):
            connection.execute("INSERT INTO batch_days VALUES (?, ?)", (day, turn))
        for _ in range(4 if count else 0):
            keys = random.integers(0, 2**64, (count // 4, 2), np.uint64)
            keys = keys[np.argsort(keys[:, 0])].astype(">u8")
            rows = ((key.tobytes(), days[turn % DAYS]) for turn, key in enumerate(keys))
            connection.execute("BEGIN")
            connection.executemany("INSERT OR IGNORE INTO batches VALUES (?, ?)", rows)
            connection.execute("COMMIT")


def group(metric: Metric) -> list[Upload]:
    """Uploads that nobody has sent before."""
    return [Upload(os.urandom(16), metric, b"\x00", 0) for _ in range(GROUP)]


def measure(store: Store, groups: int, forgetting: bool) -> tuple[float, float, float]:
    """Return µs of processor for each upload, the longest wait for a group in ms, and the 99th percentile."""
    used, waits, more = 0.0, [], True
    for _ in range(groups):
        uploads = group(THEME)
        start, processor = time.perf_counter(), time.process_time()
        store.commit(uploads, TODAY, b"s" * 16)
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


def measured(count: int, runs: int) -> Iterator[list[str]]:
    """Yield the rows of a number of ids: alone, and while ids are deleted."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("DITHER_BENCH_FOLDER")) as folder:
        path = Path(folder, "dither.db")
        url = f"sqlite:///{path}"
        with closing(Store(url)) as store:
            store.register([THEME])
        fill(path, count)
        sqlalchemy.event.listen(sqlalchemy.pool.Pool, "checkout", _hurry)  # after the store has set up its connections
        with closing(Store(url)) as store:
            measure(store, 1100, forgetting=False)  # so that its pages are in the cache of the system
            for forgetting in (False, True):
                found = [measure(store, 1100, forgetting) for _ in range(runs)]
                processor, longest, p99 = (min(run[place] for run in found) for place in range(3))
                used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
                parameters = [f"{count:,}", f"{path.stat().st_size / 1e6:.0f}", "yes" if forgetting else "no"]
                yield [*parameters, f"{processor:.1f}", f"{p99:.1f}", f"{longest:.1f}", f"{used:.0f}"]


if __name__ == "__main__":
    run(__doc__, ids=Part("batch-ids", HEAD, [(0,), (10_000_000,)], measured, 3, words=0))
