"""Users whose answers are sets of items: items chosen independently of each other, or the sets of a file.

A set of d items is the integer whose bit j stands for item j.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dither_shared import ParameterError

from ..choices import Kind
from .populations import EMPTY, Counts, Distribution, Floats, Population, set_label

Members = NDArray[np.bool_]
"""Whether each item is in each set; shape (sets, items)."""


class SetChain(NamedTuple):
    """A random set, read item by item by a chain of states.

    ``start[s]`` is the probability of beginning in state s, ``present[j, s]`` that of item j being in the set given
    state s before it, ``after[s]`` the state that follows if it is (if not, the state stays), and ``held[s]`` the
    number of items in a set whose last state is s.
    """

    start: Floats
    present: Floats
    after: Counts
    held: Counts


@dataclass(frozen=True, eq=False)
class IndependentSets:
    """Each item is in the set with its own probability, independently; a set of more than ``at_most`` is drawn again.

    Raises ParameterError if a probability is invalid, or ``at_most`` is not a possible number of items.
    """

    chances: Floats
    at_most: int

    def __post_init__(self) -> None:
        if not ((self.chances >= 0) & (self.chances <= 1)).all():
            raise ParameterError("shares", "of items must lie between 0 and 1")
        if not 1 <= self.at_most <= len(self.chances):
            raise ParameterError("at_most", f"{self.at_most} must lie between 1 and the {len(self.chances)} items")
        if not self._fits(self.chances)[0]:
            raise ParameterError("at_most", f"{self.at_most} is fewer items than anyone has")

    @cached_property
    def shares(self) -> Floats:
        """The share of people who have each item: f_j P[the others are at most w - 1]/P[all are at most w]."""
        if self.at_most == len(self.chances):
            return self.chances
        others = np.array([self._fits(np.delete(self.chances, item))[1] for item in range(len(self.chances))])
        return np.asarray(self.chances * others / self._fits(self.chances)[0])

    def windows(self, width: int) -> Floats:
        """Return P[pattern] of each window: a product, times the probability that the other items leave room for it."""
        size, patterns = len(self.chances), np.arange(1 << width)
        bits = patterns[:, np.newaxis] >> np.arange(width) & 1
        laws = np.empty((size, len(patterns)))
        for window in range(size):
            inside = (window + np.arange(width)) % size
            each = np.where(bits, self.chances[inside], 1 - self.chances[inside]).prod(axis=1)
            room = self._fits(np.delete(self.chances, inside))
            laws[window] = each * room[np.minimum(bits.sum(axis=1), self.at_most + 1)]
        return np.asarray(laws / laws.sum(axis=1, keepdims=True))

    def chain(self) -> SetChain:
        """Return the chain whose state is the number of items in the set so far."""
        size, most = len(self.chances), self.at_most
        present = np.zeros((size, most + 1))
        for item in range(size):
            room = self._fits(self.chances[item + 1 :])
            yes, no = self.chances[item] * room[1:], (1 - self.chances[item]) * room[:-1]
            present[item] = yes / np.where(yes + no, yes + no, 1.0)
        states = np.arange(most + 1)
        return SetChain(np.eye(1, most + 1)[0], present, np.minimum(states + 1, most), states)

    def _fits(self, chances: Floats) -> Floats:
        """Return the probabilities that at most w - m of these items are in a set, m = 0, …, w + 1 (0 for the last)."""
        law = np.zeros(self.at_most + 1)  # of the number of items; more than w are one case
        law[0] = 1.0
        for chance in chances:
            law[1:] = law[1:] * (1 - chance) + law[:-1] * chance
            law[0] *= 1 - chance
        return np.append(np.cumsum(law)[::-1], 0.0)


@dataclass(frozen=True, eq=False)
class SetList:
    """Sets of a list, each with a probability proportional to its weight."""

    members: Members
    weights: Floats

    @classmethod
    def of(cls, sets: Sequence[int], size: int, weights: Floats) -> "SetList":
        """Return the law of these sets of ``size`` items."""
        return cls(members(sets, size), np.asarray(weights / weights.sum(), dtype=np.float64))

    @cached_property
    def shares(self) -> Floats:
        """The share of people who have each item."""
        return np.asarray(self.weights @ self.members)

    def windows(self, width: int) -> Floats:
        """Return P[pattern] of each window."""
        size = self.members.shape[1]
        laws = np.zeros((size, 1 << width))
        for window in range(size):
            np.add.at(laws[window], patterns_in(self.members, window, width), self.weights)
        return laws

    def chain(self) -> SetChain:
        """Return the chain whose state is the set, known from the start."""
        every = np.arange(len(self.weights))
        return SetChain(self.weights, self.members.T.astype(np.float64), every, self.members.sum(axis=1))


SetLaw = IndependentSets | SetList
"""The law of one person's set. People are independent of each other."""


def patterns_in(sets: Members, window: int, width: int) -> Counts:
    """Return the pattern of each set in a window, as a number."""
    inside = (window + np.arange(width)) % sets.shape[1]
    return np.asarray(sets[:, inside] @ (1 << np.arange(width)))


def members(sets: Sequence[int], size: int) -> Members:
    """Return which of ``size`` items are in sets that are given as integers."""
    table = [[bool(each >> item & 1) for item in range(size)] for each in sets]
    return np.array(table, dtype=np.bool_).reshape(-1, size)


def drawn_sets(people: SetLaw, users: int, rng: np.random.Generator) -> Population:
    """Return the sets of ``users`` people, drawn one by one: for devices, and for small numbers."""
    chain = people.chain()
    state = rng.choice(len(chain.start), size=users, p=chain.start)
    sets = np.zeros((users, len(chain.present)), dtype=np.bool_)
    for item, present in enumerate(chain.present):
        sets[:, item] = rng.random(users) < present[state]
        state = np.where(sets[:, item], chain.after[state], state)
    distinct, counts = np.unique(sets, axis=0, return_counts=True)
    labels = (set_label(int("".join(map(str, row[::-1].astype(int))), 2)) for row in distinct)
    return Population(tuple(labels), counts.astype(np.int64))


@dataclass(frozen=True)
class ItemChances:
    """Independent items: the most frequent has probability ``greatest``, the others decrease like a distribution."""

    kind: Kind = "zipf"
    exponent: float = 1.1
    ratio: float = 0.9
    greatest: float = 0.5

    @property
    def name(self) -> str:
        """The name in results: the kind, its parameter, and the greatest probability."""
        return f"{Distribution(self.kind, self.exponent, self.ratio).name}, up to {self.greatest:g}"

    @lru_cache(maxsize=2)  # noqa: B019 - few of them, and trials of a cell ask for the same
    def people(self, size: int, at_most: int | None) -> SetLaw:
        """Return the law of a person's set; a set of more than ``at_most`` items is drawn again."""
        return IndependentSets(self.chances(size), size if at_most is None else at_most)

    def chances(self, size: int) -> Floats:
        """Return the probability of each item, before any limit."""
        weights = Distribution(self.kind, self.exponent, self.ratio).weights(size)
        return np.asarray(self.greatest * weights / weights.max())


@dataclass(frozen=True, eq=False)
class SetColumn:
    """The sets of a file, with its counts; a person is drawn from them at random.

    ``items`` are their names, most frequent first; ``sets`` are the indices of each set's items, in the order of the
    file.
    """

    items: tuple[str, ...]
    sets: tuple[tuple[int, ...], ...]
    counts: Counts
    name: str = field(default="csv")

    @classmethod
    def of(cls, labels: Sequence[str], counts: Counts, separator: str) -> "SetColumn":
        """Return the sets in the cells, whose items are separated by ``separator``; an empty cell is a set.

        Raises ParameterError if there are fewer than two different items.
        """
        rows = [tuple(dict.fromkeys(_items(label, separator))) for label in labels]
        held: dict[str, int] = {}
        for row, count in zip(rows, counts.tolist(), strict=True):
            for item in row:
                held[item] = held.get(item, 0) + count
        if len(held) < 2:
            raise ParameterError("column", f"its cells hold {len(held)} different item(s); sets need at least 2")
        items = tuple(sorted(held, key=lambda item: (-held[item], item)))
        place = {item: index for index, item in enumerate(items)}
        return cls(items, tuple(tuple(place[item] for item in row) for row in rows), counts)

    @property
    def size(self) -> int:
        """The number of items."""
        return len(self.items)

    @property
    def users(self) -> int:
        """The number of users."""
        return int(self.counts.sum())

    @property
    def contents(self) -> object:
        """Everything that results depend on."""
        return self.items, self.sets, self.counts.tolist()

    @lru_cache(maxsize=2)  # noqa: B019 - few of them, and trials of a cell ask for the same
    def people(self, size: int, at_most: int | None) -> SetLaw:
        """Return the law of the ``size`` most frequent items; a longer set is cut to its first, as devices cut it.

        Raises ParameterError if there are fewer items.
        """
        if size > len(self.items):
            raise ParameterError("--size", f"{size} is more than the {len(self.items)} items of {self.name}")
        cut = [[item for item in chosen if item < size][:at_most] for chosen in self.sets]
        weights: dict[int, int] = {}
        for chosen, count in zip(cut, self.counts.tolist(), strict=True):
            number = sum(1 << item for item in chosen)
            weights[number] = weights.get(number, 0) + count
        return SetList.of(tuple(weights), size, np.array(list(weights.values()), dtype=np.float64))


SetSource = ItemChances | SetColumn
"""Makes the law of a person's set for each number of items."""


def _items(label: str, separator: str) -> list[str]:
    return [] if label == EMPTY else [item for part in label.split(separator) if (item := part.strip())]
