"""The experiment of ``dither-sim error``: measure how far estimates are from the truth, with theory beside it."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any

import numpy as np

from dither_shared import Mechanism, ParameterError

from ...choices import Law, Step
from ...samplers import has_marginal
from ...sweeps.sweep import identity_of, mean
from ...trials.measures import Interval, Scores
from ...trials.mechanism_by_name import named
from ...trials.theory import Expected, expected
from ...trials.trial import Outcome, Setting, affordable_law, run_trial
from ...users.sources import Column, Source


@dataclass(frozen=True)
class Cell:
    """A place in the grid; ``asked`` is the name of a mechanism, or "auto"."""

    asked: str
    size: int
    users: int
    epsilon: float
    day: int = 1


@dataclass(frozen=True)
class Row:
    """The result of a cell after one consistency step. A ``_se`` is the standard error of the mean over repeats.

    ``law`` says how tallies were drawn (``choices.Law``): under "marginal", ``max_error``, ``recall`` and the standard
    errors are not quite those of a collection. ``epsilon_spent`` is what the reports up to and of ``day`` cost a person
    who has had one value all the while. Errors are those of a frequency (a share between 0 and 1; ``measures.Scores``),
    None where not defined; ``_theory`` and ``mse_bound`` come from ``theory.py`` and are about raw frequencies alone.
    """

    asked: str
    mechanism: str
    law: Law
    epsilon: float
    size: int
    users: int
    distribution: str
    day: int
    epsilon_spent: float
    step: Step
    mse: float
    mse_se: float | None
    mse_theory: float | None
    mse_bound: float
    l1: float
    l1_se: float | None
    l1_theory: float | None
    max_error: float
    max_error_se: float | None
    kl: float | None
    kl_se: float | None
    top: int
    recall: float
    recall_se: float | None
    coverage: float | None
    coverage_se: float | None
    width: float | None
    width_se: float | None
    width_theory: float | None
    confidence: float
    repeats: int
    seed: int


@dataclass(frozen=True)
class Accuracy:
    """What to sweep over: every mechanism at every size, number of users, ε and day.

    ``law`` None is the joint one where that is affordable. All ``steps`` are taken from the same trials.
    """

    names: tuple[str, ...]
    epsilons: tuple[float, ...]
    sizes: tuple[int, ...]
    users: tuple[int, ...]
    source: Source
    steps: tuple[Step, ...] = ("raw",)
    days: int = 1
    permanent_epsilon: float | None = None
    repeats: int = 20
    seed: int = 0
    confidence: float = 0.95
    law: Law | None = None
    top: int = 10
    collector: str = ""

    row = Row

    def cells(self) -> list[Cell]:
        """Return the grid: for each name each size, for each size each number of users, then ε, then days."""
        grid = product(self.names, self.sizes, self.users, self.epsilons, range(1, self.days + 1))
        return [Cell(*place) for place in grid]

    def identity(self) -> str:
        """Return what tells this sweep from others, the numbers of a file's values included.

        Where the collector is reached is left out: one that is started again goes on.
        """
        whole = self.source.whole if isinstance(self.source, Column) else None
        return identity_of(
            replace(self, collector=""), None if whole is None else (whole.labels, whole.counts.tolist())
        )

    def setting(self, cell: Cell) -> Setting:
        """Return the setting of a cell's trials.

        Raises ParameterError if there is no such mechanism: for that ε, for so many values, or with that law.
        """
        mechanism = self._mechanism(cell)
        population = self.source.population(cell.size, cell.users, cell.day)
        if self.law == "marginal" and not has_marginal(mechanism):
            raise ParameterError(
                "law", f"the values of {mechanism.name} have no marginal law, because its hashing ties them together"
            )
        law = self.law or affordable_law(mechanism, population)
        return Setting(
            mechanism, population, self.confidence, law, self.steps, self.top, self.collector, asked=cell.epsilon
        )

    def _mechanism(self, cell: Cell) -> Mechanism:
        return named(cell.asked, cell.size, cell.epsilon, self.permanent_epsilon)

    def trials(self, cell: Cell, seeds: Sequence[np.random.SeedSequence]) -> list[Outcome]:
        """Return the outcome of one trial for each seed."""
        setting = self.setting(cell)
        return [run_trial(setting, seed) for seed in seeds]

    def rows(self, cell: Cell, outcomes: Sequence[Outcome]) -> list[Row]:
        """Return a row for each step."""
        setting = self.setting(cell)
        theory = expected(setting.mechanism, setting.population, cell.epsilon, self.confidence)
        return [
            Row(
                **self._place(cell, setting),
                step=step,
                mse_bound=theory.bound,
                **_summary(step, place, outcomes, theory),
            )
            for place, step in enumerate(self.steps)
        ]

    def _place(self, cell: Cell, setting: Setting) -> dict[str, Any]:
        """Return the fields of a row that describe its cell."""
        return {
            "asked": cell.asked,
            "mechanism": setting.mechanism.name,
            "law": setting.law,
            "epsilon": cell.epsilon,
            "size": cell.size,
            "users": setting.population.users,
            "distribution": self.source.name,
            "day": cell.day,
            "epsilon_spent": setting.mechanism.epsilon_after(cell.day),
            "top": min(self.top, cell.size),
            "confidence": self.confidence,
            "repeats": self.repeats,
            "seed": self.seed,
        }


def _summary(step: Step, place: int, outcomes: Sequence[Outcome], theory: Expected) -> dict[str, Any]:
    """Return the means of a step's measures over the repeats, with standard errors, and for "raw" the theory."""
    raw = step == "raw"
    values: dict[str, list[float | None]] = {
        name: [getattr(outcome.scores[place], name) for outcome in outcomes] for name in _SCORES
    }
    for name in _INTERVAL:
        values[name] = [getattr(outcome.interval, name) if raw else None for outcome in outcomes]
    summed: dict[str, Any] = {f"{name}_theory": getattr(theory, name) if raw else None for name in _IN_THEORY}
    for name, each in values.items():
        summed[name], summed[f"{name}_se"] = mean(each)
    return summed


_SCORES = tuple(field.name for field in fields(Scores))
_INTERVAL = tuple(field.name for field in fields(Interval))
_IN_THEORY = ("mse", "l1", "width")
