"""The experiment of ``dither-sim error --type number``: how far means, distributions, quantiles are off."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from dither_shared.mechanisms.numeric import NumericMechanism

from ...choices import Law
from ...sweeps.sweep import identity_of, mean
from ...trials.mechanism_by_name import named_numeric
from ...trials.number_theory import ExpectedNumbers, expected_numbers, least_mean_mse
from ...trials.number_trial import NumberScores, NumberSetting, run_number_trial
from ...users.numbers import NumberColumn, NumberSource


@dataclass(frozen=True)
class NumberCell:
    """A place in the grid."""

    asked: str
    users: int
    epsilon: float


@dataclass(frozen=True)
class NumberRow:
    """The result of a cell for one thing that is told: ``what`` is mean, distribution, or a quantile such as p95.

    The measures are those of ``NumberScores``, means over the repeats, and a ``_se`` is their standard error. Users are
    drawn anew for each trial, and the truth is that of the population. Everything is in parts of the range but ranks,
    and the ``mse`` and the ``width`` of the distribution, which are of shares. ``_theory`` and ``mse_bound``, the least
    squared error of any unbiased mean, are None where there is no simple formula. ``points`` is the size of the grid.
    """

    asked: str
    mechanism: str
    law: Law
    epsilon: float
    points: int
    users: int
    distribution: str
    what: str
    mse: float | None
    mse_se: float | None
    mse_theory: float | None
    mse_bound: float | None
    error: float
    error_se: float | None
    rank: float | None
    rank_se: float | None
    coverage: float
    coverage_se: float | None
    width: float
    width_se: float | None
    width_theory: float | None
    confidence: float
    repeats: int
    seed: int


@dataclass(frozen=True)
class NumberAccuracy:
    """What to sweep over: every mechanism at every number of users and ε."""

    names: tuple[str, ...]
    epsilons: tuple[float, ...]
    users: tuple[int, ...]
    source: NumberSource
    quantiles: tuple[float, ...] = (0.5, 0.95)
    permanent_epsilon: float | None = None
    repeats: int = 20
    seed: int = 0
    confidence: float = 0.95
    law: Law = "joint"

    row = NumberRow

    def cells(self) -> list[NumberCell]:
        """Return the grid: for each name each number of users, then ε."""
        return [NumberCell(*place) for place in product(self.names, self.users, self.epsilons)]

    def identity(self) -> str:
        """Return what tells this sweep from others, the numbers of a file included."""
        source = self.source
        return identity_of(
            self,
            (source.low, source.high, source.log, source.values.tolist(), source.counts.tolist())
            if isinstance(source, NumberColumn)
            else None,
        )

    def setting(self, cell: NumberCell) -> NumberSetting:
        """Return the setting of a cell's trials; raise ParameterError if there is no such mechanism for that ε."""
        mechanism = _mechanism(cell.asked, cell.epsilon, self.permanent_epsilon)
        shares = self.source.shares(mechanism.size)
        return NumberSetting(mechanism, shares, cell.users, self.confidence, self.law, self.quantiles)

    def trials(self, cell: NumberCell, seeds: Sequence[np.random.SeedSequence]) -> list[tuple[NumberScores, ...]]:
        """Return the scores of one trial for each seed."""
        setting = self.setting(cell)
        return [run_number_trial(setting, seed) for seed in seeds]

    def rows(self, cell: NumberCell, outcomes: Sequence[tuple[NumberScores, ...]]) -> list[NumberRow]:
        """Return a row for the mean, the distribution and each quantile."""
        setting = self.setting(cell)
        theory = expected_numbers(setting.mechanism, setting.shares, cell.users, self.confidence)
        bound = least_mean_mse(cell.epsilon, self.source.shares(_FINE), cell.users)
        told = ("mean", "distribution", *(f"p{100 * share:g}" for share in self.quantiles))
        return [
            NumberRow(
                asked=cell.asked,
                mechanism=setting.mechanism.name,
                law=self.law,
                epsilon=cell.epsilon,
                points=setting.mechanism.size,
                users=cell.users,
                distribution=self.source.name,
                what=what,
                **_in_theory(what, theory, bound),
                **_summary([outcome[place] for outcome in outcomes]),
                confidence=self.confidence,
                repeats=self.repeats,
                seed=self.seed,
            )
            for place, what in enumerate(told)
        ]


_FINE = 129
"""Points of the population of which the least error is told, so that it is the same for every mechanism."""


@lru_cache(maxsize=64)
def _mechanism(asked: str, epsilon: float, permanent_epsilon: float | None) -> NumericMechanism:
    """Return a mechanism of numbers; remembered, for a table takes up to a second."""
    return named_numeric(asked, epsilon, permanent_epsilon)


def _summary(scores: Sequence[NumberScores]) -> dict[str, Any]:
    """Return the means of the measures over the repeats, with standard errors."""
    summed: dict[str, Any] = {}
    for field in fields(NumberScores):
        summed[field.name], summed[f"{field.name}_se"] = mean([getattr(one, field.name) for one in scores])
    return summed


def _in_theory(what: str, theory: ExpectedNumbers, bound: float) -> dict[str, Any]:
    """Return what theory says of a row; None where it says nothing."""
    known: dict[str, tuple[float | None, float | None, float | None]] = {
        "mean": (theory.mean_mse, bound, theory.width),
        "distribution": (theory.cut_mse, None, None),
    }
    return dict(zip(("mse_theory", "mse_bound", "width_theory"), known.get(what, (None,) * 3), strict=True))
