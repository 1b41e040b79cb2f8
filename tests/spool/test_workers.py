"""Work that other processes do: the order of results, and workers that fail, are missing or outlive their parent."""

import os
import secrets
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dither_shared import DitherError, ParameterError
from dither_spool.workers import _processors, here, workers
from server.dask import cluster_of
from spool.work import die, doubled, fail


def test_results_come_in_the_order_of_the_items() -> None:
    assert list(here(doubled, range(9))) == list(range(0, 18, 2))
    for jobs in (1, 2):
        with workers(jobs) as spread:
            assert list(spread(doubled, range(9))) == list(range(0, 18, 2))


@pytest.mark.parametrize(("jobs", "taken"), [(2, 5), (0, 7)])
def test_few_results_wait_however_many_items_there_are(jobs: int, taken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two per process; by default there is one process per processor."""
    monkeypatch.setattr("dither_spool.workers._processors", lambda: 3)

    class Counted(list[int]):
        taken = 0

        def __iter__(self) -> Iterator[int]:
            for one in super().__iter__():
                self.taken += 1
                yield one

    items = Counted(range(100))
    with workers(jobs) as spread:
        results = spread(doubled, items)
        assert next(results) == 0
        assert items.taken == taken
        assert list(results) == list(range(2, 200, 2))


def test_as_many_processes_run_as_there_are_processors_for_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0: {0, 2, 5}}[pid], raising=False)
    assert _processors() == 3
    monkeypatch.delattr("os.sched_getaffinity")
    for known, processors in ((6, 6), (None, 1)):
        monkeypatch.setattr("os.cpu_count", lambda known=known: known)
        assert _processors() == processors


def test_error_of_a_worker_process_is_raised_here() -> None:
    with workers(2) as spread, pytest.raises(ParameterError, match="here: wrong"):
        list(spread(fail, [1]))


def test_killed_worker_process_raises_workers_error() -> None:
    with workers(2) as spread, pytest.raises(DitherError, match="a worker process was killed"):
        list(spread(die, [1]))


def test_missing_cluster_workers_are_reported_until_one_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are reported twice here; as soon as there is a worker, the work goes on."""
    monkeypatch.setattr("dither_spool.workers._SILENCE", 0.01)
    lines = []
    with cluster_of(0) as cluster:

        def show(line: str) -> None:
            lines.append(line)
            if len(lines) == 2:
                cluster.scale(1)

        with workers(scheduler=cluster.scheduler_address, show=show) as spread:
            assert list(spread(doubled, range(3))) == [0, 2, 4]
            assert len(set(spread(secrets.token_bytes, [8, 8]))) == 2  # a task may read files: each runs
        assert set(lines) == {f"waiting: no worker is connected to {cluster.scheduler_address}\n"}


ORPHANING = """
import os, signal
from dither_spool.workers import workers

def main():
    with workers(1 + 1) as run:
        print(*run(pid_of, [0]), flush=True)
        input()
        os.kill(os.getpid(), signal.SIGKILL)

def pid_of(_):
    return os.getpid()

if __name__ == "__main__":
    main()
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="that a process ended is learnt by pidfd, of Linux")
def test_worker_process_ends_with_its_parent(tmp_path: Path) -> None:
    script = tmp_path / "orphaning.py"
    script.write_text(ORPHANING)
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, script], stdin=pipe, stdout=pipe, stderr=pipe, text=True) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        worker = os.pidfd_open(int(parent.stdout.readline()))
        print(file=parent.stdin, flush=True)
        assert select.select([worker], [], [], 30)[0] == [worker]  # readable as soon as it has ended
        os.close(worker)
