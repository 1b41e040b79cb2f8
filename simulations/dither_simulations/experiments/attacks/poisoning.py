"""Poisoning: forged reports that raise estimates, compared with theory.

- ``random-report``: any report that the collector accepts, uniformly;
- ``crafted-input``: a chosen answer, sent through the honest randomizer: an honest lie;
- ``crafted-report``: the report that raises the estimate the most, without a randomizer.
"""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any, ClassVar, Self

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from dither_server.estimation.estimate import debiased
from dither_server.estimation.numeric.tabulated import law_of
from dither_server.tally.tally import Tally
from dither_shared import Mechanism, ParameterError, Shape
from dither_shared.counted import counted

from ...choices import ATTACKS, Attack
from ...mechanism_by_name import LISTED_SPEAKING, NUMERIC, check_names, named
from ...options import given_fields
from ...plots import PlotLine, PlotPanel, lines_of, lines_plot
from ...samplers import sample_tally
from ...sweeps import Experiment, Row, mean
from ...tables import ResultColumn, measured, value
from ...users.numbers import NumberDistribution
from ...users.populations import Counts, Distribution, Floats, Population, numbered

_BAND = 1.96
"""Standard errors on either side of the mean: 95 %."""


@dataclass(frozen=True)
class Forgery:
    """A cell: an attack, a mechanism, and the forged share of all reports."""

    asked: str
    attack: Attack
    share: float


@dataclass(frozen=True)
class PoisoningAttack(Experiment):
    """Every attack, mechanism and share of forged reports, in addition to those of ``users`` honest users."""

    names: tuple[str, ...]
    shares: tuple[float, ...]
    attacks: tuple[Attack, ...] = ATTACKS
    epsilon: float = 1.0
    users: int = 100_000
    repeats: int = 20
    seed: int = 0

    offered: ClassVar[tuple[str, ...]]
    """The mechanisms that may be requested."""
    words: ClassVar = 2
    columns: ClassVar[Sequence[ResultColumn]] = (
        value("attack", "attack"),
        value("mechanism", "mechanism"),
        ResultColumn("forged %", lambda row: f"{100 * row['share']:g}"),
        value("forged", "reports", ","),
    )

    @classmethod
    def asked(cls, seed: int, given: Mapping[str, Any]) -> Self:
        """Return the experiment that options ask for, by the names of its fields; raise ParameterError otherwise."""
        check_names(given["names"], cls.offered)
        return cls(**{"names": cls.usual(given), **given_fields(cls, given), "seed": seed})

    @classmethod
    def usual(cls, _given: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the mechanisms that are attacked if none is requested."""
        return cls.offered

    def cells(self) -> list[Forgery]:
        """Return the grid of all cells."""
        return [Forgery(name, attack, share) for attack in self.attacks for name in self.names for share in self.shares]

    def forged(self, cell: Forgery) -> int:
        """Return the number of forged reports: β = m/(n + m) of all."""
        return round(cell.share / (1 - cell.share) * self.users)

    @abstractmethod
    def mechanism(self, name: str) -> Mechanism:
        """Return the mechanism of that name; raise ParameterError if there is none."""

    @abstractmethod
    def honest(self, mechanism: Mechanism, rng: np.random.Generator) -> Tally:
        """Return the tally of honest reports."""

    def forge(self, mechanism: Mechanism, cell: Forgery, rng: np.random.Generator) -> Tally:
        """Return the tally of forged reports."""
        forged = self.forged(cell)
        if cell.attack == "crafted-input":
            return sample_tally(mechanism, self.liars(mechanism, forged, rng), rng)
        return self.without_randomizer(mechanism, forged, rng, crafted=cell.attack == "crafted-report")

    @abstractmethod
    def liars(self, mechanism: Mechanism, count: int, rng: np.random.Generator) -> Population:
        """Return people whose answers are the ones that the attack is to raise."""

    @abstractmethod
    def without_randomizer(self, mechanism: Mechanism, count: int, rng: np.random.Generator, *, crafted: bool) -> Tally:
        """Return the tally of reports that are crafted or random."""

    def about(self, cell: Forgery) -> Row:
        """Return the columns that describe a cell."""
        return {
            "attack": cell.attack,
            "mechanism": cell.asked,
            **self.extent(self.mechanism(cell.asked)),
            "epsilon": self.epsilon,
            "users": self.users,
            "share": cell.share,
            "forged": self.forged(cell),
            **self.foreseen(cell),
            "repeats": self.repeats,
            "seed": self.seed,
        }

    @abstractmethod
    def extent(self, mechanism: Mechanism) -> Row:
        """Return the columns with the sizes of question and attack."""

    def foreseen(self, cell: Forgery) -> Row:
        """Return the columns that predict how many forged reports an attack needs."""
        return {}


@dataclass(frozen=True)
class _GainPoisoning(PoisoningAttack):
    """Forged reports that raise an estimate. A row has the mean rise over the repeats, with its interval at 95 %."""

    columns: ClassVar[Sequence[ResultColumn]] = (
        *PoisoningAttack.columns,
        measured("gain", "gain", ".2e"),
        value("theory", "theory", ".2e"),
    )

    @abstractmethod
    def estimated(self, mechanism: Mechanism, tally: Tally) -> float:
        """Return the estimate that the attack is to raise."""

    @abstractmethod
    def expected(self, mechanism: Mechanism, cell: Forgery) -> float:
        """Return the rise that theory expects."""

    def simulate(self, cell: Forgery, seed: np.random.SeedSequence) -> Sequence[Row]:
        """Return the gain of one trial: the rise over the estimate from the honest reports alone."""
        rng, mechanism = np.random.default_rng(seed), self.mechanism(cell.asked)
        tally = self.honest(mechanism, rng)
        poisoned = tally + self.forge(mechanism, cell, rng)
        return ({"gain": self.estimated(mechanism, poisoned) - self.estimated(mechanism, tally)},)

    def rows(self, cell: Forgery, outcomes: Sequence[Sequence[Row]]) -> list[Row]:
        """Return the mean gain, with theory."""
        gain, error = mean([trial["gain"] for (trial,) in outcomes])
        margin = _BAND * (error or 0.0)
        ends = {"low": (gain or 0.0) - margin, "high": (gain or 0.0) + margin}
        theory = self.expected(self.mechanism(cell.asked), cell)
        return [self.about(cell) | {"gain": gain, "gain_se": error, **ends, "theory": theory}]

    def plot(self, rows: Sequence[Row]) -> Figure:
        """Return a figure of the gain against the share of forged reports: one panel per attack, logarithmic axes.

        A gain that is not above its own margin of error has no place on such an axis and is left out. Raises
        ParameterError if that leaves none.
        """
        panels = [
            PlotPanel(lines, f"gain by\n{attack}")
            for attack, some in groupby(rows, key=lambda row: row["attack"])
            if attack != "random-report" and (lines := _gains(some))
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


def _gains(rows: Iterable[Row]) -> list[PlotLine]:
    return lines_of([row for row in rows if row["low"] > 0], "mechanism", ("share", "gain", "low", "high", "theory"))


@dataclass(frozen=True)
class SharePoisoning(_GainPoisoning):
    """Raises the shares of r ``targets``, rare values of Zipf's law (Cao, Jia and Gong, USENIX Security 2021).

    If a share β of all reports is forged, and each of these supports s of the r values on average, their estimates rise
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
        """Return the tally of honest reports."""
        return sample_tally(mechanism, self._people(), rng)

    def estimated(self, mechanism: Mechanism, tally: Tally) -> float:
        """Return the sum of the targets' shares."""
        return float(debiased(mechanism, numbered(self.size), tally).frequency[self.chosen_values()].sum())

    def chosen_values(self) -> list[int]:
        """Return the targets: random values of the rarer half."""
        rare = np.random.default_rng(self.seed).permutation(np.arange(self.size // 2, self.size))
        return sorted(rare[: self.targets].tolist())

    def liars(self, mechanism: Mechanism, count: int, rng: np.random.Generator) -> Population:
        """Return people who claim to hold the targets."""
        claims = np.zeros(self.size, dtype=np.int64)
        claims[self.chosen_values()] = rng.multinomial(count, np.full(self.targets, 1 / self.targets))
        return Population(numbered(self.size), claims)

    def without_randomizer(self, mechanism: Mechanism, count: int, rng: np.random.Generator, *, crafted: bool) -> Tally:
        """Return the tally of reports that are crafted or random."""
        if crafted:
            return Tally.fold(mechanism, crafted_rows(mechanism, self.chosen_values(), count, rng))
        return Tally.fold(mechanism, random_rows(mechanism, count, rng))

    def expected(self, mechanism: Mechanism, cell: Forgery) -> float:
        """Return the G of the class docstring."""
        number = self.forged(cell)
        p, q = float(mechanism.p), float(mechanism.q)
        beta, held = number / (self.users + number), float(self._people().shares[self.chosen_values()].sum())
        if cell.attack == "crafted-input":
            return beta * (1 - held)
        crafted = cell.attack == "crafted-report"
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
        return Distribution().population(self.size, self.users)


@dataclass(frozen=True)
class NumberPoisoning(_GainPoisoning):
    """Raises the mean of numbers, as far as one report can (``NumericMechanism.reach``); honest answers are uniform.

    A share β of all reports whose scores are g on average moves the mean by β (g - mean of the honest). An honest lie
    is the high end of the range, a crafted report that of the greatest score.
    """

    offered: ClassVar = NUMERIC

    def mechanism(self, name: str) -> Mechanism:
        """Return the mechanism of that name."""
        return named(name, 0, self.epsilon)

    def honest(self, mechanism: Mechanism, rng: np.random.Generator) -> Tally:
        """Return the tally of honest reports."""
        points = mechanism.size or 2
        people = Population.spread(numbered(points), NumberDistribution("uniform").shares(points), self.users)
        return sample_tally(mechanism, people, rng)

    def estimated(self, mechanism: Mechanism, tally: Tally) -> float:
        """Return the mean."""
        return law_of(mechanism).scores(tally).mean

    def liars(self, mechanism: Mechanism, count: int, rng: np.random.Generator) -> Population:
        """Return people who claim the high end of the range."""
        points = mechanism.size or 2
        return Population(numbered(points), count * np.eye(1, points, points - 1, int)[0])

    def without_randomizer(self, mechanism: Mechanism, count: int, rng: np.random.Generator, *, crafted: bool) -> Tally:
        """Return a tally of uniformly random reports or, if crafted, of those with the greatest score."""
        scores = _scores(mechanism)
        chances = (scores == scores.max()) if crafted else np.ones(scores.shape)
        counts = rng.multinomial(count, (chances / chances.sum()).ravel()).reshape(chances.shape)
        return Tally(counts.sum(axis=1), counts)

    def expected(self, mechanism: Mechanism, cell: Forgery) -> float:
        """Return β (g - 1/2)."""
        number, scores = self.forged(cell), _scores(mechanism)
        score = {
            "random-report": float((np.full(scores.shape, 1 / scores.size) * scores).sum()),
            "crafted-input": 1.0,
            "crafted-report": float(scores.max()),
        }[cell.attack]
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


def random_support(mechanism: Mechanism) -> float:
    """Return the probability that a uniformly random report supports a value."""
    return 0.5 if mechanism.weight is None else mechanism.weight * mechanism.marks / mechanism.cells


def random_rows(mechanism: Mechanism, count: int, rng: np.random.Generator) -> bytes:
    """Return rows of reports drawn uniformly from all possible ones."""
    if mechanism.shape is Shape.SYMBOL:
        cohorts, cells = rng.integers(mechanism.cohorts, size=count), rng.integers(mechanism.cells, size=count)
        return b"".join(_row(mechanism, (cell,), cohort) for cohort, cell in zip(cohorts, cells, strict=True))
    if mechanism.weight is not None:
        return b"".join(_row(mechanism, rng.permutation(mechanism.cells)[: mechanism.weight]) for _ in range(count))
    chosen = rng.integers(2, size=(count, mechanism.cells), dtype=np.int8)
    return b"".join(_row(mechanism, np.flatnonzero(row)) for row in chosen)


def most_supported(mechanism: Mechanism, targets: Sequence[int]) -> int:
    """Return how many of the targets one report can support at most."""
    if mechanism.shape is Shape.SYMBOL:
        return int(_hits(mechanism, tuple(targets)).max())
    return len(targets) if mechanism.weight is None else min(len(targets), mechanism.weight)


def best_symbols(mechanism: Mechanism, targets: Sequence[int]) -> Counts:
    """Return the symbols that support the most targets, as pairs of a cohort and a cell; shape (symbols, 2)."""
    hits = _hits(mechanism, tuple(targets))
    return np.argwhere(hits == hits.max())


def crafted_rows(mechanism: Mechanism, targets: Sequence[int], count: int, rng: np.random.Generator) -> bytes:
    """Return rows of reports that each support the most targets, and otherwise look like honest ones.

    A symbol is any of the best symbols. Bits are set for all targets and for enough random others that there are as
    many ones as in an average honest report. A subset holds as many targets as fit, and others.
    """
    if mechanism.shape is Shape.SYMBOL:
        best = best_symbols(mechanism, targets)
        picked = best[rng.integers(len(best), size=count)]
        return b"".join(_row(mechanism, (cell,), cohort) for cohort, cell in picked)
    usual = round(float(mechanism.a) + (mechanism.cells - 1) * float(mechanism.b))
    ones = max(usual, len(targets)) if mechanism.weight is None else mechanism.weight
    others = np.setdiff1d(np.arange(mechanism.cells), targets)
    return b"".join(_row(mechanism, _filled(targets, others, ones, rng)) for _ in range(count))


def _filled(targets: Sequence[int], others: Counts, ones: int, rng: np.random.Generator) -> Counts:
    kept = rng.permutation(np.array(targets))[:ones]
    return np.concatenate([kept, rng.permutation(others)[: ones - len(kept)]])


@lru_cache(maxsize=64)
def _hits(mechanism: Mechanism, targets: tuple[int, ...]) -> Counts:
    """Return how many targets each symbol of each cohort supports; shape (cohorts, cells)."""
    hits = np.zeros((mechanism.cohorts, mechanism.cells), dtype=np.int64)
    for cohort in range(mechanism.cohorts):
        for target in targets:
            hits[cohort, list(mechanism.supporting(target, cohort))] += 1
    return hits


def _row(mechanism: Mechanism, cells: Sequence[int] | NDArray[np.int64], cohort: int = 0) -> bytes:
    """Return the row that reports these cells."""
    rows = mechanism.row_format
    return rows.encode(int(cohort), rows.payload(int(cell) for cell in cells))
