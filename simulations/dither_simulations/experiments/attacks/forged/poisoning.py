"""Poisoning: forged reports that raise the estimates of r chosen values (Cao, Jia and Gong, USENIX Security 2021).

- ``random-report`` (RPA): any report that the collector takes, uniformly;
- ``crafted-input`` (RIA): a chosen value, sent through the honest randomizer: an honest lie;
- ``crafted-report`` (MGA): the report that supports the most chosen values at once, by no randomizer.

With a share β of all reports forged, each of which supports s of the r values on average, the estimates of these rise
together by

    G = β ( (s - r q)/(p - q) - f_T ),

f_T being their true share. An honest lie has (s - r q)/(p - q) = 1 whatever the mechanism.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dither_server.estimation.estimate import debiased
from dither_server.tally.tally import Tally
from dither_shared import Mechanism, ParameterError

from ....choices import ATTACKS, Attack
from ....samplers import sample_tally
from ....sweeps.sweep import identity_of, mean
from ....trials.mechanism_by_name import named
from ....users.populations import Population, numbered, zipf
from .forging import crafted_rows, most_supported, random_rows, random_support

_BAND = 1.96


@dataclass(frozen=True)
class Forged:
    """A cell: an attack, a mechanism, and the forged share of all reports."""

    asked: str
    attack: Attack
    share: float


@dataclass(frozen=True)
class PoisoningRow:
    """By how much the estimates of the targets rose together, mean over the repeats, with its interval at 95 %.

    Of a number, by how much its mean did: ``size`` is then that of the grid, and ``targets`` 1.
    """

    attack: Attack
    mechanism: str
    size: int
    epsilon: float
    users: int
    share: float
    forged: int
    targets: int
    gain: float
    gain_se: float | None
    low: float
    high: float
    theory: float
    repeats: int
    seed: int


@dataclass(frozen=True)
class Poisoning:
    """The experiment: every mechanism, attack and share; the targets are rare values of Zipf's law.

    ``at_most`` is of selections (``selection_poisoning.py``), and means nothing to others.
    """

    names: tuple[str, ...]
    shares: tuple[float, ...]
    attacks: tuple[Attack, ...] = ATTACKS
    size: int = 128
    epsilon: float = 1.0
    users: int = 100_000
    targets: int = 1
    repeats: int = 20
    seed: int = 0
    at_most: int | None = None

    row = PoisoningRow

    def __post_init__(self) -> None:
        if not 1 <= self.targets <= self.size // 2:
            raise ParameterError("--targets", f"{self.targets} must lie between 1 and half of the values")

    def cells(self) -> list[Forged]:
        """Return the grid."""
        return [Forged(name, attack, share) for attack in self.attacks for name in self.names for share in self.shares]

    def identity(self) -> str:
        """Return a digest that differs from every other experiment's."""
        return identity_of(self)

    def trials(self, cell: Forged, seeds: Sequence[np.random.SeedSequence]) -> list[float]:
        """Return the gain of each trial: the rise over the estimate from its honest reports alone."""
        mechanism = self._mechanism(cell)
        return [self._gain(cell, mechanism, np.random.default_rng(seed)) for seed in seeds]

    def _gain(self, cell: Forged, mechanism: Mechanism, rng: np.random.Generator) -> float:
        tally = self._drawn(mechanism, rng)
        poisoned = tally + self._forged(cell, mechanism, rng)
        return self._estimated(mechanism, poisoned) - self._estimated(mechanism, tally)

    def rows(self, cell: Forged, outcomes: Sequence[float]) -> list[PoisoningRow]:
        """Return the mean gain."""
        mechanism = self._mechanism(cell)
        gain, error = mean(outcomes)
        return [
            PoisoningRow(
                attack=cell.attack,
                mechanism=cell.asked,
                size=mechanism.size or self.size,
                epsilon=self.epsilon,
                users=self.users,
                share=cell.share,
                forged=self._number(cell),
                targets=self.targets,
                gain=gain or 0.0,
                gain_se=error,
                low=(gain or 0.0) - _BAND * (error or 0.0),
                high=(gain or 0.0) + _BAND * (error or 0.0),
                theory=self._theory(cell, mechanism),
                repeats=self.repeats,
                seed=self.seed,
            )
        ]

    def _mechanism(self, cell: Forged) -> Mechanism:
        return named(cell.asked, self.size, self.epsilon)

    def _drawn(self, mechanism: Mechanism, rng: np.random.Generator) -> Tally:
        """Return the tally of the honest."""
        return sample_tally(mechanism, self._honest(mechanism), rng)

    def _estimated(self, mechanism: Mechanism, tally: Tally) -> float:
        """Return the estimate that is to rise."""
        return float(debiased(mechanism, numbered(self.size), tally).frequency[self._chosen()].sum())

    def _honest(self, mechanism: Mechanism) -> Population:
        return Population.spread(numbered(self.size), zipf(self.size, 1.1), self.users)

    def _chosen(self) -> list[int]:
        """Return the targets: random values of the rarer half."""
        rare = np.random.default_rng(self.seed).permutation(np.arange(self.size // 2, self.size))
        return sorted(rare[: self.targets].tolist())

    def _held(self, mechanism: Mechanism) -> float:
        return float(self._honest(mechanism).shares[self._chosen()].sum())

    def _number(self, cell: Forged) -> int:
        """Return how many reports are forged, beside those of all users: β = m/(n + m)."""
        return round(cell.share / (1 - cell.share) * self.users)

    def _forged(self, cell: Forged, mechanism: Mechanism, rng: np.random.Generator) -> Tally:
        count = self._number(cell)
        if cell.attack == "crafted-input":
            liars = np.zeros(self.size, dtype=np.int64)
            liars[self._chosen()] = rng.multinomial(count, np.full(self.targets, 1 / self.targets))
            return sample_tally(mechanism, Population(numbered(self.size), liars), rng)
        if cell.attack == "crafted-report":
            return Tally.fold(mechanism, crafted_rows(mechanism, self._chosen(), count, rng))
        return Tally.fold(mechanism, random_rows(mechanism, count, rng))

    def _theory(self, cell: Forged, mechanism: Mechanism) -> float:
        number, p, q = self._number(cell), float(mechanism.p), float(mechanism.q)
        beta, held = number / (self.users + number), self._held(mechanism)
        if cell.attack == "crafted-input":
            return beta * (1 - held)
        crafted = cell.attack == "crafted-report"
        supported = most_supported(mechanism, self._chosen()) if crafted else random_support(mechanism) * self.targets
        return beta * ((supported - self.targets * q) / (p - q) - held)
