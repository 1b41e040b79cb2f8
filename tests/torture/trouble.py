"""A database that is locked, and a disk that is full: never a false acknowledgement, and recovery without a restart."""

import os
import shutil
import sqlite3
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from dither_relay.store import RelayStore
from dither_server.store import StoreError
from dither_server.tally.tally import Tally
from dither_shared import Batch
from forkserver import run
from relay.fake_collector import collecting
from relay.relaying import POOLS, arrivals, ask, rows, send, until_ready
from relay.relaying import running as relay_running
from relay.relaying import url_of as relay_url
from server.collecting import OPEN, THEME, TODAY, batch, rows_of, running, same
from server.test_process import PATIENCE, connect, tally
from torture.devices import post

__all__ = ["can_fill", "full_disk", "full_relay", "locked", "small_disk"]

_SEALED = 1139
"""Bytes of a report that is sealed by X-Wing."""


def locked(folder: Path, seconds: float, lock_wait: float = 5.0) -> tuple[Counter[int], float]:
    """Lock the database for ``seconds`` while 8 devices report and one analyst reads.

    Return how often each status was the answer to a report, and the p99 of the analyst's, in seconds.
    """
    reads: list[float] = []
    with running(folder, "--lock-wait", str(lock_wait)) as (url, process):
        assert _status(url, batch()) == 202
        held = threading.Event()

        def read() -> None:
            while not reads or not held.wait(0.01):
                start = time.perf_counter()
                with closing(connect(url)) as connection:
                    connection.request("GET", "/v1/metrics/theme/estimate")
                    assert connection.getresponse().status == 200
                reads.append(time.perf_counter() - start)

        with closing(sqlite3.connect(folder / "dither.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            analyst = threading.Thread(target=read)
            analyst.start()
            end = time.monotonic() + seconds
            sent, seen = _report_while(url, lambda: time.monotonic() < end)
            held.set()
            analyst.join(PATIENCE)
            assert set(seen) == {503}, seen  # nothing could be counted, and nothing was acknowledged
        _deliver_all(url, sent)  # and at once, without a restart
        process.terminate()
        process.communicate(timeout=PATIENCE)
    rows = b"".join(sent_batch.reports for sent_batch in sent)
    assert tally(folder, THEME).total == 3 + len(rows)
    return seen, sorted(reads)[int(0.99 * len(reads))]


def can_fill() -> str | None:
    """Return why no small disk can be mounted here, or None if one can."""
    try:
        with tempfile.TemporaryDirectory() as folder, small_disk(Path(folder) / "small", 64):
            return None
    except (OSError, subprocess.CalledProcessError):
        return "no small disk may be mounted here; only root may, outside of containers"


def full_disk(folder: Path, free: int = 1500) -> tuple[Counter[int], int]:
    """Report until a disk with ``free`` KiB is full and for a while after, make room, deliver all, compare.

    Return how often each status was the answer while it was full, and how many batches were acknowledged before.
    """
    ballast = 8_000  # KiB; SQLite's log alone may grow to 4,000 before it is folded into the database
    with small_disk(folder / "small", ballast + free) as disk, running(disk) as (url, process):
        (disk / "ballast").write_bytes(bytes(1024 * ballast))
        sent: list[Batch] = []
        while len(sent) < 5000:
            sent.append(batch(OPEN, rows_of(OPEN, 20, os.urandom(8))))
            if _status(url, sent[-1]) != 202:
                break
        acknowledged = len(sent) - 1
        turns = iter(range(200))
        more, seen = _report_while(url, lambda: next(turns, None) is not None)
        assert set(seen) <= {202, 503}, seen  # a small one may still fit
        assert seen[503] > 100
        assert tally(disk, OPEN).total == 20 * acknowledged
        assert tally(disk, THEME).total == seen[202]
        (disk / "ballast").unlink()
        _deliver_all(url, sent + more)
        process.terminate()
        process.communicate(timeout=PATIENCE)
        for metric, some in ((OPEN, sent), (THEME, more)):
            rows = b"".join(sent_batch.reports for sent_batch in some)
            assert same(tally(disk, metric), Tally.fold(metric.mechanism, rows)), metric.name
    return seen, acknowledged


def full_relay(folder: Path, size: int = 120_000) -> tuple[int, int, Counter[int]]:
    """Fill a disk of ``size`` KiB that holds only a relay's database, forward all, and report again; twice.

    Something else takes the rest of the disk at the end: nothing is acknowledged then, until that is gone.

    Return how many reports were acknowledged, how often they were forwarded, and the answers while the disk was full.
    """
    seen: Counter[int] = Counter()
    acknowledged: list[bytes] = []
    with collecting(POOLS) as collector, small_disk(folder / "relay", size) as disk:
        with relay_running(disk, collector.url) as (url, process):
            until_ready(url)
            for turn in range(2):
                acknowledged += _hold_until_full(disk, turn)
                more = rows(100, 10_000 + turn, _SEALED)
                seen.update(send(url, row) for row in more)
                status = _relay_command(disk, collector.url, "status")
                assert "bytes are left on its disk" in status.stdout, status
                forwarded = _relay_command(disk, collector.url, "forward", "--batch", "5")
                assert forwarded.returncode == 0, forwarded
                assert [send(url, row) for row in more] == [202] * len(more)
                acknowledged += more
            ballast = bytearray(shutil.disk_usage(disk).free)
            (disk / "ballast").write_bytes(ballast)
            rest = rows(100, 20_000, _SEALED)
            seen.update(send(url, row) for row in rest)
            assert ask(url, "GET", "/readyz")[0] == 503
            (disk / "ballast").unlink()
            assert [send(url, row) for row in rest] == [202] * len(rest)
            process.terminate()
            _, errors = process.communicate(timeout=PATIENCE)
            assert (process.returncode, len(errors.splitlines()) < 10) == (0, True), errors
        assert _relay_command(disk, collector.url, "forward", "--batch", "5").returncode == 0
        assert collector.rows() == Counter([*acknowledged, *rest])
        return len(acknowledged) + len(rest), len(collector.rows()), seen


def _hold_until_full(disk: Path, turn: int) -> list[bytes]:
    """Let a relay's database hold reports until it takes no more; return the reports that it took."""
    held: list[bytes] = []
    with closing(RelayStore(relay_url(disk))) as store:
        (pool,) = (by_length[_SEALED] for by_length in store.pools().values() if _SEALED in by_length)
        with suppress(StoreError):
            for number in range(1_000):
                some = rows(500, 1_000 * turn + number, _SEALED)
                store.commit(arrivals(some, pool), TODAY, b"")
                held += some
    return held


def _relay_command(disk: Path, collector: str, *words: str) -> "subprocess.CompletedProcess[str]":
    settings = {"DITHER_RELAY_DB": relay_url(disk), "DITHER_RELAY_COLLECTOR": collector}
    return run("-m", "dither_relay", *words, env={**os.environ, **settings})


def _report_while(url: str, goes_on: Callable[[], bool]) -> tuple[list[Batch], Counter[int]]:
    """Report from 8 devices, from each at least once.

    Return the batches sent, and how often each status was the answer (0: none).
    """
    sent: list[Batch] = []
    seen: Counter[int] = Counter()

    def device(number: int) -> None:
        while True:
            one = batch(THEME, rows_of(THEME, 1, b"%d %d" % (number, len(sent))))
            sent.append(one)
            seen[_status(url, one)] += 1
            if not goes_on():
                return

    devices = [threading.Thread(target=device, args=(number,)) for number in range(8)]
    for one in devices:
        one.start()
    for one in devices:
        one.join(10 * PATIENCE)
    return sent, seen


def _deliver_all(url: str, batches: list[Batch]) -> None:
    for one in batches:
        assert _status(url, one) == 202


def _status(url: str, one: Batch) -> int:
    response = post(url, one.encode())
    if response is None:
        return 0
    assert response.status != 503 or int(response.headers["Retry-After"]) > 0
    return response.status


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[Path]:
    """Mount a disk of this size at a folder that is made for it, for a while."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder)]
    subprocess.run(mount, check=True, capture_output=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)
