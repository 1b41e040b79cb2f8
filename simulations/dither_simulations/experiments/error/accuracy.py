"""The experiment of ``dither-sim error``: measure how far estimates are from the truth, and compare with theory.

Each kind of survey is a subclass in a file of its own, which defines the estimates, the columns of the table and the
panels of the plot.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar, Self

from matplotlib.figure import Figure

from dither_shared import Mechanism, ParameterError
from dither_shared.counted import counted

from ...choices import Law
from ...mechanism_by_name import check_names
from ...options import given_fields
from ...plots import Curve, curves_plot
from ...sweeps import Experiment, Row, identity_of
from ...tables import varies


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
    """The grid of a sweep: every mechanism at every size, number of users and ε.

    ``sizes`` are numbers of values, items or strings; a question for a number has the size 0.
    """

    names: tuple[str, ...]
    epsilons: tuple[float, ...]
    sizes: tuple[int, ...] = (0,)
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
    usual_size: ClassVar[int] = 64
    noun: ClassVar[str] = "value"
    """What ``sizes`` count."""
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
        """Return the fields: options by their names, and defaults; a file determines the size and the users."""
        law: Law | None = given["law"]
        if cls.only_joint and law == "marginal":
            raise ParameterError("--law", f"marginal needs --type share; {cls.only_joint}")
        if given["sizes"] and not cls.usual_size:
            raise ParameterError("--size", "needs --type share or selection or string")
        check_names(given["names"], cls.offered)
        usual = {
            "names": tuple(cls.usual(given)),
            "sizes": (getattr(given["source"], "size", cls.usual_size),),
            "users": (getattr(given["source"], "users", cls.usual_users),),
        }
        always = {"seed": seed, "law": law or ("joint" if cls.only_joint else None)}
        return usual | given_fields(cls, given) | always

    @classmethod
    def usual(cls, _given: Mapping[str, Any]) -> Sequence[str]:
        """Return the mechanisms that are simulated if none is requested."""
        return cls.offered

    def cells(self) -> Sequence[Cell]:
        """Return the grid: for each name each size, for each size each number of users, then ε."""
        return [Cell(*place) for place in product(self.names, self.sizes, self.users, self.epsilons)]

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
        return "\n".join([super().table(rows), *self.notes(rows)])

    def notes(self, rows: Sequence[Row]) -> Sequence[str]:
        """Return lines below the table."""
        return ()

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
        """Return the size, if it is fixed, for a title."""
        return [] if varies(rows, "size") else [counted(rows[0]["size"], self.noun)]

    def legend(self, row: Row, points: str) -> str:
        """Return the second line of the title."""
        return f"{points}; dashed: theory"
