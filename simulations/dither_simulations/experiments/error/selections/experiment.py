"""The experiment of ``dither-sim error --type selection``: how far the shares of items are off."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any

import numpy as np

from dither_shared import ParameterError

from ....choices import Law
from ....sweeps.sweep import identity_of, mean
from ....trials.mechanism_by_name import named_selection
from ....trials.set_trial import SetScores, SetSetting, expected_sets, run_set_trial
from ....users.set_sources import SetColumn, SetSource


@dataclass(frozen=True)
class SelectionCell:
    """A place in the grid."""

    asked: str
    size: int
    users: int
    epsilon: float


@dataclass(frozen=True)
class SelectionRow:
    """The result of a cell; the measures are those of ``SetScores``, means over the repeats.

    A ``_se`` is their standard error, a ``_theory`` what theory expects. Users are drawn anew for each trial, and the
    truth is that of the population. ``size`` is the number of items, ``at_most`` how many a person may have.
    """

    asked: str
    mechanism: str
    law: Law
    epsilon: float
    size: int
    at_most: int | None
    users: int
    distribution: str
    mse: float
    mse_se: float | None
    mse_theory: float
    max_error: float
    max_error_se: float | None
    top: int
    recall: float
    recall_se: float | None
    coverage: float
    coverage_se: float | None
    width: float
    width_se: float | None
    width_theory: float
    confidence: float
    repeats: int
    seed: int


@dataclass(frozen=True)
class SelectionAccuracy:
    """What to sweep over: every mechanism at every number of items, of users, and ε."""

    names: tuple[str, ...]
    epsilons: tuple[float, ...]
    sizes: tuple[int, ...]
    users: tuple[int, ...]
    source: SetSource
    at_most: int | None = None
    permanent_epsilon: float | None = None
    repeats: int = 20
    seed: int = 0
    confidence: float = 0.95
    law: Law = "joint"
    top: int = 10

    row = SelectionRow

    def cells(self) -> list[SelectionCell]:
        """Return the grid: for each name each number of items, for each of these each number of users, then ε."""
        return [SelectionCell(*place) for place in product(self.names, self.sizes, self.users, self.epsilons)]

    def identity(self) -> str:
        """Return what tells this sweep from others, the sets of a file included."""
        source = self.source
        whole = (source.items, source.sets, source.counts.tolist()) if isinstance(source, SetColumn) else source
        return identity_of(replace(self, source=None), whole)  # type: ignore[arg-type]  # its name says too little

    def setting(self, cell: SelectionCell) -> SetSetting:
        """Return the setting of a cell's trials; raise ParameterError if there is no such mechanism, or no such set."""
        people = self.source.people(cell.size, self.at_most)
        mechanism = named_selection(cell.asked, cell.size, self.at_most, cell.epsilon, self.permanent_epsilon)
        if self.law == "device" and not mechanism.items.sets:
            raise ParameterError("--law", f"device goes without {cell.asked}, whose items are asked one by one")
        return SetSetting(mechanism, people, cell.users, self.confidence, self.law, self.top)

    def trials(self, cell: SelectionCell, seeds: Sequence[np.random.SeedSequence]) -> list[SetScores]:
        """Return the scores of one trial for each seed."""
        setting = self.setting(cell)
        return [run_set_trial(setting, seed) for seed in seeds]

    def rows(self, cell: SelectionCell, outcomes: Sequence[SetScores]) -> list[SelectionRow]:
        """Return the one row of a cell."""
        setting = self.setting(cell)
        theory = expected_sets(setting)
        return [
            SelectionRow(
                asked=cell.asked,
                mechanism=setting.mechanism.name,
                law=self.law,
                epsilon=cell.epsilon,
                size=cell.size,
                at_most=self.at_most,
                users=cell.users,
                distribution=self.source.name,
                mse_theory=theory.mse,
                width_theory=theory.width,
                top=min(self.top, cell.size),
                **_summary(outcomes),
                confidence=self.confidence,
                repeats=self.repeats,
                seed=self.seed,
            )
        ]


def _summary(scores: Sequence[SetScores]) -> dict[str, Any]:
    """Return the means of the measures over the repeats, with standard errors."""
    summed: dict[str, Any] = {}
    for field in fields(SetScores):
        summed[field.name], summed[f"{field.name}_se"] = mean([getattr(one, field.name) for one in scores])
    return summed
