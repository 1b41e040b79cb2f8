"""Sweeps: try every cell of a grid repeatedly, and sum up its outcomes in rows.

A sweep runs an ``Experiment``: the accuracy of estimates (``experiments/error/experiment.py``) or an attack
(``attacks``). The seed of a trial depends on the experiment's seed, the cell's place in the grid and the number of the
repeat, and on nothing else: not on who runs it, on how many there are, or on whether the sweep was killed in between.
"""

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np

from dither_server.ingest.folding.workers import Map, here

from .checkpoint import Journal

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


CellT = TypeVar("CellT")
OutcomeT = TypeVar("OutcomeT")
RowT = TypeVar("RowT", bound="DataclassInstance")

_CHUNK = 16
"""Trials that are sent to a worker together, since sending each by itself would cost more than running it."""


class Experiment(Protocol[CellT, OutcomeT, RowT]):
    """The trials that a sweep repeats, and the rows that sum them up. It is sent to workers, so it must pickle."""

    @property
    def seed(self) -> int:
        """The root of all randomness."""

    @property
    def repeats(self) -> int:
        """How many trials a cell has."""

    @property
    def row(self) -> type[RowT]:
        """The class of a row of results: a dataclass of numbers and strings."""

    def cells(self) -> Sequence[CellT]:
        """Return the cells, in the order of their rows."""

    def identity(self) -> str:
        """Return a digest that differs from every other experiment's: of all that its numbers depend on."""

    def trials(self, cell: CellT, seeds: Sequence[np.random.SeedSequence]) -> list[OutcomeT]:
        """Return the outcome of one trial for each seed."""

    def rows(self, cell: CellT, outcomes: Sequence[OutcomeT]) -> list[RowT]:
        """Return the rows that sum up the trials of a cell."""


@dataclass(frozen=True)
class _Task(Generic[CellT, OutcomeT, RowT]):
    experiment: Experiment[CellT, OutcomeT, RowT]
    cell: CellT
    seeds: tuple[np.random.SeedSequence, ...]


def sweep(
    experiment: Experiment[CellT, OutcomeT, RowT],
    run: Map = here,
    journal: Journal | None = None,
    step: Callable[[int], object] = int,
) -> list[RowT]:
    """Return the rows of every cell, in the order of the cells.

    Cells that ``journal`` has are not tried again; others are added to it when they are finished. ``step`` is called
    with the number of trials made since it was last called.
    """
    cells = experiment.cells()
    rows: dict[int, list[RowT]] = {}
    for place, known in ({} if journal is None else journal.done).items():
        rows[place] = [experiment.row(**values) for values in known]
        step(experiment.repeats)
    for place, found in _finished(experiment, cells, [at for at in range(len(cells)) if at not in rows], run, step):
        rows[place] = found
        if journal is not None:
            journal.append(place, found)
    return [row for place in range(len(cells)) for row in rows[place]]


def seeds(experiment: Experiment[Any, Any, Any], place: int) -> list[np.random.SeedSequence]:
    """Return the seeds of the trials of the cell at a place."""
    return np.random.SeedSequence(experiment.seed, spawn_key=(place,)).spawn(experiment.repeats)


def mean(values: Sequence[float | None]) -> tuple[float | None, float | None]:
    """Return the mean and its standard error, which one value does not have; None where a value is not defined."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None, None
    if len(known) == 1:
        return known[0], None
    return float(np.mean(known)), float(np.std(known, ddof=1)) / math.sqrt(len(known))


def identity_of(*parts: object) -> str:
    """Return a digest of all that an experiment's numbers depend on: its ``repr``, and numpy's version."""
    return hashlib.sha256(repr((np.__version__, *parts)).encode("utf-8")).hexdigest()[:16]


def _finished(
    experiment: Experiment[CellT, OutcomeT, RowT],
    cells: Sequence[CellT],
    places: Sequence[int],
    run: Map,
    step: Callable[[int], object],
) -> Iterator[tuple[int, list[RowT]]]:
    """Yield the places of cells with their rows, each as soon as it is finished."""
    tasks = [_tasks(experiment, cells[place], seeds(experiment, place)) for place in places]
    results = run(_perform, [task for chunks in tasks for task in chunks])
    for place, chunks in zip(places, tasks, strict=True):
        outcomes: list[OutcomeT] = []
        for some in islice(results, len(chunks)):
            outcomes += some
            step(len(some))
        yield place, experiment.rows(cells[place], outcomes)


def _tasks(
    experiment: Experiment[CellT, OutcomeT, RowT], cell: CellT, all_seeds: Sequence[np.random.SeedSequence]
) -> list[_Task[CellT, OutcomeT, RowT]]:
    starts = range(0, len(all_seeds), _CHUNK)
    return [_Task(experiment, cell, tuple(all_seeds[start : start + _CHUNK])) for start in starts]


def _perform(task: _Task[CellT, OutcomeT, RowT]) -> list[OutcomeT]:
    return task.experiment.trials(task.cell, task.seeds)
