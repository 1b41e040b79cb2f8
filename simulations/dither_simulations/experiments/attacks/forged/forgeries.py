"""What ``dither-sim attack poisoning`` can attack, by what is asked; ``FORGERIES`` is the list."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure

from dither_shared import ParameterError

from ....choices import Attack, SurveyType
from ....options.common import check_names
from ....trials.mechanism_by_name import DISCOVERING, LISTED_SPEAKING, LOOKED_UP, NUMERIC, SETTLED
from ..output import poisoning_plot, poisoning_table, string_poisoning_plot, string_poisoning_table
from .number_poisoning import NumberPoisoning
from .poisoning import Poisoning
from .selection_poisoning import SelectionPoisoning
from .string_poisoning import StringPoisoning


class Forgery(ABC):
    """How an experiment with forged reports is planned, and shown."""

    @abstractmethod
    def plan(self, names: tuple[str, ...], attacks: tuple[Attack, ...], seed: int, asked: Mapping[str, Any]) -> Any:
        """Return the experiment asked for; raise ParameterError for what cannot be."""

    @abstractmethod
    def table(self, rows: Sequence[Any]) -> str:
        """Return the results for a terminal."""

    @abstractmethod
    def plot(self, rows: Sequence[Any]) -> Figure:
        """Return the results as a picture."""


@dataclass(frozen=True)
class _Estimates(Forgery):
    """Estimates that are to rise: ``needy`` mechanisms are attacked by default only where a set has a limit."""

    experiment: type[Poisoning]
    names: tuple[str, ...]
    size: int = 128
    needy: tuple[str, ...] = ()

    def plan(self, names: tuple[str, ...], attacks: tuple[Attack, ...], seed: int, asked: Mapping[str, Any]) -> Any:
        check_names(names, self.names)
        usual = tuple(name for name in self.names if asked["at_most"] or name not in self.needy)
        return self.experiment(
            names=tuple(dict.fromkeys(names or usual)),
            shares=asked["shares"],
            attacks=attacks,
            size=asked["size"] or self.size,
            epsilon=asked["epsilon"],
            users=asked["users"] or 100_000,
            targets=asked["targets"],
            repeats=asked["repeats"],
            seed=seed,
            at_most=asked["at_most"],
        )

    def table(self, rows: Sequence[Any]) -> str:
        return poisoning_table(rows)

    def plot(self, rows: Sequence[Any]) -> Figure:
        return poisoning_plot(rows)


class _Appearances(Forgery):
    """A string that nobody has, and that is to appear."""

    def plan(self, names: tuple[str, ...], attacks: tuple[Attack, ...], seed: int, asked: Mapping[str, Any]) -> Any:
        question = asked["discover"]
        known = LOOKED_UP if question is None else DISCOVERING
        check_names(names, known)
        plan = StringPoisoning(
            names=tuple(dict.fromkeys(names or known)),
            shares=asked["shares"],
            attacks=attacks,
            size=asked["size"] or 1000,
            epsilon=asked["epsilon"],
            users=asked["users"] or 1_000_000,
            question=question,
            repeats=asked["repeats"],
            seed=seed,
        )
        for cell in plan.cells():
            plan.mechanism(cell)  # what cannot be is refused before anything is computed
        if question is not None and len(question.characters) ** question.length <= plan.size:
            raise ParameterError("--size", f"{plan.size} strings leave none that nobody has")
        return plan

    def table(self, rows: Sequence[Any]) -> str:
        return string_poisoning_table(rows)

    def plot(self, rows: Sequence[Any]) -> Figure:
        return string_poisoning_plot(rows)


FORGERIES: Mapping[SurveyType, Forgery] = {
    "share": _Estimates(Poisoning, LISTED_SPEAKING),
    "number": _Estimates(NumberPoisoning, NUMERIC),
    "selection": _Estimates(SelectionPoisoning, SETTLED, size=16, needy=("privset",)),
    "string": _Appearances(),
}
