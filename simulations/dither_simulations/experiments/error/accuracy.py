"""The experiment of ``dither-sim error``: measure how far estimates are from the truth, and compare with theory.

Each kind of survey is a subclass, which defines the estimates, the columns of the table and the panels of the plot. The
usual kind, shares of listed answers, is here.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, Self

import click
import numpy as np
from matplotlib.figure import Figure

from dither_shared import Mechanism, ParameterError
from dither_shared.counted import counted

from ...choices import STEPS, Law, Step
from ...collector import AskedMechanism, collected, collector_of_its_own, definitions, metrics_of, require_known
from ...options.common import check_names, given_fields
from ...output.lines import Curve, curves_plot
from ...output.tables import (
    EPSILON,
    MECHANISM,
    ResultColumn,
    measured,
    over_theory,
    parameter,
    value,
    varies,
    write_bytes,
)
from ...samplers import has_marginal
from ...sweeps import Experiment, Row, identity_of
from ...trials.mechanism_by_name import NAMES, named
from ...trials.shares import Measures, affordable_law, estimated, expected, measured_after
from ...users.populations import Population


@dataclass(frozen=True)
class Cell:
    """A cell of the grid; ``asked`` is the name of a mechanism, or "auto"."""

    asked: str
    size: int
    users: int
    epsilon: float
    day: int = 1


@dataclass(frozen=True, kw_only=True)
class Accuracy(Experiment):
    """The grid of a sweep: every mechanism at every number of users and every ε."""

    names: tuple[str, ...]
    epsilons: tuple[float, ...]
    users: tuple[int, ...]
    source: Any
    permanent_epsilon: float | None = None
    repeats: int = 20
    seed: int = 0
    confidence: float = 0.95
    law: Law | None = None

    offered: ClassVar[tuple[str, ...]]
    """The mechanisms that may be requested."""
    usual_users: ClassVar[int] = 100_000
    notes: ClassVar[Sequence[str]] = ()
    """Lines below the table."""
    curves: ClassVar[Sequence[Curve]]
    axes: ClassVar[Mapping[str, str]] = {"epsilon": "ε of one report", "users": "users"}
    only_joint: ClassVar[str] = ""
    """Why values cannot be drawn one by one, if they cannot."""

    @classmethod
    def asked(cls, seed: int, given: Mapping[str, Any]) -> Self:
        """Return the experiment that options ask for; raise ParameterError for an impossible one."""
        return cls(**cls.chosen(seed, given))

    @classmethod
    def chosen(cls, seed: int, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields: options by their names, and defaults; a file determines the number of users."""
        law: Law | None = given["law"]
        if cls.only_joint and law == "marginal":
            raise ParameterError("--law", f"marginal needs --type share; {cls.only_joint}")
        check_names(given["names"], cls.offered)
        usual = {
            "names": tuple(cls.usual(given)),
            "users": (getattr(given["source"], "users", cls.usual_users),),
        }
        always = {"seed": seed, "law": law or ("joint" if cls.only_joint else None)}
        return usual | given_fields(cls, given) | always

    @classmethod
    def usual(cls, _given: Mapping[str, Any]) -> Sequence[str]:
        """Return the mechanisms that are simulated if none is requested."""
        return cls.offered

    @contextmanager
    def ready(self) -> Iterator[Self]:
        """Yield the experiment with all that it needs beside this process."""
        yield self

    def define(self, path: Path) -> None:
        """Write the definitions that a collector must have. Raises ParameterError if none can collect this."""
        raise ParameterError("--definitions", "needs --type share")

    def cells(self) -> Sequence[Cell]:
        """Return the grid: for each name each number of users, then ε."""
        return [
            Cell(name, 0, users, epsilon) for name, users, epsilon in product(self.names, self.users, self.epsilons)
        ]

    def identity(self) -> str:
        """Return a digest of everything that the numbers depend on, including the contents of a file."""
        return identity_of(replace(self, source=None), getattr(self.source, "contents", self.source))

    @abstractmethod
    def mechanism(self, cell: Cell) -> Mechanism:
        """Return the mechanism; raise ParameterError if the cell has none of that name."""

    def law_of(self, _cell: Cell) -> Law:
        """Return how the reports of a cell are drawn."""
        return self.law or "joint"

    def about(self, cell: Cell) -> Row:
        """Return the columns that describe a cell."""
        return {
            "asked": cell.asked,
            "mechanism": self.mechanism(cell).name,
            "law": self.law_of(cell),
            "epsilon": cell.epsilon,
            **self.extent(cell),
            "users": cell.users,
            "distribution": self.source.name,
            "confidence": self.confidence,
            "repeats": self.repeats,
            "seed": self.seed,
        }

    @abstractmethod
    def extent(self, cell: Cell) -> Row:
        """Return the columns with the size of the question, such as the number of values."""

    def table(self, rows: Sequence[Row]) -> str:
        """Return the results for a terminal."""
        return "\n".join([super().table(rows), *self.notes])

    def plot(self, rows: Sequence[Row]) -> Figure:
        """Return the results as a picture."""
        return curves_plot(rows, self.curves, self.title(rows), self.axes)

    def title(self, rows: Sequence[Row]) -> str:
        """Return the title of the picture: what does not vary, and how to read it."""
        row = rows[0]
        fixed = [] if varies(rows, "users") else [counted(row["users"], "user")]
        fixed += self.fixed(rows)
        band = "" if row["repeats"] == 1 else "; band: 95 %"
        points = f"points: mean of {row['repeats']}{band}"
        return f"{', '.join([*fixed, row['distribution']])}\n{self.legend(row, points)}"

    def fixed(self, rows: Sequence[Row]) -> list[str]:
        """Return the fixed sizes, for a title."""
        return []

    def legend(self, row: Row, points: str) -> str:
        """Return the second line of the title."""
        return f"{points}; dashed: theory"


@dataclass(frozen=True, kw_only=True)
class SizedAccuracy(Accuracy):
    """The grid of a sweep that also varies the number of values, items or strings."""

    sizes: tuple[int, ...]

    usual_size: ClassVar[int] = 64
    noun: ClassVar[str] = "value"

    @classmethod
    def chosen(cls, seed: int, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields that options set; a file determines the number of values."""
        return {"sizes": (getattr(given["source"], "size", cls.usual_size),), **super().chosen(seed, given)}

    def cells(self) -> Sequence[Cell]:
        """Return the grid: for each name each size, for each size each number of users, then ε."""
        return [Cell(*place) for place in product(self.names, self.sizes, self.users, self.epsilons)]

    def fixed(self, rows: Sequence[Row]) -> list[str]:
        """Return the size, if it is fixed."""
        return [] if varies(rows, "size") else [counted(rows[0]["size"], self.noun)]


_AUTO = "auto"
_SPENT = ResultColumn("ε spent", lambda row: f"{row['epsilon_spent']:.4g}", lambda rows: varies(rows, "day"))


@dataclass(frozen=True, kw_only=True)
class ShareAccuracy(SizedAccuracy):
    """Every mechanism at every size, number of users, ε and day.

    ``law`` None is the joint one if that is affordable; under "marginal", ``max_error``, ``recall`` and the standard
    errors differ slightly from those of a real collection. All ``steps`` use the same trials, and theory is only about
    raw frequencies. ``epsilon_spent`` is the cost of the reports up to ``day`` for a person who always had the same
    value.
    """

    steps: tuple[Step, ...] = ("raw",)
    days: int = 1
    top: int = 10
    collector: str = ""

    offered: ClassVar = NAMES
    words: ClassVar = 3
    axes: ClassVar = {
        "day": "day, of a report each",
        "epsilon": "ε of one report",
        "users": "users",
        "size": "values",
    }
    curves: ClassVar = (Curve("mse", "mean squared error of a share"),)
    columns: ClassVar = (
        MECHANISM,
        value("law", "law"),
        ResultColumn("step", lambda row: row["step"], lambda rows: {row["step"] for row in rows} != {"raw"}),
        parameter("size", "k"),
        parameter("users", "n"),
        parameter("day", "day"),
        EPSILON,
        _SPENT,
        measured("mse", "MSE", ".2e"),
        value("mse_theory", "theory", ".2e"),
        over_theory("mse"),
        value("mse_bound", "bound", ".2e"),
        value("l1", "L1", ".3g"),
        value("max_error", "max error", ".2e"),
        value("kl", "KL", ".3g"),
        value("recall", "top-{top} recall", ".2f"),
        value("coverage", "coverage", ".4f"),
        value("width", "width", ".2e"),
    )

    @classmethod
    def chosen(cls, seed: int, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields that options set; a collector counts one trial."""
        fields = super().chosen(seed, given)
        if "all" in given["steps"]:
            fields["steps"] = STEPS
        if given["collector"]:
            fields |= {"law": "collector", "repeats": given["repeats"] or 1}
            if (fields["repeats"], given["days"], given["permanent_epsilon"]) != (1, 1, None):
                raise ParameterError("--collector", "needs one repeat, one day and no --permanent-epsilon")
        return fields

    @classmethod
    def usual(cls, _given: Mapping[str, Any]) -> Sequence[str]:
        """Return all mechanisms except ``auto``."""
        return NAMES[1:]

    def check(self) -> None:
        """Raise ParameterError for impossible cells of the first day."""
        for cell in self.cells():
            if cell.day == 1:
                self.about(cell)

    @contextmanager
    def ready(self) -> Iterator[Self]:
        """Yield the experiment with the collector that it needs, if any: a running one that fits, or a new one."""
        if not self.collector:
            yield self
            return
        metrics = metrics_of(self._surveys())
        if self.collector == _AUTO:
            with collector_of_its_own(self._surveys()) as address:
                yield replace(self, collector=address)
        else:
            require_known(self.collector, metrics)
            yield self

    def define(self, path: Path) -> None:
        """Write the definitions that a collector must have, and say how to start it."""
        write_bytes(path, definitions(self._surveys()).encode("utf-8"))
        click.echo(f"dither-server run --metrics {path} --db sqlite:///lab.db --port 8000")

    def _surveys(self) -> list[AskedMechanism]:
        return [(self.mechanism(cell), self.population(cell), cell.epsilon) for cell in self.cells()]

    def cells(self) -> Sequence[Cell]:
        """Return the grid of all sizes, with the days of each cell."""
        return [replace(cell, day=day) for cell in super().cells() for day in range(1, self.days + 1)]

    def identity(self) -> str:
        """Return a digest without the collector's address, because a collector may be started again elsewhere."""
        return super(ShareAccuracy, replace(self, collector="")).identity()

    def mechanism(self, cell: Cell) -> Mechanism:
        """Return the mechanism."""
        return named(cell.asked, cell.size, cell.epsilon, self.permanent_epsilon)

    def population(self, cell: Cell) -> Population:
        """Return the users of a cell."""
        people: Population = self.source.population(cell.size, cell.users, cell.day)
        return people

    def law_of(self, cell: Cell) -> Law:
        """Return the requested law, or an affordable one; raise ParameterError if the mechanism has none."""
        mechanism = self.mechanism(cell)
        population = self.population(cell)
        if self.law == "marginal" and not has_marginal(mechanism):
            raise ParameterError(
                "law", f"the values of {mechanism.name} have no marginal law, because its hashing ties them together"
            )
        return self.law or affordable_law(mechanism, population)

    def simulate(self, cell: Cell, seed: np.random.SeedSequence) -> Sequence[Measures]:
        """Return the measures of one trial after each step."""
        mechanism, population = self.mechanism(cell), self.population(cell)
        if self.collector:
            found = collected(mechanism, population, cell.epsilon, self.collector, self.confidence)
        else:
            found = estimated(mechanism, population, seed, self.law_of(cell), self.confidence)
        return measured_after(found, population.shares, self.steps, self.top)

    def extent(self, cell: Cell) -> Row:
        """Return the number of values, the day, and what a person has spent until then."""
        spent = self.mechanism(cell).epsilon_after(cell.day)
        return {"size": cell.size, "day": cell.day, "epsilon_spent": spent, "top": min(self.top, cell.size)}

    def theory(self, cell: Cell) -> Sequence[Row]:
        """Return each step; except for the lower bound, theory is about raw estimates."""
        known = expected(self.mechanism(cell), self.population(cell), cell.epsilon, self.confidence)
        rest = dict.fromkeys(known) | {"mse_bound": known["mse_bound"]}
        return [{"step": step, **(known if step == "raw" else rest)} for step in self.steps]

    def plot(self, rows: Sequence[Row]) -> Figure:
        """Return errors or, over days, the error of each day and above it the ε spent until then."""
        if not varies(rows, "day"):
            return super().plot(rows)
        spent, error = Curve("epsilon_spent", "ε spent so far"), Curve("mse", "mean squared error", bounded=False)
        return curves_plot(rows, (spent, error), self.title(rows), self.axes)
