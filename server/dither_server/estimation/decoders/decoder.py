"""What every decoder of a tally is: support counts, and what stands in for them where there are none.

A decoder that is no other gathers the cells that support each value.
"""

from abc import abstractmethod
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Generic, NamedTuple, Self, TypeVar

import numpy as np

from dither_shared import Mechanism
from dither_shared.mechanism import Item

from ...tally.arrays import Counts, Floats, Indices
from ...tally.tally import Tally
from ..fit import Fit


class Pairs(NamedTuple):
    """Pairs of values of which some reports speak together; each array has one row per pair.

    - ``values``: the two, as indices, the lower first, shape (pairs, 2);
    - ``both``: how many of the ``trials`` support both, and ``each``, shape (pairs, 2), how many support the one and
      the other;
    - ``p``, ``q``: P[a report supports both], of a user who has both, and of any other; ``shared``: of what all reports
      of a device have in common; and ``repeats``, the design effect of the trials of each pair;
    - ``unseen``: in words why other pairs are in no report; "" where there are no others.
    """

    values: Indices
    both: Counts
    each: Counts
    trials: Counts
    p: Fraction
    q: Fraction
    shared: tuple[Fraction, Fraction]
    repeats: Floats
    unseen: str

    @classmethod
    def none(cls, unseen: str) -> Self:
        """Return that no pair is seen, and why."""
        nothing, none = np.zeros(0, dtype=np.int64), np.zeros((0, 2), dtype=np.int64)
        never, always = Fraction(0), Fraction(1)
        return cls(none.astype(np.intp), nothing, none, nothing, always, never, (always, never), np.zeros(0), unseen)

    def shares(self, frequency: Floats) -> Floats:
        """Return the share of users who have both, as near to its unbiased estimate as the shares of each allow."""
        first, second = frequency[self.values].T
        raw = (self.both / np.maximum(self.trials, 1) - float(self.q)) / float(self.p - self.q)
        return np.clip(raw, np.maximum(first + second - 1, 0), np.minimum(first, second))


Decoded = TypeVar("Decoded", bound=Mechanism)

_COMPUTED = 16
"""How many values can be computed for the cost of showing one."""


class Support(NamedTuple):
    """``supporting[v]`` of ``trials[v]`` reports support value v."""

    supporting: Counts
    trials: Counts


class Loads(NamedTuple):
    """``users``: the debiased users of each column, shape (cohorts, columns); ``own``: Σ over reports of Σ_j r_j².

    r_j is what a report adds to the users of column j.
    """

    users: Floats
    own: float


class Decoder(Generic[Decoded]):
    """Reads a tally by the cells that support values; what mechanisms without a decoder of their own have.

    One that ``fits`` estimates candidate strings by a ``fit``, which says which are found, and not by their support.
    Under a mechanism with collisions there are ``loads``, too.
    """

    fits: ClassVar[bool] = False

    def support(self, mechanism: Decoded, tally: Tally, labels: tuple[str, ...]) -> Support:
        """Return the support of every value of a listed domain, or of ``labels`` of an open one."""
        if mechanism.own_cells:
            return of_all(tally, tally.counts[0])
        return _gathered_cells(mechanism, tally, labels)

    def together(self, mechanism: Decoded, tally: Tally, group: Indices) -> Counts | None:
        """Return how often a report supports each value, times how many of the value's ``group`` it then supports.

        Returns None if the tally cannot tell, because it counts the cells of a report separately.
        """
        return None

    def spoken(self, mechanism: Decoded, tally: Tally, weights: Floats, group: Indices) -> Floats:
        """Return for each value the weights of its ``group``, each times the reports that speak of it and the value."""
        return np.asarray(tally.total * np.bincount(group, weights)[group], dtype=np.float64)

    def cost_together(self, mechanism: Decoded, values: int, groups: int) -> int:
        """Return the work of ``together`` or ``spoken`` over ``groups`` groups, in the unit of ``cost``."""
        return values // _COMPUTED

    def loads(self, mechanism: Decoded, tally: Tally) -> Loads:
        """Return how the users are spread over the columns on which values collide."""
        raise NotImplementedError(f"{mechanism.name} has no columns")

    def fit(self, mechanism: Decoded, labels: tuple[str, ...], tally: Tally, confidence: float) -> Fit:
        """Fit the frequencies of ``labels`` to a tally with at least one report."""
        raise NotImplementedError(f"{mechanism.name} is not fitted")

    def by_window(self, mechanism: Decoded, tally: Tally) -> Support | None:
        """Return the support of sets' values in each of several windows that hold them, shape (values, windows)."""
        return None

    def pairs(self, mechanism: Decoded, tally: Tally) -> Pairs:
        """Return what a tally of sets says of two values together."""
        raise NotImplementedError(f"{mechanism.name} has no sets")

    def sum_variance(self, mechanism: Decoded, tally: Tally, frequency: Floats) -> float:
        """Return the variance of the sum of all estimated frequencies of a tally of sets, over the population.

        Where people report again it may be a bound.
        """
        raise NotImplementedError(f"{mechanism.name} has no sets")

    def cost(self, mechanism: Decoded, values: int) -> int:
        """Return the work of an estimate of ``values`` values, in units of a value that is shown (``costs``)."""
        return max(values, mechanism.cohorts * mechanism.cells // _COMPUTED) // _COMPUTED


def of_all(tally: Tally, supporting: Floats | Counts) -> Support:
    """Return supports of which every report speaks."""
    counts = np.rint(supporting).astype(np.int64)
    return Support(counts, np.full(len(counts), tally.total))


def _gathered_cells(mechanism: Mechanism, tally: Tally, labels: tuple[str, ...]) -> Support:
    """Return for each value the sum of the cells that support it, and the reports of the cohorts in which any does.

    That is the support if a report has at most one of them.
    """
    items: tuple[Item, ...] = tuple(range(mechanism.size or 0))
    if mechanism.items.open:
        items = tuple(label.encode("utf-8") for label in labels)
    cells, owners, cohorts, speaking = _supporting(mechanism, items)
    supporting, trials = np.zeros(len(items), dtype=np.int64), np.zeros(len(items), dtype=np.int64)
    np.add.at(supporting, owners, tally.counts.ravel()[cells])
    np.add.at(trials, speaking, tally.reports[cohorts])
    return Support(supporting, trials)


@lru_cache(maxsize=8)
def _supporting(mechanism: Mechanism, items: tuple[Item, ...]) -> tuple[Counts, Counts, Counts, Counts]:
    """Return the cells of the whole tally that support items, whose each is; cohorts in which any does, and whom."""
    cells: list[tuple[int, int]] = []
    spoken: list[tuple[int, int]] = []
    for owner, item in enumerate(items):
        for cohort in range(mechanism.cohorts):
            own = mechanism.supporting(item, cohort)
            cells += [(cohort * mechanism.cells + cell, owner) for cell in own]
            spoken += [(cohort, owner)] if own else []
    places, owners = np.array(cells, dtype=np.int64).reshape(-1, 2).T
    cohorts, speaking = np.array(spoken, dtype=np.int64).reshape(-1, 2).T
    return places, owners, cohorts, speaking


class Symbols(Decoder[Decoded]):
    """Reads how the supports of values hang together from the reports themselves."""

    @abstractmethod
    def supported(self, mechanism: Decoded, values: Floats) -> Floats:
        """Return how many of the ``values``, 1 for each that counts, a report of each cohort and symbol supports."""

    def together(self, mechanism: Decoded, tally: Tally, group: Indices) -> Counts:
        """Weigh reports by how many of a group they support, and decode."""
        found = np.zeros(len(group), dtype=np.int64)
        for one in range(int(group.max()) + 1):
            own = group == one
            weights = np.rint(self.supported(mechanism, own.astype(np.float64))).astype(np.int64)
            table = tally.counts * weights.reshape(tally.counts.shape)
            found[own] = self.support(mechanism, Tally(table.sum(axis=1), table), ()).supporting[own]
        return found

    def cost_together(self, mechanism: Decoded, values: int, groups: int) -> int:
        """Count two transforms a group."""
        return 2 * groups * self.cost(mechanism, values)
