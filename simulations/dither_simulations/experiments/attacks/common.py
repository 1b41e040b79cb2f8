"""The shared part of the attacks on series of reports: the devices that are attacked, and how success is summed up."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dither_shared import MECHANISMS, Mechanism
from dither_shared.privacy.binomial import lower_bound, upper_bound

from ...sweeps.sweep import identity_of
from ...trials.mechanism_by_name import named

_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Series:
    """A cell: a mechanism, whether devices remember, and how many reports each device makes."""

    asked: str
    memoised: bool
    reports: int


@dataclass(frozen=True)
class Hits:
    """How often an attack succeeded in so many tries; a try decided by lot counts as its chance."""

    successes: float
    tries: int


@dataclass(frozen=True)
class SeriesRow:
    """The share of ``devices`` on which an attack succeeded, with its interval at 95 % (Clopper and Pearson).

    No attack of the kind exceeds ``bound`` (or its expectation does not); ``theory`` is the success expected of this
    attack where there is a simple formula. ``permanent_epsilon`` is None where devices do not remember.
    """

    attack: str
    mechanism: str
    memoised: bool
    size: int | None
    epsilon: float
    permanent_epsilon: float | None
    reports: int
    success: float
    low: float
    high: float
    theory: float | None
    bound: float
    devices: int
    seed: int


@dataclass(frozen=True)
class SeriesExperiment(ABC):
    """Every mechanism, with memory and without, after every number of reports; ``devices`` of them in a trial.

    A set that is limited has at most half of the values.
    """

    names: tuple[str, ...]
    reports: tuple[int, ...]
    size: int = 4
    epsilon: float = 1.0
    permanent_epsilon: float = 2.0
    devices: int = 200
    repeats: int = 5
    seed: int = 0

    row = SeriesRow

    def cells(self) -> list[Series]:
        """Return the grid."""
        return [
            Series(name, lasting, some) for name in self.names for lasting in (False, True) for some in self.reports
        ]

    def identity(self) -> str:
        """Return a digest that differs from every other experiment's."""
        return identity_of(self)

    def mechanism(self, cell: Series) -> Mechanism:
        """Return the mechanism of a cell; raise ParameterError if there is none."""
        lasting = cell.memoised or MECHANISMS[cell.asked].always_memoised
        forever = self.permanent_epsilon if lasting else None
        return named(cell.asked, self.size, self.epsilon, forever, at_most=self.size // 2)

    @abstractmethod
    def trials(self, cell: Series, seeds: Sequence[np.random.SeedSequence]) -> list[Hits]:
        """Attack some devices for each seed."""

    @abstractmethod
    def rows(self, cell: Series, outcomes: Sequence[Hits]) -> list[SeriesRow]:
        """Return how often the attack succeeded, beside what theory says."""

    def summary(self, cell: Series, outcomes: Sequence[Hits]) -> dict[str, Any]:
        """Return the fields of a row: its cell, and how often the attack succeeded."""
        mechanism = self.mechanism(cell)
        successes, tries = sum(one.successes for one in outcomes), sum(one.tries for one in outcomes)
        each = (1 + _CONFIDENCE) / 2
        return {
            "attack": type(self).__name__.lower(),
            "mechanism": mechanism.name,
            "memoised": cell.memoised,
            "size": mechanism.size,
            "epsilon": self.epsilon,
            "permanent_epsilon": self.permanent_epsilon if cell.memoised else None,
            "reports": cell.reports,
            "success": successes / tries,
            "low": lower_bound(int(successes), tries, each),
            "high": upper_bound(-int(-successes), tries, each),
            "devices": tries,
            "seed": self.seed,
        }
