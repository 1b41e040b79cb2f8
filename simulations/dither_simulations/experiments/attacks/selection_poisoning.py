"""Poisoning of a selection: forged reports that raise the shares of chosen items.

An honest lie is a set of chosen items, as large as allowed. A crafted report supports the most chosen items at once:
the adversary chooses the window, too, so that all weight is on a few windows, and an item is estimated from d/s times
fewer reports than there are.

If a forged report covers item j with probability c_j and supports it with s_j, then m of them added to n honest ones,
of which a share c covers each item, move its share f_j by

    m (s_j - c_j (q + (p - q) f_j)) / ((p - q) (c n + c_j m)).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dither_server.tally.tally import Tally
from dither_shared import Mechanism, ParameterError, Shape

from ...choices import Attack
from ...samplers.sets import sample_sets
from ...trials.mechanism_by_name import SET_MECHANISMS, named_selection
from ...users.populations import Floats, Population, set_label
from ...users.sets import ItemChances, SetLaw
from .poisoning import Forgery, SharePoisoning, best_symbols


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

    def liars(self, count: int, rng: np.random.Generator) -> Population:
        """Return people who claim to have as many chosen items as a set may hold."""
        chosen, claimed = self.chosen_values(), self._claimed()
        sets = [
            sum(1 << chosen[(first + more) % len(chosen)] for more in range(claimed)) for first in range(len(chosen))
        ]
        return Population(tuple(map(set_label, sets)), rng.multinomial(count, np.full(len(sets), 1 / len(sets))))

    def _claimed(self) -> int:
        """Return how many chosen items a lie claims."""
        return self.targets if self.at_most is None else min(self.targets, self.at_most)

    def expected(self, mechanism: Mechanism, cell: Forgery) -> float:
        """Return the sum over the chosen items."""
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
