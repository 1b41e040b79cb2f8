"""``dither-sim error --type share``: how far shares of listed answers or of strings are off."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import click
import numpy as np
from matplotlib.figure import Figure

from dither_shared import ParameterError

from ...choices import STEPS, Step
from ...collection.remote_trial import Survey, collector_of_its_own, definitions, metrics_of, require_known
from ...output.curves import Curve, curves_plot
from ...output.files import write_bytes
from ...output.tables import EPSILON, MECHANISM, Column, measured, over_theory, parameter, results_table, value, varies
from ...samplers import has_marginal
from ...sweeps import Part, Row
from ...trials.measures import Measures
from ...trials.mechanism_by_name import NAMES, named
from ...trials.trial import Setting, affordable_law, expected, run_trial
from .accuracy import Cell, SizedAccuracy

_AUTO = "auto"
_SPENT = Column("ε spent", lambda row: f"{row['epsilon_spent']:.4g}", lambda rows: varies(rows, "day"))


@dataclass(frozen=True, kw_only=True)
class ShareAccuracy(SizedAccuracy):
    """Every mechanism at every size, number of users, ε and day.

    ``law`` None is the joint one where that is affordable; under "marginal", ``max_error``, ``recall`` and the standard
    errors are not quite those of a collection. All ``steps`` are taken from the same trials, and theory is about raw
    frequencies alone. ``epsilon_spent`` is what the reports up to and of ``day`` cost a person who has had one value
    all the while.
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
        Column("step", lambda row: row["step"], lambda rows: {row["step"] for row in rows} != {"raw"}),
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
        value("recall", "recall", ".2f"),
        value("coverage", "coverage", ".4f"),
        value("width", "width", ".2e"),
    )

    @classmethod
    def chosen(cls, seed: int, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields that options set; a collector counts one trial."""
        fields = super().chosen(seed, given)
        if "all" in given["steps"]:
            fields["steps"] = STEPS
        return fields | ({"law": "collector", "repeats": given["repeats"] or 1} if given["collector"] else {})

    @classmethod
    def usual(cls, _given: Mapping[str, Any]) -> Sequence[str]:
        """Return all mechanisms but ``auto``."""
        return NAMES[1:]

    def check(self, scheduler: str | None) -> None:
        """Raise ParameterError for what one collector cannot do, and for impossible cells of the first day."""
        if self.collector and (self.repeats, self.days, self.permanent_epsilon) != (1, 1, None):
            raise ParameterError("--collector", "needs one repeat, one day and no --permanent-epsilon")
        if self.collector == _AUTO and scheduler is not None:
            raise ParameterError(
                "--collector",
                "auto cannot be used with --scheduler: its workers cannot reach a collector on this machine",
            )
        for cell in self.cells():
            if cell.day == 1:
                self.setting(cell)

    @contextmanager
    def ready(self) -> Iterator[Self]:
        """Yield the experiment with the collector that it needs, if any: one that is there and fits, or a new one."""
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

    def _surveys(self) -> list[Survey]:
        settings = [self.setting(cell) for cell in self.cells()]
        return [(setting.mechanism, setting.population, setting.asked) for setting in settings]

    def cells(self) -> Sequence[Cell]:
        """Return the grid of all sizes, with the days of each cell."""
        return [replace(cell, day=day) for cell in super().cells() for day in range(1, self.days + 1)]

    def identity(self) -> str:
        """Return a digest without the collector's address, because a collector may be started again elsewhere."""
        return super(ShareAccuracy, replace(self, collector="")).identity()

    def setting(self, cell: Cell) -> Setting:
        """Return the mechanism and the population; raise ParameterError if there is no such mechanism or law."""
        mechanism = named(cell.asked, cell.size, cell.epsilon, self.permanent_epsilon)
        population = self.source.population(cell.size, cell.users, cell.day)
        if self.law == "marginal" and not has_marginal(mechanism):
            raise ParameterError(
                "law", f"the values of {mechanism.name} have no marginal law, because its hashing ties them together"
            )
        law = self.law or affordable_law(mechanism, population)
        return Setting(
            mechanism, population, self.confidence, law, self.steps, self.top, self.collector, asked=cell.epsilon
        )

    def simulate(self, setting: Setting, seed: np.random.SeedSequence) -> Sequence[Measures]:
        """Return the measures of one trial after each step."""
        return run_trial(setting, seed)

    def extent(self, cell: Cell, setting: Setting) -> Row:
        """Return the number of values, the day, and what a person has spent until then."""
        spent = setting.mechanism.epsilon_after(cell.day)
        return {"size": cell.size, "day": cell.day, "epsilon_spent": spent, "top": min(self.top, cell.size)}

    def theory(self, cell: Cell, setting: Setting) -> Sequence[Part]:
        """Return each step; but for the lower bound, theory is about raw estimates."""
        known = expected(setting.mechanism, setting.population, cell.epsilon, self.confidence)
        rest = dict.fromkeys(known) | {"mse_bound": known["mse_bound"]}
        return [Part({"step": step}, known if step == "raw" else rest) for step in self.steps]

    def table(self, rows: Sequence[Row]) -> str:
        """Return the results for a terminal; how many values recall is of stands in its head."""
        head = f"top-{rows[0]['top']} recall"
        columns = [replace(one, head=head) if one.head == "recall" else one for one in self.columns]
        return results_table(columns, rows, self.words)

    def plot(self, rows: Sequence[Row]) -> Figure:
        """Return errors or, over days, the error of each day and above it the ε spent until then."""
        if not varies(rows, "day"):
            return super().plot(rows)
        spent, error = Curve("epsilon_spent", "ε spent so far"), Curve("mse", "mean squared error", bounded=False)
        return curves_plot(rows, (spent, error), self.title(rows), self.axes)
