"""The experiment of ``dither-sim error --type string``: which of the most frequent strings are found."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import product
from typing import Any

import numpy as np

from dither_server.estimation.strings.reach import reach
from dither_shared import DiscoveryQuestion, Mechanism, ParameterError

from ....choices import Law
from ....sweeps.sweep import identity_of, mean
from ....trials.mechanism_by_name import named, named_discovery
from ....trials.string_trial import StringScores, StringSetting, run_string_trial
from ....users.populations import Floats
from ....users.sources import Column, Source
from ....users.strings import WORDS, listed, made_up, spelled


@dataclass(frozen=True)
class StringCell:
    """A place in the grid."""

    asked: str
    size: int
    users: int
    epsilon: float


@dataclass(frozen=True)
class StringRow:
    """The result of a cell; the measures are those of ``StringScores``, means over the repeats with standard errors.

    People hold ``size`` strings and, without ``discover``, ``listed`` candidates are looked for, these among them.
    ``reach`` is the share of people that a string must have to be found about half the time, as computed beforehand;
    None of mechanisms for which nothing says it.
    """

    asked: str
    mechanism: str
    law: Law
    epsilon: float
    size: int
    listed: int | None
    discover: str | None
    users: int
    distribution: str
    reach: float | None
    recall_8: float
    recall_8_se: float | None
    recall_16: float
    recall_16_se: float | None
    recall_32: float
    recall_32_se: float | None
    f1: float
    f1_se: float | None
    found: float
    found_se: float | None
    false: float
    false_se: float | None
    missed: float
    missed_se: float | None
    confidence: float
    repeats: int
    seed: int


@dataclass(frozen=True)
class StringAccuracy:
    """What to sweep over: every mechanism at every number of strings, of users, and ε.

    With a ``question`` nothing is listed. Otherwise ``listed`` candidates are looked for, the strings that people hold
    among them.
    """

    names: tuple[str, ...]
    epsilons: tuple[float, ...]
    sizes: tuple[int, ...]
    users: tuple[int, ...]
    source: Source
    listed: int | None = None
    question: DiscoveryQuestion | None = None
    permanent_epsilon: float | None = None
    repeats: int = 20
    seed: int = 0
    confidence: float = 0.95
    law: Law = "joint"

    row = StringRow

    def cells(self) -> list[StringCell]:
        """Return the grid: for each name each number of strings, for each of these each number of users, then ε."""
        return [StringCell(*place) for place in product(self.names, self.sizes, self.users, self.epsilons)]

    def identity(self) -> str:
        """Return what tells this sweep from others, the strings of a file included."""
        whole = self.source.whole if isinstance(self.source, Column) else None
        return identity_of(self, None if whole is None else (whole.labels, whole.counts.tolist()))

    def mechanism(self, cell: StringCell) -> Mechanism:
        """Return the mechanism of a cell; raise ParameterError if there is none for that ε."""
        if self.question is not None:
            return named_discovery(cell.asked, self.question, cell.epsilon, self.permanent_epsilon)
        return named(cell.asked, cell.size, cell.epsilon, self.permanent_epsilon)

    def setting(self, cell: StringCell) -> StringSetting:
        """Return the setting of a cell's trials.

        Raises ParameterError if there is no such mechanism, or if fewer candidates are listed than people hold.
        """
        mechanism, (labels, shares) = self.mechanism(cell), self._held(cell)
        if self.question is not None:
            people = spelled(self.question, mechanism, labels, shares)
            return StringSetting(
                mechanism, people.labels, people.shares, cell.users, (), self.question, self.confidence, self.law
            )
        many = self._listed(cell)
        if many < len(labels):
            raise ParameterError("--candidates", f"{many} are fewer than the {len(labels)} strings that people hold")
        wanted = listed(labels, many)
        return StringSetting(mechanism, labels, shares, cell.users, wanted, None, self.confidence, self.law)

    def _listed(self, cell: StringCell) -> int:
        return 10 * cell.size if self.listed is None else self.listed

    def _held(self, cell: StringCell) -> tuple[tuple[str, ...], Floats]:
        """Return the strings that people hold, and their shares."""
        people = self.source.population(cell.size, 10**9)
        if isinstance(self.source, Column):
            return people.labels, people.shares
        question = self.question
        characters, length = (WORDS, 12) if question is None else (question.characters, question.length)
        labels = made_up(cell.size, characters, length)
        if len(labels) < cell.size:
            raise ParameterError("--size", f"{cell.size} strings are more than the {len(labels)} that there can be")
        return labels, people.shares

    def trials(self, cell: StringCell, seeds: Sequence[np.random.SeedSequence]) -> list[StringScores]:
        """Return the scores of one trial for each seed."""
        setting = self.setting(cell)
        return [run_string_trial(setting, seed) for seed in seeds]

    def rows(self, cell: StringCell, outcomes: Sequence[StringScores]) -> list[StringRow]:
        """Return the one row of a cell."""
        mechanism = self.mechanism(cell)
        question = self.question
        many = None if question is not None else self._listed(cell)
        return [
            StringRow(
                asked=cell.asked,
                mechanism=mechanism.name,
                law=self.law,
                epsilon=cell.epsilon,
                size=cell.size,
                listed=many,
                discover=None if question is None else f"{question.alphabet}/{question.length}",
                users=cell.users,
                distribution=self.source.name,
                reach=reach(mechanism, cell.users, many or 0) if mechanism.pure else None,
                **_summary(outcomes),
                confidence=self.confidence,
                repeats=self.repeats,
                seed=self.seed,
            )
        ]


def _summary(scores: Sequence[StringScores]) -> dict[str, Any]:
    """Return the means of the measures over the repeats, with standard errors."""
    summed: dict[str, Any] = {}
    for field in fields(StringScores):
        summed[field.name], summed[f"{field.name}_se"] = mean([float(getattr(one, field.name)) for one in scores])
    return summed
