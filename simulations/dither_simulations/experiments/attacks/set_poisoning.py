"""Poisoning of strings and of selections.

Of strings, forged reports that make a string appear that nobody has.

An honest lie is the string. A crafted report supports it for certain, with rows and levels drawn as honest devices draw
them; a random report has cohorts drawn as honest devices draw them.

Of n honest reports a string with the share ``reach`` is found about half the time. A forged report counts as one person
who holds it or, if crafted, as (1 - q)/(p - q) of them; so it takes reach·n of them, or fewer by that factor.

Of a selection, forged reports that raise the shares of chosen items.

An honest lie is a set of chosen items, as large as allowed. A crafted report supports the most chosen items at once:
the adversary chooses the window, too, so that all weight is on a few windows, and an item is estimated from d/s times
fewer reports than there are.

If a forged report covers item j with probability c_j and supports it with s_j, then m of them added to n honest ones,
of which a share c covers each item, move its share f_j by

    m (s_j - c_j (q + (p - q) f_j)) / ((p - q) (c n + c_j m)).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any, ClassVar, Self

import numpy as np
from matplotlib.figure import Figure

from dither_server.estimation.planning import reach
from dither_server.tally.tally import Tally
from dither_shared import DiscoveryQuestion, Mechanism, ParameterError, Shape

from ...choices import Attack
from ...experiments.error.strings import found_in
from ...mechanism_by_name import (
    DISCOVERING,
    SET_MECHANISMS,
    STRING_MECHANISMS,
    check_names,
    named,
    named_discovery,
    named_selection,
)
from ...plots import PlotPanel, lines_of, lines_plot
from ...samplers import sample_tally
from ...samplers.registry import cohort_shares
from ...samplers.sets import sample_sets
from ...sweeps import Row, success_rate
from ...tables import ResultColumn, value
from ...users.populations import WORDS, Counts, Floats, Population, apportion, listed, made_up, set_label, spelled, zipf
from ...users.sets import ItemChances, SetLaw
from .poisoning import Forgery, PoisoningAttack, SharePoisoning, best_symbols


@dataclass(frozen=True)
class StringPoisoning(PoisoningAttack):
    """Makes a string appear in a list or in a discovery.

    The honest hold ``size`` strings by Zipf's law; ten times as many are listed. A row has how often a string that
    nobody has was found, with its interval at 95 % (Clopper and Pearson). ``needed`` is how many forged reports should
    do it about half the time; None if none do, or if no formula is known.
    """

    size: int = 1000
    users: int = 1_000_000
    discover: DiscoveryQuestion | None = None

    offered: ClassVar = (*STRING_MECHANISMS, *DISCOVERING)
    columns: ClassVar[Sequence[ResultColumn]] = (
        *PoisoningAttack.columns,
        ResultColumn("found %", lambda row: f"{100 * row['success']:.0f}"),
        ResultColumn("95 % interval", lambda row: f"{100 * row['low']:.0f} to {100 * row['high']:.0f}"),
        value("needed", "half at", ","),
    )

    @classmethod
    def asked(cls, seed: int, given: Mapping[str, Any]) -> Self:
        """Return the experiment that options ask for; raise ParameterError if it is impossible."""
        check_names(given["names"], cls.usual(given))
        experiment = super().asked(seed, given)
        discover = experiment.discover
        if discover is not None and len(discover.characters) ** discover.length <= experiment.size:
            raise ParameterError("--size", f"{experiment.size} strings leave no string that nobody has")
        for name in experiment.names:
            experiment.mechanism(name)
        return experiment

    @classmethod
    def usual(cls, given: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the mechanisms that look strings up, or those that discover them."""
        return STRING_MECHANISMS if given["discover"] is None else DISCOVERING

    def mechanism(self, name: str) -> Mechanism:
        """Return the mechanism of that name; raise ParameterError if there is none."""
        if self.discover is not None:
            return named_discovery(name, self.discover, self.epsilon)
        return named(name, 0, self.epsilon)

    @lru_cache(maxsize=2)  # noqa: B019 - a command has one, and trials of a cell ask for the same
    def people(self, mechanism: Mechanism) -> tuple[Population, DiscoveryQuestion | tuple[str, ...]]:
        """Return the honest users, whose last label is the target that nobody holds; and the candidates or question."""
        question = self.discover
        characters, length = (WORDS, 12) if question is None else (question.characters, question.length)
        labels = made_up(self.size + 1, characters, length)
        shares = np.append(zipf(self.size), 0.0)
        shares = shares / shares.sum()
        held = Population(labels, apportion(shares, self.users))
        if question is None:
            return held, listed(labels, 10 * self.size)
        return Population(spelled(question, mechanism, labels, shares).labels, held.counts), question

    def honest(self, mechanism: Mechanism, rng: np.random.Generator) -> Tally:
        """Return the tally of honest reports."""
        return sample_tally(mechanism, self.people(mechanism)[0], rng)

    def simulate(self, cell: Forgery, seed: np.random.SeedSequence) -> Sequence[Row]:
        """Return whether the string was found."""
        rng, mechanism = np.random.default_rng(seed), self.mechanism(cell.asked)
        people, sought = self.people(mechanism)
        forged = self.forge(mechanism, cell, rng)
        found = found_in(mechanism, self.honest(mechanism, rng) + forged, sought)
        return ({"found": float(people.labels[-1] in found.labels)},)

    def liars(self, mechanism: Mechanism, count: int, rng: np.random.Generator) -> Population:
        """Return people who claim to hold the string."""
        return Population((self.people(mechanism)[0].labels[-1],), np.array([count]))

    def without_randomizer(self, mechanism: Mechanism, count: int, rng: np.random.Generator, *, crafted: bool) -> Tally:
        """Return the tally of reports that support the string, or are random."""
        target = self.people(mechanism)[0].labels[-1]
        reports = rng.multinomial(count, cohort_shares(mechanism))
        item = target.encode("latin-1" if self.discover is not None else "utf-8")
        counts = [
            _counts(mechanism, some, _marked(mechanism, item, cohort) if crafted else None, rng)
            for cohort, some in enumerate(reports.tolist())
        ]
        return Tally(reports, np.array(counts))

    def extent(self, mechanism: Mechanism) -> Row:
        """Return the question, if strings are discovered, and the number of strings."""
        question = self.discover
        return {
            "discover": None if question is None else f"{question.alphabet}/{question.length}",
            "size": self.size,
        }

    def foreseen(self, cell: Forgery) -> Row:
        """Return how many forged reports are needed."""
        mechanism = self.mechanism(cell.asked)
        if cell.attack == "random-report" or not mechanism.pure:
            return {"needed": None}
        p, q = float(mechanism.p), float(mechanism.q)
        worth = (1 - q) / (p - q) if cell.attack == "crafted-report" else 1.0
        return {"needed": round(float(reach(mechanism, self.users, 10 * self.size)) * self.users / worth)}

    def rows(self, cell: Forgery, outcomes: Sequence[Sequence[Row]]) -> list[Row]:
        """Return how often the string was found."""
        return [self.about(cell) | success_rate(sum(trial["found"] for (trial,) in outcomes), len(outcomes))]

    def plot(self, rows: Sequence[Row]) -> Figure:
        """Return a figure of how often it appeared against the share of forged reports, with a panel per attack."""
        panels = [
            PlotPanel(
                lines_of(some, "mechanism", ("share", "success", "low", "high")), f"found by\n{attack}", log=False
            )
            for attack, some in groupby(rows, key=lambda row: row["attack"])
        ]
        title = f"A string that nobody has\n{self.users:,} honest users, ε = {self.epsilon:g}; band: 95 %"
        return lines_plot(panels, title, "share of forged reports")


@lru_cache(maxsize=256)
def _marked(mechanism: Mechanism, item: bytes, cohort: int) -> tuple[int, ...]:
    """Return the cells that the string marks; cached, because a hyperplane takes a second."""
    return mechanism.marked(item, cohort)


def _counts(mechanism: Mechanism, reports: int, marked: Sequence[int] | None, rng: np.random.Generator) -> Counts:
    """Return the cells of forged reports of a cohort: each has what is ``marked``, or all are random."""
    cells, every = np.zeros(mechanism.cells, dtype=np.int64), range(mechanism.cells)
    if mechanism.shape is Shape.SYMBOL:
        chosen = list(every if marked is None else marked)
        cells[chosen] = rng.multinomial(reports, np.full(len(chosen), 1 / len(chosen)))
        return cells
    cells += rng.binomial(reports, 0.5 if marked is None else float(mechanism.b), len(every))
    cells[list(marked or ())] = reports
    return cells


@dataclass(frozen=True)
class SelectionPoisoning(SharePoisoning):
    """Raises shares of items. A person has up to ``at_most``: the first with chance 1/2, others by Zipf's law."""

    size: int = 16
    at_most: int | None = None

    offered: ClassVar = SET_MECHANISMS

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.at_most is not None and self.at_most > self.size:
            raise ParameterError("--at-most", f"{self.at_most} is more than the {self.size} items")

    @classmethod
    def usual(cls, given: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the mechanisms of sets, without a limit except for privset, which must know it."""
        return tuple(name for name in SET_MECHANISMS if given["at_most"] or name != "privset")

    @property
    def _people_of_sets(self) -> SetLaw:
        return ItemChances().people(self.size, self.at_most)

    def mechanism(self, name: str) -> Mechanism:
        """Return the mechanism of that name."""
        return named_selection(name, self.size, self.at_most, self.epsilon)

    def honest(self, mechanism: Mechanism, rng: np.random.Generator) -> Tally:
        """Return the tally of honest reports."""
        return sample_sets(mechanism, self._people_of_sets, self.users, rng)

    def liars(self, mechanism: Mechanism, count: int, rng: np.random.Generator) -> Population:
        """Return people who claim to have as many chosen items as a set may hold."""
        chosen, claimed = self.chosen_values(), self._claimed()
        sets = [
            sum(1 << chosen[(first + more) % len(chosen)] for more in range(claimed)) for first in range(len(chosen))
        ]
        return Population(tuple(map(set_label, sets)), rng.multinomial(count, np.full(len(sets), 1 / len(sets))))

    def _claimed(self) -> int:
        """Return the number of chosen items that each forged answer claims."""
        return self.targets if self.at_most is None else min(self.targets, self.at_most)

    def expected(self, mechanism: Mechanism, cell: Forgery) -> float:
        """Return the expected rise of the share, summed over the chosen items."""
        forged = self.forged(cell)
        p, q = float(mechanism.p), float(mechanism.q)
        shares = self._people_of_sets.shares[self.chosen_values()]
        spoken, supported = self._forged_law(mechanism, cell.attack)
        honest = self.users * float(mechanism.coverage)
        moved = forged * (supported - spoken * (q + (p - q) * shares)) / (p - q) / (honest + forged * spoken)
        return float(moved.sum())

    def _forged_law(self, mechanism: Mechanism, attack: Attack) -> tuple[Floats, Floats]:
        """Return P[a forged report covers an item] and P[it supports it], for each chosen item."""
        p, q, covered = float(mechanism.p), float(mechanism.q), float(mechanism.coverage)
        chosen, everyone = self.chosen_values(), np.ones(self.targets)
        if attack == "crafted-input":
            return covered * everyone, covered * (q + (p - q) * self._claimed() / self.targets) * everyone
        if mechanism.shape is not Shape.SYMBOL:
            size = mechanism.weight or 0
            best = min(size, self.targets) / self.targets
            return everyone, everyone * (best if attack == "crafted-report" else size / mechanism.cells)
        symbols = np.argwhere(np.ones((mechanism.cohorts, mechanism.cells)))
        if attack == "crafted-report":
            symbols = best_symbols(mechanism, chosen)
        speaking = [[mechanism.supporting(item, cohort) for item in chosen] for cohort in range(mechanism.cohorts)]
        spoken = np.array([[bool(each) for each in speaking[cohort]] for cohort, _ in symbols])
        supported = np.array([[cell in each for each in speaking[cohort]] for cohort, cell in symbols])
        return spoken.mean(axis=0), supported.mean(axis=0)
