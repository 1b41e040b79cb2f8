"""Define the decoder of a tally, which returns support counts or, for mechanisms without them, a fit.

The base class gathers the cells that support each value.
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
    """Pairs of values that some reports cover together; each array has one row per pair.

    - ``values``: the indices of the two values, the lower first, shape (pairs, 2);
    - ``both``: how many of the ``trials`` support both values; ``each``, shape (pairs, 2): how many support each value;
    - ``p``, ``q``: P[a report supports both] for a user who has both, and for any other user; ``shared``: the same two
      probabilities for the stage that all reports of a device share; ``repeats``: the design effect of the trials of
      each pair;
    - ``unseen``: why no report covers the other pairs, in words; "" if there are no other pairs.
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
        """Return an empty list of pairs with the reason ``unseen``."""
        nothing, none = np.zeros(0, dtype=np.int64), np.zeros((0, 2), dtype=np.int64)
        never, always = Fraction(0), Fraction(1)
        return cls(none.astype(np.intp), nothing, none, nothing, always, never, (always, never), np.zeros(0), unseen)

    def shares(self, frequency: Floats) -> Floats:
        """Return the share of users who have both: the unbiased estimate, clipped to what the single shares allow."""
        first, second = frequency[self.values].T
        raw = (self.both / np.maximum(self.trials, 1) - float(self.q)) / float(self.p - self.q)
        return np.clip(raw, np.maximum(first + second - 1, 0), np.minimum(first, second))


Decoded = TypeVar("Decoded", bound=Mechanism)

_COMPUTED = 16
"""Number of values that can be computed for the cost of showing one."""


class Support(NamedTuple):
    """``supporting[v]`` of ``trials[v]`` reports support value v."""

    supporting: Counts
    trials: Counts


class Decoder(Generic[Decoded]):
    """Decodes a tally by gathering the cells that support each value: the default of mechanisms.

    If ``fits`` is true, candidate strings are estimated by ``fit``, which also selects those found, and not by their
    support. Mechanisms with collisions implement ``loads``, too.
    """

    fits: ClassVar[bool] = False

    def support(self, mechanism: Decoded, tally: Tally, labels: tuple[str, ...]) -> Support:
        """Return the support of every value of a listed domain, or of ``labels`` of an open one."""
        if mechanism.own_cells:
            return of_all(tally, tally.counts[0])
        return _gathered_cells(mechanism, tally, labels)

    def together(self, mechanism: Decoded, tally: Tally, group: Indices) -> Counts | None:
        """Return for each value how many values of its ``group`` the reports that support it support, in total.

        Return None if the tally counts the cells of a report separately, because it then lacks this information.
        """
        return None

    def covered_weights(self, mechanism: Decoded, tally: Tally, weights: Floats, group: Indices) -> Floats:
        """Return for each value the sum of its ``group``'s weights, each times the reports that cover both values."""
        return np.asarray(tally.total * np.bincount(group, weights)[group], dtype=np.float64)

    def cost_together(self, mechanism: Decoded, values: int, groups: int) -> int:
        """Return the work of ``together`` or ``covered_weights`` for ``groups`` groups, in the unit of ``cost``."""
        return values // _COMPUTED

    def loads(self, mechanism: Decoded, tally: Tally) -> tuple[Floats, float]:
        """Return the debiased users of each column on which values collide, shape (cohorts, columns), and Σ Σ_j r_j².

        That sum is over reports; r_j is what a report adds to the users of column j.
        """
        raise NotImplementedError(f"{mechanism.name} has no columns")

    def fit(self, mechanism: Decoded, labels: tuple[str, ...], tally: Tally, confidence: float) -> Fit:
        """Fit the frequencies of ``labels`` to a tally with at least one report."""
        raise NotImplementedError(f"{mechanism.name} is not fitted")

    def by_window(self, mechanism: Decoded, tally: Tally) -> Support | None:
        """Return the support of each value in each of its windows, shape (values, windows); None without windows."""
        return None

    def pairs(self, mechanism: Decoded, tally: Tally) -> Pairs:
        """Return the counts of pairs of values in a tally of sets."""
        raise NotImplementedError(f"{mechanism.name} has no sets")

    def sum_variance(self, mechanism: Decoded, tally: Tally, frequency: Floats) -> float:
        """Return the variance of the sum of all estimated frequencies of a tally of sets, over the population.

        Every value is covered by some reports. If people report repeatedly, it may be an upper bound.
        """
        raise NotImplementedError(f"{mechanism.name} has no sets")

    def cost(self, mechanism: Decoded, values: int) -> int:
        """Return the work of an estimate of ``values`` values, in units of a value that is shown (``costs``)."""
        return max(values, mechanism.cohorts * mechanism.cells // _COMPUTED) // _COMPUTED


def of_all(tally: Tally, supporting: Floats | Counts) -> Support:
    """Return ``supporting`` as the support of values that every report covers."""
    counts = np.rint(supporting).astype(np.int64)
    return Support(counts, np.full(len(counts), tally.total))


def _gathered_cells(mechanism: Mechanism, tally: Tally, labels: tuple[str, ...]) -> Support:
    """Return for each value the sum of its supporting cells, and the reports of the cohorts that have such cells.

    This is the support if a report has at most one of these cells.
    """
    size = mechanism.size
    items: tuple[Item, ...] = tuple(label.encode("utf-8") for label in labels) if size is None else tuple(range(size))
    cells, owners, cohorts, covering = _supporting(mechanism, items)
    supporting, trials = np.zeros(len(items), dtype=np.int64), np.zeros(len(items), dtype=np.int64)
    np.add.at(supporting, owners, tally.counts.ravel()[cells])
    np.add.at(trials, covering, tally.reports[cohorts])
    return Support(supporting, trials)


@lru_cache(maxsize=8)
def _supporting(mechanism: Mechanism, items: tuple[Item, ...]) -> tuple[Counts, Counts, Counts, Counts]:
    """Return the supporting cells with the item of each, and the cohorts that have such cells with the item of each."""
    cells: list[tuple[int, int]] = []
    covered: list[tuple[int, int]] = []
    for owner, item in enumerate(items):
        for cohort in range(mechanism.cohorts):
            held = mechanism.supporting(item, cohort)
            cells += [(cohort * mechanism.cells + cell, owner) for cell in held]
            covered += [(cohort, owner)] if held else []
    places, owners = np.array(cells, dtype=np.int64).reshape(-1, 2).T
    cohorts, covering = np.array(covered, dtype=np.int64).reshape(-1, 2).T
    return places, owners, cohorts, covering


class Symbols(Decoder[Decoded]):
    """Decodes reports of one symbol, from which the covariance of supports can be computed."""

    @abstractmethod
    def supported(self, mechanism: Decoded, values: Floats) -> Floats:
        """Return for each cohort and symbol how many of the selected values (1 in ``values``) it supports."""

    def together(self, mechanism: Decoded, tally: Tally, group: Indices) -> Counts:
        """Decode once per group, each report weighted by the number of the group's values that it supports."""
        joined = np.zeros(len(group), dtype=np.int64)
        for number in np.unique(group):
            inside = group == number
            weights = np.rint(self.supported(mechanism, inside.astype(np.float64))).astype(np.int64)
            table = tally.counts * weights.reshape(tally.counts.shape)
            joined[inside] = self.support(mechanism, Tally(table.sum(axis=1), table), ()).supporting[inside]
        return joined

    def cost_together(self, mechanism: Decoded, values: int, groups: int) -> int:
        """Return the cost of ``together``: two transforms per group."""
        return 2 * groups * self.cost(mechanism, values)
