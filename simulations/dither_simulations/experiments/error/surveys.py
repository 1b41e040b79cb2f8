"""What ``dither-sim error`` can be asked of: a survey of shares, and one of numbers; ``SURVEYS`` is the list."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import click
from matplotlib.figure import Figure

from dither_shared import MECHANISMS, ParameterError

from ...choices import STEPS, Law, SurveyType
from ...collection.remote_trial import Survey, collector_of_its_own, definitions, metrics_of, require_known
from ...options.common import check_names
from ...options.run import Run
from ...output.files import write_bytes
from ...trials.mechanism_by_name import ALONE, DISCOVERING, LOOKED_UP, NAMES, NUMERIC, SELECTIONS, SETTLED
from ...users.numbers import NumberColumn
from ...users.set_sources import SetColumn
from ...users.sources import Column
from .experiment import Accuracy
from .number_plots import number_error_plot
from .number_table import number_error_table
from .numbers import NumberAccuracy
from .plots import error_plot
from .selections.experiment import SelectionAccuracy
from .selections.plots import selection_error_plot
from .selections.table import selection_error_table
from .strings.experiment import StringAccuracy
from .strings.plots import string_error_plot
from .strings.table import string_error_table
from .table import error_table

_AUTO = "auto"


class ErrorSurvey(ABC):
    """A kind of survey whose error is measured: how its sweep is planned, made ready, and shown."""

    names: ClassVar[tuple[str, ...]]
    """The mechanisms that may be asked for."""
    usual: ClassVar[tuple[str, ...]]
    """Those that are simulated if none is."""

    def chosen(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the mechanisms asked for; raise ParameterError for one that does not answer such questions."""
        check_names(tuple(names), self.names)
        return tuple(dict.fromkeys(names or self.usual))

    @abstractmethod
    def plan(self, seed: int, asked: Mapping[str, Any]) -> Any:
        """Return the sweep asked for: an ``Experiment``."""

    @abstractmethod
    def check(self, plan: Any, run: Run) -> None:
        """Raise ParameterError before anything is computed, if a cell is impossible."""

    @contextmanager
    def ready(self, plan: Any) -> Iterator[Any]:
        """Yield the sweep with all that it needs beside this process."""
        yield plan

    def define(self, plan: Any, path: Path) -> None:
        """Write the definitions that a collector must have. Raises ParameterError if none can collect this."""
        raise ParameterError("--definitions", "goes with --type share")

    @abstractmethod
    def table(self, rows: Sequence[Any]) -> str:
        """Return the results for a terminal."""

    @abstractmethod
    def plot(self, rows: Sequence[Any]) -> Figure:
        """Return the results as a picture."""


class _Shares(ErrorSurvey):
    """Shares of listed answers, or of strings."""

    names = NAMES
    usual = NAMES[1:]

    def plan(self, seed: int, asked: Mapping[str, Any]) -> Accuracy:
        """Return the sweep asked for; a column says itself how many values and users there are."""
        source, collector, steps = asked["source"], asked["collector"], asked["steps"]
        return Accuracy(
            names=self.chosen(asked["names"]),
            epsilons=asked["epsilons"],
            sizes=asked["sizes"] or (len(source.whole.labels) if isinstance(source, Column) else 64,),
            users=asked["users"] or (source.whole.users if isinstance(source, Column) else 100_000,),
            source=source,
            steps=STEPS if "all" in steps else tuple(dict.fromkeys(steps)),
            days=asked["days"],
            permanent_epsilon=asked["permanent_epsilon"],
            repeats=asked["repeats"] or (1 if collector else 20),
            seed=seed,
            confidence=asked["confidence"],
            law="collector" if collector else "device" if asked["device"] else asked["law"],
            top=asked["top"],
            collector=collector or "",
        )

    def check(self, plan: Accuracy, run: Run) -> None:
        if plan.collector and (plan.repeats, plan.days, plan.permanent_epsilon) != (1, 1, None):
            raise ParameterError("--collector", "goes with one repeat, one day and no --permanent-epsilon")
        if plan.collector == _AUTO and run.scheduler is not None:
            raise ParameterError(
                "--collector", "auto goes without --scheduler, whose workers cannot reach this machine's"
            )
        for cell in plan.cells():
            if cell.day == 1:
                plan.setting(cell)

    @contextmanager
    def ready(self, plan: Accuracy) -> Iterator[Accuracy]:
        """Yield the sweep with the collector that it needs, if any: one that is there and fits, or a new one."""
        if not plan.collector:
            yield plan
            return
        surveys = self._surveys(plan)
        metrics = metrics_of(surveys)
        if plan.collector == _AUTO:
            with collector_of_its_own(surveys) as address:
                yield replace(plan, collector=address)
        else:
            require_known(plan.collector, metrics)
            yield plan

    def _surveys(self, plan: Accuracy) -> list[Survey]:
        settings = [plan.setting(cell) for cell in plan.cells()]
        return [(setting.mechanism, setting.population, setting.asked) for setting in settings]

    def define(self, plan: Accuracy, path: Path) -> None:
        write_bytes(path, definitions(self._surveys(plan)).encode("utf-8"))
        click.echo(f"dither-server run --metrics {path} --db sqlite:///lab.db --port 8000")

    def table(self, rows: Sequence[Any]) -> str:
        return error_table(rows)

    def plot(self, rows: Sequence[Any]) -> Figure:
        return error_plot(rows)


class _Selections(ErrorSurvey):
    """Which of some items apply: the share of people who have each."""

    names = SELECTIONS
    usual = SETTLED

    def plan(self, seed: int, asked: Mapping[str, Any]) -> SelectionAccuracy:
        """Return the sweep asked for; a column says itself how many items and users there are."""
        source, at_most = asked["source"], asked["at_most"]
        law: Law = "device" if asked["device"] else asked["law"] or "joint"
        if law == "marginal":
            raise ParameterError("--law", "marginal goes with --type share; the items of a report hang together")
        of_file = isinstance(source, SetColumn)
        usual = tuple(name for name in self.usual if at_most is not None or "at_most" not in MECHANISMS[name].keys)
        return SelectionAccuracy(
            names=self.chosen(asked["names"] or (*usual, ALONE)),
            epsilons=asked["epsilons"],
            sizes=asked["sizes"] or (len(source.items) if of_file else 8,),
            users=asked["users"] or (source.users if of_file else 100_000,),
            source=source,
            at_most=at_most,
            permanent_epsilon=asked["permanent_epsilon"],
            repeats=asked["repeats"] or 20,
            seed=seed,
            confidence=asked["confidence"],
            law=law,
            top=asked["top"],
        )

    def check(self, plan: SelectionAccuracy, run: Run) -> None:
        for cell in plan.cells():
            plan.setting(cell)

    def table(self, rows: Sequence[Any]) -> str:
        return selection_error_table(rows)

    def plot(self, rows: Sequence[Any]) -> Figure:
        return selection_error_plot(rows)


class _Strings(ErrorSurvey):
    """Any string: which of the frequent ones are found, in a list or without one."""

    names = (*LOOKED_UP, *DISCOVERING)
    usual = LOOKED_UP

    def plan(self, seed: int, asked: Mapping[str, Any]) -> StringAccuracy:
        """Return the sweep asked for; a column says itself how many strings and users there are."""
        source, question = asked["source"], asked["discover"]
        law: Law = "device" if asked["device"] else asked["law"] or "joint"
        if law == "marginal":
            raise ParameterError("--law", "marginal goes with --type share; strings share buckets")
        if question is not None and asked["candidates"] is not None:
            raise ParameterError("--candidates", "goes without --discover, which needs no list")
        usual = LOOKED_UP if question is None else DISCOVERING
        check_names(tuple(asked["names"]), usual)
        of_file = isinstance(source, Column)
        return StringAccuracy(
            names=tuple(dict.fromkeys(asked["names"] or usual)),
            epsilons=asked["epsilons"],
            sizes=asked["sizes"] or (len(source.whole.labels) if of_file else 1000,),
            users=asked["users"] or (source.whole.users if of_file else 1_000_000,),
            source=source,
            listed=asked["candidates"],
            question=question,
            permanent_epsilon=asked["permanent_epsilon"],
            repeats=asked["repeats"] or 20,
            seed=seed,
            confidence=asked["confidence"],
            law=law,
        )

    def check(self, plan: StringAccuracy, run: Run) -> None:
        for cell in plan.cells():
            plan.setting(cell)

    def table(self, rows: Sequence[Any]) -> str:
        return string_error_table(rows)

    def plot(self, rows: Sequence[Any]) -> Figure:
        return string_error_plot(rows)


class _Numbers(ErrorSurvey):
    """A number: its mean, its distribution and its quantiles."""

    names = usual = NUMERIC

    def plan(self, seed: int, asked: Mapping[str, Any]) -> NumberAccuracy:
        """Return the sweep asked for; a column says itself how many users there are."""
        source = asked["source"]
        law: Law = "device" if asked["device"] else asked["law"] or "joint"
        if law == "marginal":
            raise ParameterError("--law", "marginal goes with --type share; the points of a number hang together")
        return NumberAccuracy(
            names=self.chosen(asked["names"]),
            epsilons=asked["epsilons"],
            users=asked["users"] or (source.users if isinstance(source, NumberColumn) else 100_000,),
            source=source,
            quantiles=asked["quantiles"],
            permanent_epsilon=asked["permanent_epsilon"],
            repeats=asked["repeats"] or 20,
            seed=seed,
            confidence=asked["confidence"],
            law=law,
        )

    def check(self, plan: NumberAccuracy, run: Run) -> None:
        for cell in plan.cells():
            plan.setting(cell)

    def table(self, rows: Sequence[Any]) -> str:
        return number_error_table(rows)

    def plot(self, rows: Sequence[Any]) -> Figure:
        return number_error_plot(rows)


SURVEYS: Mapping[SurveyType, ErrorSurvey] = {
    "share": _Shares(),
    "number": _Numbers(),
    "selection": _Selections(),
    "string": _Strings(),
}
