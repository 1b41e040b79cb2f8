"""Sweeps: simulate every cell of a grid repeatedly, and sum up the trials in rows, beside theory.

The seed of a trial depends only on the experiment's seed, the cell's place in the grid and the number of the repeat:
not on who runs it, on the number of workers, or on whether the sweep was killed in between.
"""

import hashlib
import json
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dither_shared import ParameterError
from dither_shared.privacy.audit import lower_bound, upper_bound
from dither_spool.workers import Map, here

from .tables import ResultColumn, results_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = dict[str, Any]
"""One result, or the measures of one trial: a number, a string or None per name.

All rows of an experiment have the same names, which are its columns.
"""


_CHUNK = 16
"""Trials that are sent to a worker together, because sending each separately would cost more than running it."""


class Experiment(ABC):
    """Trials over a grid of cells. Subclasses are frozen dataclasses that pickle, because workers receive them."""

    seed: int
    """The root of all randomness."""
    repeats: int
    """Trials per cell."""
    columns: ClassVar[Sequence[ResultColumn]]
    """The columns of the table."""
    words: ClassVar[int] = 1
    """The number of columns that hold words."""

    @abstractmethod
    def cells(self) -> Sequence[Any]:
        """Return the cells, in the order of their rows."""

    @abstractmethod
    def simulate(self, cell: Any, seed: np.random.SeedSequence) -> Sequence[Row]:
        """Run one trial of a cell and return the measures of each part; they depend on the arguments alone."""

    @abstractmethod
    def about(self, cell: Any) -> Row:
        """Return the columns that describe a cell; raise ParameterError if the cell is impossible."""

    def theory(self, cell: Any) -> Sequence[Row]:
        """Return the parts of a trial: for each, the columns that name it and what theory says about its measures.

        The column ``mse_theory`` comes after the measure ``mse`` and its standard error ``mse_se``.
        """
        return ({},)

    def check(self) -> None:
        """Raise ParameterError if a cell is impossible, before anything is simulated."""
        for cell in self.cells():
            self.about(cell)

    def table(self, rows: Sequence[Row]) -> str:
        """Return the results for a terminal."""
        return results_table(self.columns, rows, self.words)

    @abstractmethod
    def plot(self, rows: Sequence[Row]) -> "Figure":
        """Return the results as a picture."""

    def identity(self) -> str:
        """Return a digest of everything that the experiment's numbers depend on, different from every other's."""
        return identity_of(self)

    def rows(self, cell: Any, outcomes: Sequence[Sequence[Row]]) -> list[Row]:
        """Return one row per part: the means of its measures with their standard errors, and theory."""
        about, rows = self.about(cell), []
        for place, theory in enumerate(self.theory(cell)):
            trials = [outcome[place] for outcome in outcomes]
            beside = {name: [column for column in theory if column.startswith(f"{name}_")] for name in trials[0]}
            apart = {column for columns in beside.values() for column in columns}
            row = about | {column: value for column, value in theory.items() if column not in apart}
            for name, columns in beside.items():
                row[name], row[f"{name}_se"] = mean([trial[name] for trial in trials])
                row |= {column: theory[column] for column in columns}
            rows.append(row)
        return rows


def sweep(
    experiment: Experiment,
    run: Map = here,
    journal: "SweepJournal | None" = None,
    step: Callable[[int], object] = int,
) -> list[Row]:
    """Return the rows of every cell, in the order of the cells.

    Cells that ``journal`` has are not tried again; others are added to it when they are finished. ``step`` is called
    with the number of trials made since its last call.
    """
    cells = experiment.cells()
    rows: dict[int, list[Row]] = {}
    for place, known in ({} if journal is None else journal.done).items():
        rows[place] = known
        step(experiment.repeats)
    for place, found in _finished(experiment, cells, [at for at in range(len(cells)) if at not in rows], run, step):
        rows[place] = found
        if journal is not None:
            journal.append(place, found)
    return [row for place in range(len(cells)) for row in rows[place]]


def seeds(experiment: Experiment, place: int) -> list[np.random.SeedSequence]:
    """Return the seeds of the trials of the cell at a place."""
    return np.random.SeedSequence(experiment.seed, spawn_key=(place,)).spawn(experiment.repeats)


def mean(values: Sequence[float | None]) -> tuple[float | None, float | None]:
    """Return the mean and its standard error, None for a single value; both None if a value is not defined."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None, None
    if len(known) == 1:
        return known[0], None
    return float(np.mean(known)), float(np.std(known, ddof=1)) / math.sqrt(len(known))


def success_rate(successes: float, tries: int) -> Row:
    """Return the share of successes, with its interval at 95 % (Clopper and Pearson)."""
    low, high = lower_bound(int(successes), tries, 0.975), upper_bound(-int(-successes), tries, 0.975)
    return {"success": successes / tries, "low": low, "high": high}


def identity_of(*parts: object) -> str:
    """Return a digest of everything that an experiment's numbers depend on, and of numpy's version."""
    return hashlib.sha256(repr((np.__version__, *parts)).encode("utf-8")).hexdigest()[:16]


def _finished(
    experiment: Experiment, cells: Sequence[Any], places: Sequence[int], run: Map, step: Callable[[int], object]
) -> Iterator[tuple[int, list[Row]]]:
    """Yield the places of cells with their rows, each as soon as it is finished."""
    chunks = [_chunks(seeds(experiment, place)) for place in places]
    tasks = [(experiment, cells[place], chunk) for place, some in zip(places, chunks, strict=True) for chunk in some]
    results = run(_perform, tasks)
    for place, of_cell in zip(places, chunks, strict=True):
        outcomes: list[Sequence[Row]] = []
        for some in islice(results, len(of_cell)):
            outcomes += some
            step(len(some))
        yield place, experiment.rows(cells[place], outcomes)


def _chunks(all_seeds: Sequence[np.random.SeedSequence]) -> list[Sequence[np.random.SeedSequence]]:
    return [all_seeds[start : start + _CHUNK] for start in range(0, len(all_seeds), _CHUNK)]


def _perform(task: tuple[Experiment, Any, Sequence[np.random.SeedSequence]]) -> list[Sequence[Row]]:
    experiment, cell, chunk = task
    return [experiment.simulate(cell, seed) for seed in chunk]


class SweepJournal:
    """Makes a sweep resumable: the rows of each finished cell, appended to a file that is synced to disk.

    A line is a JSON object. The first holds the sweep's ``identity``; each other holds a cell's number and its rows. A
    line that a crash cut short does not count, and the next one overwrites it. Raises ParameterError if the file is of
    another sweep, or cannot be read or written.
    """

    def __init__(self, path: Path, identity: str) -> None:
        self.path = path
        self.done: dict[int, list[Row]] = {}
        try:
            self._file = path.open("a+b")
            self._file.seek(0)
            content = self._file.read()
        except OSError as error:
            raise ParameterError(str(path), f"cannot be read and written: {error.strerror}") from None
        whole = content[: content.rfind(b"\n") + 1]
        self._file.truncate(len(whole))
        self._read(whole, identity)

    def _read(self, whole: bytes, identity: str) -> None:
        lines = [json.loads(line) for line in whole.splitlines()]
        if not lines:
            self._write({"sweep": identity})
        elif lines[0] != {"sweep": identity}:
            self.close()
            raise ParameterError(
                str(self.path), "belongs to another, unfinished sweep; finish that one, or delete the file"
            )
        self.done = {line["cell"]: line["rows"] for line in lines[1:]}

    def append(self, cell: int, rows: Sequence[Row]) -> None:
        """Add a finished cell; it is on disk when this returns."""
        self._write({"cell": cell, "rows": rows})

    def _write(self, line: dict[str, Any]) -> None:
        self._file.write(json.dumps(line, allow_nan=False).encode("utf-8") + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file, and keep it for the next run."""
        self._file.close()
