"""Poisoning of a selection: forged reports that raise the shares of chosen items.

- ``random-report``: any report that the collector takes, uniformly, windows included;
- ``crafted-input``: a set of chosen items, as many as it may have, sent through the honest randomizer;
- ``crafted-report``: the report that supports the most chosen items at once. Whoever forges chooses the window, too, so
  that all weight is on a few windows: an item is estimated from d/s times fewer reports than there are.

If a forged report speaks of item j with probability c_j and supports it with s_j, m of them beside n honest ones, of
which a share c speaks of each item, move its share f_j by

    m (s_j - c_j (q + (p - q) f_j)) / ((p - q) (c n + c_j m)).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dither_server.tally.tally import Tally
from dither_shared import Mechanism, ParameterError, Shape

from ....samplers import sample_tally
from ....samplers.sets import sample_sets
from ....trials.mechanism_by_name import named_selection
from ....users.populations import Floats, Population, set_label
from ....users.set_sources import ItemChances
from ....users.sets import SetLaw
from .forging import best_symbols
from .poisoning import Forged, Poisoning


@dataclass(frozen=True)
class SelectionPoisoning(Poisoning):
    """The experiment: every mechanism of sets, attack and share.

    A person has at most ``at_most`` items, each by itself: the first with chance 1/2, the others as Zipf's law falls.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.at_most is not None and self.at_most > self.size:
            raise ParameterError("--at-most", f"{self.at_most} is more than the {self.size} items")

    @cached_property
    def _people(self) -> SetLaw:
        return ItemChances().people(self.size, self.at_most)

    def _mechanism(self, cell: Forged) -> Mechanism:
        return named_selection(cell.asked, self.size, self.at_most, self.epsilon)

    def _drawn(self, mechanism: Mechanism, rng: np.random.Generator) -> Tally:
        return sample_sets(mechanism, self._people, self.users, rng)

    def _forged(self, cell: Forged, mechanism: Mechanism, rng: np.random.Generator) -> Tally:
        if cell.attack != "crafted-input":
            return super()._forged(cell, mechanism, rng)
        chosen, claimed = self._chosen(), self._claimed()
        sets = [
            sum(1 << chosen[(first + more) % len(chosen)] for more in range(claimed)) for first in range(len(chosen))
        ]
        counts = rng.multinomial(self._number(cell), np.full(len(sets), 1 / len(sets)))
        return sample_tally(mechanism, Population(tuple(map(set_label, sets)), counts), rng)

    def _claimed(self) -> int:
        """Return how many chosen items a lie claims."""
        return self.targets if self.at_most is None else min(self.targets, self.at_most)

    def _theory(self, cell: Forged, mechanism: Mechanism) -> float:
        forged, p, q = self._number(cell), float(mechanism.p), float(mechanism.q)
        shares = self._people.shares[self._chosen()]
        spoken, supported = self._forged_law(cell, mechanism)
        honest = self.users * float(mechanism.coverage)
        moved = forged * (supported - spoken * (q + (p - q) * shares)) / (p - q) / (honest + forged * spoken)
        return float(moved.sum())

    def _forged_law(self, cell: Forged, mechanism: Mechanism) -> tuple[Floats, Floats]:
        """Return P[a forged report speaks of an item] and P[it supports it], for each chosen item."""
        p, q, covered = float(mechanism.p), float(mechanism.q), float(mechanism.coverage)
        chosen, everyone = self._chosen(), np.ones(self.targets)
        if cell.attack == "crafted-input":
            return covered * everyone, covered * (q + (p - q) * self._claimed() / self.targets) * everyone
        if mechanism.shape is not Shape.SYMBOL:
            size = mechanism.weight or 0
            best = min(size, self.targets) / self.targets
            return everyone, everyone * (best if cell.attack == "crafted-report" else size / mechanism.cells)
        symbols = np.argwhere(np.ones((mechanism.cohorts, mechanism.cells)))
        if cell.attack == "crafted-report":
            symbols = best_symbols(mechanism, chosen)
        speaking = [[mechanism.supporting(item, cohort) for item in chosen] for cohort in range(mechanism.cohorts)]
        spoken = np.array([[bool(each) for each in speaking[cohort]] for cohort, _ in symbols])
        supported = np.array([[cell in each for each in speaking[cohort]] for cohort, cell in symbols])
        return spoken.mean(axis=0), supported.mean(axis=0)
