"""Sweeps that are spread, killed and resumed give the same numbers as an undisturbed one."""

import json
import pickle
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dither_shared import ParameterError
from dither_simulations.experiments.error.accuracy import Cell
from dither_simulations.experiments.error.shares import ShareAccuracy
from dither_simulations.sweeps import Row, SweepJournal, sweep
from dither_simulations.users.populations import Distribution
from forkserver import run as run_python
from simulations.lab import lab

PLAN = ShareAccuracy(
    names=("randomized-response",),
    epsilons=(0.5, 1.0, 2.0),
    sizes=(8,),
    users=(1000,),
    source=Distribution(),
    repeats=20,
    seed=3,
)
ARGUMENTS = ("error", "--mechanism", "randomized-response", "--epsilon", "0.5,1,2", "-k", "8", "-n", "1000")

KILLED = f"""
import os, signal
from dither_simulations import sweeps
from dither_simulations.cli import main
write, lines = sweeps.SweepJournal._write, 0

def dying(self, line):
    global lines
    lines += 1
    if lines == 4:  # the head and two cells are written; the power goes in the midst of the third
        self._file.write(b'{{"cell": 2, "ro')
        self._file.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    write(self, line)

sweeps.SweepJournal._write = dying
main([*{ARGUMENTS!r}, "--out", "rows.csv"])
"""


def sent_and_returned(function: Callable[[Any], Any], items: Sequence[Any], /) -> Iterator[Any]:
    """Apply a function in this process to items that arrive from another, and yield its results."""
    for item in items:
        call, argument = pickle.loads(pickle.dumps((function, item)))  # noqa: S301  # ours
        try:
            result = call(argument)
        except Exception as error:
            result = error
        returned = pickle.loads(pickle.dumps(result))  # noqa: S301  # ours
        if isinstance(returned, Exception):
            raise returned
        yield returned


def test_tasks_results_and_errors_survive_the_way_to_other_processes() -> None:
    beyond = replace(PLAN, names=("bit-flip",), sizes=(20_000,), law="joint", repeats=1)
    assert sweep(PLAN, sent_and_returned) == sweep(PLAN)
    with pytest.raises(ParameterError, match="size: 20000") as caught:
        sweep(beyond, sent_and_returned)
    assert caught.value.place == "size"


def test_missing_dask_scheduler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dither_spool.workers._PATIENCE", 0.1)
    result = lab(*ARGUMENTS, "--scheduler", "tcp://127.0.0.1:9")
    assert result.exit_code == 2
    assert "--scheduler: no Dask scheduler answers at 'tcp://127.0.0.1:9'" in result.stderr


def test_a_killed_sweep_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed = run_python("-c", KILLED, cwd=tmp_path)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    part = tmp_path / "rows.csv.part"
    left = part.read_bytes().split(b"\n")
    assert [json.loads(line).get("cell") for line in left[:-1]] == [None, 0, 1]
    assert left[-1] == b'{"cell": 2, "ro'

    tried: list[float] = []
    simulate = ShareAccuracy.simulate

    def watched(self: ShareAccuracy, cell: Cell, seed: np.random.SeedSequence) -> Sequence[Row]:
        tried.append(cell.epsilon)
        return simulate(self, cell, seed)

    monkeypatch.setattr(ShareAccuracy, "simulate", watched)
    monkeypatch.chdir(tmp_path)
    resumed = lab(*ARGUMENTS, "--out", "rows.csv")
    assert resumed.exit_code == 0, resumed.output
    assert set(tried) == {2.0}  # finished trials are not run again
    assert not part.exists()

    again = lab(*ARGUMENTS, "--out", "again.csv")
    assert again.stdout == resumed.stdout
    assert Path("again.csv").read_bytes() == Path("rows.csv").read_bytes()


def test_partial_rows_of_another_sweep_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.part"
    SweepJournal(path, PLAN.identity()).close()
    with pytest.raises(ParameterError, match="another, unfinished sweep"):
        SweepJournal(path, replace(PLAN, seed=4).identity())
    assert path.exists()
    SweepJournal(path, PLAN.identity()).close()


def test_finished_cells_are_read_back_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "rows.part"
    journal = SweepJournal(path, PLAN.identity())
    rows = sweep(PLAN, journal=journal)
    journal.close()
    steps: list[int] = []
    again = SweepJournal(path, PLAN.identity())
    assert sweep(PLAN, journal=again, step=steps.append) == rows
    again.close()
    assert steps == [20, 20, 20]
