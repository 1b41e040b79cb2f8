"""Poisoning: forged reports that raise estimates, and what theory says of it.

- ``random-report``: any report that the collector takes, uniformly;
- ``crafted-input``: a chosen answer, sent through the honest randomizer: an honest lie;
- ``crafted-report``: the report that raises the estimate the most, by no randomizer.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from matplotlib.figure import Figure

from dither_server.estimation.estimate import debiased
from dither_server.estimation.numeric.registry import law_of
from dither_server.tally.tally import Tally
from dither_shared import Mechanism, ParameterError
from dither_shared.counted import counted

from ...choices import ATTACKS, Attack
from ...options.common import check_names, given_fields
from ...output.lines import Line, Panel, lines_plot
from ...output.tables import Column, measured, results_table, value
from ...samplers import sample_tally
from ...sweeps import Experiment, Row, mean
from ...trials.measures import Measures
from ...trials.mechanism_by_name import LISTED_SPEAKING, NUMERIC, named
from ...users.numbers import Numbers
from ...users.populations import Floats, Population, numbered, zipf
from .forging import crafted_rows, most_supported, random_rows, random_support

_BAND = 1.96
"""Standard errors on either side of the mean: 95 %."""


@dataclass(frozen=True)
class Cell:
    """An attack, a mechanism, and the forged share of all reports."""

    asked: str
    attack: Attack
    share: float


class Attacked(NamedTuple):
    """What all trials of a cell share: the attack, the mechanism, and how many reports are forged."""

    attack: Attack
    mechanism: Mechanism
    forged: int


@dataclass(frozen=True)
class Poisoning(Experiment):
    """Every attack, mechanism and share of forged reports, beside those of ``users`` honest ones.

    A row has the mean rise of the estimate over the repeats, with its interval at 95 %.
    """

    names: tuple[str, ...]
    shares: tuple[float, ...]
    attacks: tuple[Attack, ...] = ATTACKS
    epsilon: float = 1.0
    users: int = 100_000
    repeats: int = 20
    seed: int = 0

    offered: ClassVar[tuple[str, ...]]
    """The mechanisms that may be asked for."""
    columns: ClassVar[Sequence[Column]] = (
        value("attack", "attack"),
        value("mechanism", "mechanism"),
        Column("forged %", lambda row: f"{100 * row['share']:g}"),
        value("forged", "reports", ","),
        measured("gain", "gain", ".2e"),
        value("theory", "theory", ".2e"),
    )

    @classmethod
    def asked(cls, seed: int, given: Mapping[str, Any]) -> Self:
        """Return the experiment that options ask for, by the names of its fields; raise ParameterError otherwise."""
        check_names(given["names"], cls.offered)
        return cls(**{"names": cls.usual(given), **given_fields(cls, given), "seed": seed})

    @classmethod
    def usual(cls, _given: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the mechanisms that are attacked if none is asked for."""
        return cls.offered

    def cells(self) -> list[Cell]:
        """Return the grid."""
        return [Cell(name, attack, share) for attack in self.attacks for name in self.names for share in self.shares]

    def setting(self, cell: Cell) -> Attacked:
        """Return the mechanism and the number of forged reports: β = m/(n + m) of all."""
        return Attacked(cell.attack, self.mechanism(cell.asked), round(cell.share / (1 - cell.share) * self.users))

    @abstractmethod
    def mechanism(self, name: str) -> Mechanism:
        """Return the mechanism of that name; raise ParameterError if there is none."""

    @abstractmethod
    def honest(self, mechanism: Mechanism, rng: np.random.Generator) -> Tally:
        """Return the tally of the honest."""

    @abstractmethod
    def forge(self, setting: Attacked, rng: np.random.Generator) -> Tally:
        """Return the tally of forged reports."""

    @abstractmethod
    def estimated(self, mechanism: Mechanism, tally: Tally) -> float:
        """Return the estimate that is to rise."""

    @abstractmethod
    def expected(self, setting: Attacked) -> float:
        """Return by how much theory expects it to rise."""

    @abstractmethod
    def extent(self, mechanism: Mechanism) -> Row:
        """Return the columns ``size`` and ``targets``."""

    def simulate(self, setting: Attacked, seed: np.random.SeedSequence) -> Sequence[Measures]:
        """Return the gain of one trial: the rise over the estimate from its honest reports alone."""
        rng, mechanism = np.random.default_rng(seed), setting.mechanism
        tally = self.honest(mechanism, rng)
        poisoned = tally + self.forge(setting, rng)
        return ({"gain": self.estimated(mechanism, poisoned) - self.estimated(mechanism, tally)},)

    def about(self, cell: Cell, setting: Attacked) -> Row:
        """Return the columns that describe a cell."""
        return {
            "attack": cell.attack,
            "mechanism": cell.asked,
            **self.extent(setting.mechanism),
            "epsilon": self.epsilon,
            "users": self.users,
            "share": cell.share,
            "forged": setting.forged,
            "repeats": self.repeats,
            "seed": self.seed,
        }

    def rows(self, cell: Cell, outcomes: Sequence[Sequence[Measures]]) -> list[Row]:
        """Return the mean gain, beside theory."""
        setting = self.setting(cell)
        gain, error = mean([trial["gain"] for (trial,) in outcomes])
        margin = _BAND * (error or 0.0)
        ends = {"low": (gain or 0.0) - margin, "high": (gain or 0.0) + margin}
        return [self.about(cell, setting) | {"gain": gain, "gain_se": error, **ends, "theory": self.expected(setting)}]

    def table(self, rows: Sequence[Row]) -> str:
        """Return a table of how much the estimate was raised, with theory."""
        return results_table(self.columns, rows, words=2)

    def plot(self, rows: Sequence[Row]) -> Figure:
        """Return a figure of the gain against the share of forged reports: one panel per attack, logarithmic axes.

        A gain that is not above its own margin of error has no place on such an axis and is left out. Raises
        ParameterError if that leaves none.
        """
        panels = [
            Panel(lines, f"gain by\n{attack}")
            for attack, some in groupby(rows, key=lambda row: row["attack"])
            if attack != "random-report" and (lines := _gains(list(some)))
        ]
        if not panels:
            raise ParameterError(
                "--plot", "no gain is above its margin of error; use more users, a larger share or a larger ε"
            )
        raised, size = self.raised(rows[0])
        title = f"{raised} raised by forged reports\n{counted(self.users, 'user')}{size}, ε = {self.epsilon:g}"
        return lines_plot(panels, f"{title}; dashed: theory", "share of forged reports")

    @abstractmethod
    def raised(self, row: Row) -> tuple[str, str]:
        """Return the estimate that the attack raises, and for how many values, for the title."""


def _gains(rows: Sequence[Row]) -> list[Line]:
    lines = (_gain(name, list(group)) for name, group in groupby(rows, key=lambda row: row["mechanism"]))
    return [line for line in lines if line.at]


def _gain(name: str, rows: Sequence[Row]) -> Line:
    shown = [row for row in rows if row["low"] > 0]
    return Line(name, *([row[each] for row in shown] for each in ("share", "gain", "low", "high", "theory")))


@dataclass(frozen=True)
class SharePoisoning(Poisoning):
    """Raises the shares of r ``targets``, rare values of Zipf's law (Cao, Jia and Gong, USENIX Security 2021).

    With a share β of all reports forged, each of which supports s of the r values on average, their estimates rise
    together by

        G = β ( (s - r q)/(p - q) - f_T ),

    f_T being their true share. An honest lie has (s - r q)/(p - q) = 1 whatever the mechanism.
    """

    size: int = 128
    targets: int = 1

    offered: ClassVar = LISTED_SPEAKING

    def __post_init__(self) -> None:
        if not 1 <= self.targets <= self.size // 2:
            raise ParameterError("--targets", f"{self.targets} must lie between 1 and half of the values")

    def mechanism(self, name: str) -> Mechanism:
        """Return the mechanism of that name."""
        return named(name, self.size, self.epsilon)

    def honest(self, mechanism: Mechanism, rng: np.random.Generator) -> Tally:
        """Return the tally of the honest."""
        return sample_tally(mechanism, self._people(), rng)

    def estimated(self, mechanism: Mechanism, tally: Tally) -> float:
        """Return the sum of the targets' shares."""
        return float(debiased(mechanism, numbered(self.size), tally).frequency[self.chosen_values()].sum())

    def chosen_values(self) -> list[int]:
        """Return the targets: random values of the rarer half."""
        rare = np.random.default_rng(self.seed).permutation(np.arange(self.size // 2, self.size))
        return sorted(rare[: self.targets].tolist())

    def forge(self, setting: Attacked, rng: np.random.Generator) -> Tally:
        """Return the tally of forged reports."""
        if setting.attack == "crafted-input":
            return self.lie(setting, rng)
        if setting.attack == "crafted-report":
            rows = crafted_rows(setting.mechanism, self.chosen_values(), setting.forged, rng)
            return Tally.fold(setting.mechanism, rows)
        return Tally.fold(setting.mechanism, random_rows(setting.mechanism, setting.forged, rng))

    def lie(self, setting: Attacked, rng: np.random.Generator) -> Tally:
        """Return the tally of honest randomizers that are given the targets."""
        liars = np.zeros(self.size, dtype=np.int64)
        liars[self.chosen_values()] = rng.multinomial(setting.forged, np.full(self.targets, 1 / self.targets))
        return sample_tally(setting.mechanism, Population(numbered(self.size), liars), rng)

    def expected(self, setting: Attacked) -> float:
        """Return G."""
        mechanism, number = setting.mechanism, setting.forged
        p, q = float(mechanism.p), float(mechanism.q)
        beta, held = number / (self.users + number), float(self._people().shares[self.chosen_values()].sum())
        if setting.attack == "crafted-input":
            return beta * (1 - held)
        crafted = setting.attack == "crafted-report"
        each = random_support(mechanism) * self.targets
        supported = most_supported(mechanism, self.chosen_values()) if crafted else each
        return beta * ((supported - self.targets * q) / (p - q) - held)

    def extent(self, mechanism: Mechanism) -> Row:
        """Return the numbers of values and of targets."""
        return {"size": mechanism.size or self.size, "targets": self.targets}

    def raised(self, row: Row) -> tuple[str, str]:
        """Return the estimate that the attack raises, and for how many values."""
        estimates = f"Estimates of {counted(self.targets, 'value', 'values together')}"
        return estimates, f", {counted(row['size'], 'value')}"

    def _people(self) -> Population:
        return Population.spread(numbered(self.size), zipf(self.size, 1.1), self.users)


@dataclass(frozen=True)
class NumberPoisoning(Poisoning):
    """Raises the mean of numbers, as far as one report can (``NumericMechanism.reach``); the honest are even.

    A share β of all reports whose scores are g on average moves the mean by β (g - mean of the honest). An honest lie
    is the high end of the range, a crafted report that of the greatest score.
    """

    offered: ClassVar = NUMERIC

    def mechanism(self, name: str) -> Mechanism:
        """Return the mechanism of that name."""
        return named(name, 0, self.epsilon)

    def honest(self, mechanism: Mechanism, rng: np.random.Generator) -> Tally:
        """Return the tally of the honest."""
        points = mechanism.size or 2
        people = Population.spread(numbered(points), Numbers("uniform").shares(points), self.users)
        return sample_tally(mechanism, people, rng)

    def estimated(self, mechanism: Mechanism, tally: Tally) -> float:
        """Return the mean."""
        return law_of(mechanism).scores(tally).mean

    def forge(self, setting: Attacked, rng: np.random.Generator) -> Tally:
        """Return the tally of forged reports."""
        attack, mechanism, count = setting
        points = mechanism.size or 2
        if attack == "crafted-input":
            liars = Population(numbered(points), count * np.eye(1, points, points - 1, int)[0])
            return sample_tally(mechanism, liars, rng)
        chances = _random(mechanism) if attack == "random-report" else _crafted(mechanism)
        counts = rng.multinomial(count, chances.ravel()).reshape(chances.shape)
        return Tally(counts.sum(axis=1), counts)

    def expected(self, setting: Attacked) -> float:
        """Return β (g - 1/2)."""
        attack, mechanism, number = setting
        scores = _scores(mechanism)
        score = {
            "random-report": float((_random(mechanism) * scores).sum()),
            "crafted-input": 1.0,
            "crafted-report": float(scores.max()),
        }[attack]
        return number / (self.users + number) * (score - 0.5)

    def extent(self, mechanism: Mechanism) -> Row:
        """Return the points of the grid; the mean is one target."""
        return {"size": mechanism.size, "targets": 1}

    def raised(self, row: Row) -> tuple[str, str]:
        """Return the estimate that the attack raises."""
        return "A mean", ""


def _scores(mechanism: Mechanism) -> Floats:
    """Return the score of each report; shape (cohorts, cells)."""
    shape = (mechanism.cohorts, mechanism.cells)
    return np.broadcast_to(law_of(mechanism).scores(Tally.zero(mechanism)).values, shape)


def _random(mechanism: Mechanism) -> Floats:
    """Return the chances of reports drawn uniformly."""
    return np.full((mechanism.cohorts, mechanism.cells), 1 / (mechanism.cohorts * mechanism.cells))


def _crafted(mechanism: Mechanism) -> Floats:
    """Return the chances of reports of the greatest score, each alike."""
    best = _scores(mechanism) == _scores(mechanism).max()
    return np.asarray(best / best.sum())
