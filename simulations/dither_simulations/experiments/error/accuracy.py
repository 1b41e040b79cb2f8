"""The experiment of ``dither-sim error``: measure how far estimates are from the truth, and compare with theory.

A kind of survey is a subclass: what is estimated, the columns of its table and the panels of its plot.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, Self

from matplotlib.figure import Figure

from dither_shared import Mechanism, ParameterError
from dither_shared.counted import counted

from ...choices import Law
from ...options.common import check_names, given_fields
from ...output.lines import Curve, curves_plot
from ...output.tables import varies
from ...sweeps import Experiment, Row, identity_of


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
    """The same at every number of values, of items, or of strings."""

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
