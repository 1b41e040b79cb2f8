"""``dither-sim error --type share``: the errors of shares of listed answers or of strings."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import click
import numpy as np
from matplotlib.figure import Figure

from dither_shared import Mechanism, ParameterError

from ...choices import STEPS, Law, Step
from ...collector import AskedMechanism, collected, collector_of_its_own, definitions, metrics_of, require_known
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
from ...sweeps import Row
from ...trials.mechanism_by_name import NAMES, named
from ...trials.shares import Measures, affordable_law, estimated, expected, measured_after
from ...users.populations import Population
from .accuracy import Cell, SizedAccuracy

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
