"""Poisoning of strings: forged reports that make a string appear which nobody has.

- ``random-report``: any report that the collector takes, uniformly, cohorts as the honest draw them;
- ``crafted-input``: the string, sent through the honest randomizer: an honest lie;
- ``crafted-report``: a report that supports the string for certain, in rows and levels as the honest draw them.

Of n honest reports a string is found about half the time where it has the share ``reach``. A forged report counts as
one person who holds it or, if crafted, as (1 - q)/(p - q) of them; so it takes reach·n of them, or fewer by that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from dither_server.estimation.strings.reach import reach
from dither_server.tally.tally import Tally
from dither_shared import DiscoveryQuestion, Mechanism, Shape
from dither_shared.privacy.binomial import lower_bound, upper_bound

from ....choices import ATTACKS, Attack
from ....samplers import sample_tally
from ....samplers.hashed import cohort_shares
from ....sweeps.sweep import identity_of
from ....trials.mechanism_by_name import named, named_discovery
from ....trials.string_trial import StringSetting, found_in
from ....users.populations import Counts, Population, apportion, zipf
from ....users.strings import WORDS, listed, made_up, spelled
from .poisoning import Forged

_SURE = 0.975
"""The confidence of each end of an interval."""


@dataclass(frozen=True)
class StringPoisoningRow:
    """How often a string that nobody has was found, with its interval at 95 % (Clopper and Pearson).

    ``needed`` is how many forged reports should do it about half the time; None where none do, or nothing says it.
    """

    attack: Attack
    mechanism: str
    discover: str | None
    size: int
    epsilon: float
    users: int
    share: float
    forged: int
    success: float
    low: float
    high: float
    needed: int | None
    repeats: int
    seed: int


@dataclass(frozen=True)
class StringPoisoning:
    """The experiment: every mechanism, attack and share of forged reports, against a list or a discovery.

    The honest hold ``size`` strings by Zipf's law; ten times as many are listed.
    """

    names: tuple[str, ...]
    shares: tuple[float, ...]
    attacks: tuple[Attack, ...] = ATTACKS
    size: int = 1000
    epsilon: float = 1.0
    users: int = 1_000_000
    question: DiscoveryQuestion | None = None
    repeats: int = 20
    seed: int = 0

    row = StringPoisoningRow

    def cells(self) -> list[Forged]:
        """Return the grid."""
        return [Forged(name, attack, share) for attack in self.attacks for name in self.names for share in self.shares]

    def identity(self) -> str:
        """Return a digest that differs from every other experiment's."""
        return identity_of(self)

    def mechanism(self, cell: Forged) -> Mechanism:
        """Return the mechanism of a cell; raise ParameterError if there is none."""
        if self.question is not None:
            return named_discovery(cell.asked, self.question, self.epsilon)
        return named(cell.asked, 0, self.epsilon)

    @cached_property
    def _strings(self) -> tuple[str, ...]:
        """The strings of the honest and, last, the one that nobody has."""
        question = self.question
        characters, length = (WORDS, 12) if question is None else (question.characters, question.length)
        return made_up(self.size + 1, characters, length)

    def trials(self, cell: Forged, seeds: Sequence[np.random.SeedSequence]) -> list[bool]:
        """Return for each seed whether the string was found."""
        mechanism = self.mechanism(cell)
        shares = np.append(zipf(self.size, 1.1), 0.0)
        shares, labels = shares / shares.sum(), self._strings
        candidates = listed(labels, 10 * self.size)
        if self.question is not None:
            labels, candidates = spelled(self.question, mechanism, labels, shares).labels, ()
        setting = StringSetting(mechanism, labels, shares, self.users, candidates, self.question)
        honest = Population(labels, apportion(shares, self.users))
        return [self._appears(cell, setting, honest, np.random.default_rng(seed)) for seed in seeds]

    def _appears(self, cell: Forged, setting: StringSetting, honest: Population, rng: np.random.Generator) -> bool:
        forged = self._forged(cell, setting, rng)
        return setting.labels[-1] in found_in(setting, sample_tally(setting.mechanism, honest, rng) + forged).labels

    def _number(self, cell: Forged) -> int:
        return round(cell.share / (1 - cell.share) * self.users)

    def _forged(self, cell: Forged, setting: StringSetting, rng: np.random.Generator) -> Tally:
        mechanism, target, count = setting.mechanism, setting.labels[-1], self._number(cell)
        if cell.attack == "crafted-input":
            return sample_tally(mechanism, Population((target,), np.array([count])), rng)
        reports = rng.multinomial(count, cohort_shares(mechanism))
        item = target.encode("latin-1" if self.question is not None else "utf-8")
        crafted = cell.attack == "crafted-report"
        lots = [
            _counts(mechanism, some, _marked(mechanism, item, cohort) if crafted else None, rng)
            for cohort, some in enumerate(reports.tolist())
        ]
        return Tally(reports, np.array(lots))

    def rows(self, cell: Forged, outcomes: Sequence[bool]) -> list[StringPoisoningRow]:
        """Return how often the string was found."""
        mechanism, hits = self.mechanism(cell), sum(outcomes)
        question = self.question
        return [
            StringPoisoningRow(
                attack=cell.attack,
                mechanism=cell.asked,
                discover=None if question is None else f"{question.alphabet}/{question.length}",
                size=self.size,
                epsilon=self.epsilon,
                users=self.users,
                share=cell.share,
                forged=self._number(cell),
                success=hits / len(outcomes),
                low=lower_bound(hits, len(outcomes), _SURE),
                high=upper_bound(hits, len(outcomes), _SURE),
                needed=self._needed(cell, mechanism),
                repeats=self.repeats,
                seed=self.seed,
            )
        ]

    def _needed(self, cell: Forged, mechanism: Mechanism) -> int | None:
        if cell.attack == "random-report" or not mechanism.pure:
            return None
        p, q = float(mechanism.p), float(mechanism.q)
        worth = (1 - q) / (p - q) if cell.attack == "crafted-report" else 1.0
        return round(reach(mechanism, self.users, 10 * self.size) * self.users / worth)


@lru_cache(maxsize=256)
def _marked(mechanism: Mechanism, item: bytes, cohort: int) -> tuple[int, ...]:
    """Return the cells that the string marks; remembered, for a hyperplane takes a second."""
    return mechanism.marked(item, cohort)


def _counts(mechanism: Mechanism, reports: int, marked: Sequence[int] | None, rng: np.random.Generator) -> Counts:
    """Return the cells of forged reports of a cohort: each has what is ``marked``, or all of them are random."""
    cells, every = np.zeros(mechanism.cells, dtype=np.int64), range(mechanism.cells)
    if mechanism.shape is Shape.SYMBOL:
        chosen = list(every if marked is None else marked)
        cells[chosen] = rng.multinomial(reports, np.full(len(chosen), 1 / len(chosen)))
        return cells
    cells += rng.binomial(reports, 0.5 if marked is None else float(mechanism.b), len(every))
    cells[list(marked or ())] = reports
    return cells
