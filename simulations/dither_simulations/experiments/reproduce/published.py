"""Reproduce published numbers and put ours beside them: ``dither-sim reproduce``.

- ``wang-2017``: Wang, Blocki, Li and Jha, "Locally differentially private protocols for frequency estimation", USENIX
  Security 2017, table 1: n times the variance of the estimate of a value that nobody has, in closed form.
- ``feldman-2022``: Feldman, Nelson, Nguyen and Talwar, "Private frequency estimation via projective geometry", ICML
  2022: subset selection and projective geometry response over 22,000 values. The paper shows pictures; the numbers are
  the results of its runs that its authors published (github.com/minilek/private_frequency_oracles): the mean squared
  error of a count over 300 runs each, of which the range is given.
- ``duchi-2018`` and ``wang-2019``, variances of means of numbers: see ``means.py``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dither_server.estimation.estimate import estimate
from dither_shared import Mechanism

from ...choices import Paper
from ...samplers import Marginal, sample_support
from ...sweeps.sweep import identity_of, mean
from ...trials.mechanism_by_name import named
from ...trials.theory import predicted_mse
from ...users.populations import Population, numbered, zipf
from .means import PublishedMean, duchi_2018, wang_2019

__all__ = ["PAPERS", "Published", "Reproduction", "ReproductionRow"]

_EPSILONS = (0.5, 1.0, 2.0, 4.0)
_FORMULAS = {
    "randomized-response": "(k - 2 + e^ε)/(e^ε - 1)²",
    "symmetric-unary": "e^(ε/2)/(e^(ε/2) - 1)²",
    "optimized-unary": "4e^ε/(e^ε - 1)²",
    "local-hashing": "4e^ε/(e^ε - 1)²",
}


@dataclass(frozen=True)
class Published:
    """A published number, or the range of many runs, with its survey: users, values and how many hold each."""

    paper: Paper
    mechanism: str
    size: int
    epsilon: float
    users: int
    what: str
    low: float
    high: float

    @property
    def middle(self) -> float:
        """The number, or the middle of the range."""
        return (self.low + self.high) / 2

    def theory(self) -> float:
        """Return what our mechanism's exact law says of it."""
        mechanism = self._named()
        if self.paper == "feldman-2022":
            return predicted_mse(mechanism, _population(self)) * self.users**2
        return mechanism.variance(0.0)

    def trial(self, rng: np.random.Generator) -> float:
        """Return the number as one trial has it."""
        return _number(self, self._named(), _population(self), rng)

    def _named(self) -> Mechanism:
        return named(self.mechanism, self.size, self.epsilon)


def _wang() -> tuple[Published, ...]:
    return tuple(
        Published("wang-2017", name, size, epsilon, 10**6, f"n Var = {formula}", value, value)
        for name, formula in _FORMULAS.items()
        for size in ((16, 1024) if name == "randomized-response" else (1024,))
        for epsilon in _EPSILONS
        for value in (_variance(name, size, math.exp(epsilon)),)
    )


def _variance(name: str, size: int, odds: float) -> float:
    """Return the value of the table's formula."""
    if name == "randomized-response":
        return (size - 2 + odds) / (odds - 1) ** 2
    if name == "symmetric-unary":
        return math.sqrt(odds) / (math.sqrt(odds) - 1) ** 2
    return 4 * odds / (odds - 1) ** 2


_SPIKE = "squared error of a count, one value alone"
_ZIPF = "squared error of a count, Zipf 1"

PAPERS: dict[Paper, tuple[Published | PublishedMean, ...]] = {
    "wang-2017": _wang(),
    "feldman-2022": (
        Published("feldman-2022", "subset-selection", 22_000, 5.0, 1_000, _ZIPF, 26.3829, 28.0272),
        Published("feldman-2022", "projective-geometry", 22_000, 5.0, 1_000, _ZIPF, 26.4635, 28.4157),
        Published("feldman-2022", "subset-selection", 22_000, 1.386, 10_000, _SPIKE, 17_791.1, 18_907.3),
        Published("feldman-2022", "projective-geometry", 22_000, 1.386, 10_000, _SPIKE, 17_214.5, 18_387.7),
    ),
    "duchi-2018": duchi_2018(),
    "wang-2019": wang_2019(),
}


@dataclass(frozen=True)
class ReproductionRow:
    """A published number, our mechanism's in theory, and the mean measured over the repeats.

    ``deviation`` is the relative difference of the measured mean from the published number, or from the middle of its
    range; ``theory_deviation`` is that of our mechanism's exact law.
    """

    paper: Paper
    mechanism: str
    what: str
    size: int
    epsilon: float
    users: int
    published_low: float
    published_high: float
    theory: float
    theory_deviation: float
    measured: float
    measured_se: float | None
    deviation: float
    repeats: int
    seed: int


@dataclass(frozen=True)
class Reproduction:
    """The experiment: every number of some papers. The support of each value is drawn from its marginal law."""

    papers: tuple[Paper, ...]
    repeats: int = 100
    seed: int = 0

    row = ReproductionRow

    def cells(self) -> list[Published | PublishedMean]:
        """Return the numbers."""
        return [number for paper in self.papers for number in PAPERS[paper]]

    def identity(self) -> str:
        """Return a digest that differs from every other experiment's."""
        return identity_of(self)

    def trials(self, cell: Published | PublishedMean, seeds: Sequence[np.random.SeedSequence]) -> list[float]:
        """Return the number as each trial has it."""
        return [cell.trial(np.random.default_rng(seed)) for seed in seeds]

    def rows(self, cell: Published | PublishedMean, outcomes: Sequence[float]) -> list[ReproductionRow]:
        """Return the mean beside the published number."""
        theory = cell.theory()
        measured, error = mean(outcomes)
        return [
            ReproductionRow(
                paper=cell.paper,
                mechanism=cell.mechanism,
                what=cell.what,
                size=cell.size,
                epsilon=cell.epsilon,
                users=cell.users,
                published_low=cell.low,
                published_high=cell.high,
                theory=theory,
                theory_deviation=theory / cell.middle - 1,
                measured=measured or 0.0,
                measured_se=error,
                deviation=(measured or 0.0) / cell.middle - 1,
                repeats=self.repeats,
                seed=self.seed,
            )
        ]


def _population(cell: Published) -> Population:
    """Return users who all hold the first value or, for Zipf's law, as many as it says."""
    weights = zipf(cell.size, 1.0) if cell.what == _ZIPF else np.eye(1, cell.size)[0]
    return Population.spread(numbered(cell.size), weights, cell.users)


def _number(cell: Published, mechanism: Mechanism, population: Population, rng: np.random.Generator) -> float:
    """Return n times the squared error of an empty value, averaged over them; or the squared error of a count."""
    tally = sample_support(mechanism, population, rng)
    error = estimate(Marginal(whole=mechanism), population.labels, tally).frequency - population.shares
    if cell.paper == "wang-2017":
        return float(cell.users * np.mean(error[1:] ** 2))
    return float(cell.users**2 * np.mean(error**2))
