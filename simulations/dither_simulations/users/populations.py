"""Populations of users: how many hold each value, by a distribution or as a file counts them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dither_shared import Mechanism, ParameterError
from dither_shared.mechanism import SPELLED, Item

from ..choices import MAX_USERS, SEPARATOR

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Population:
    """Users by the value they hold: ``counts[v]`` of them hold ``labels[v]``; int64 of shape (k,)."""

    labels: tuple[str, ...]
    counts: Counts

    @classmethod
    def spread(cls, labels: Sequence[str], weights: Floats, users: int) -> Self:
        """Return ``users`` shared out in proportion to ``weights``, to whole users, by largest remainder."""
        return cls(tuple(labels), apportion(weights, users))

    @classmethod
    def drawn(cls, labels: Sequence[str], weights: Floats, users: int, rng: np.random.Generator) -> Self:
        """Return ``users`` independent draws from the distribution proportional to ``weights``."""
        return cls(tuple(labels), rng.multinomial(_checked_users(users), weights / weights.sum()))

    @property
    def users(self) -> int:
        """How many users there are in all."""
        return int(self.counts.sum())

    @property
    def shares(self) -> Floats:
        """The true share of each value among these users, shape (k,)."""
        return self.counts / self.users

    def top(self, size: int, other: str = "other") -> "Population":
        """Return the ``size`` most frequent values (ties in the order given), the rest under ``other``, last.

        ``other`` is there whether or not anyone is left for it: it is the catch-all of the question that will be
        asked. A value that bears its name is counted under it.
        """
        listed = [index for index in np.argsort(-self.counts, kind="stable") if self.labels[index] != other][:size]
        labels = (*(self.labels[index] for index in listed), other)
        return Population(labels, np.array([*self.counts[listed], self.users - self.counts[listed].sum()]))


def apportion(weights: Floats, users: int) -> Counts:
    """Return whole numbers, in proportion to ``weights``, that add up to ``users``, by the largest-remainder method.

    Computed in integers, so that it holds for any number of users; ties go to the earlier value.
    Raises ParameterError for a number of users that is negative or too large, or weights that are not a distribution.
    """
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ParameterError("distribution", "its weights must be finite, not negative and not all zero")
    whole = [int(weight) for weight in np.rint(weights / weights.max() * 2.0**53)]
    total = sum(whole)
    shares = [divmod(weight * _checked_users(users), total) for weight in whole]
    counts = np.array([share for share, _ in shares], dtype=np.int64)
    by_remainder = sorted(range(len(shares)), key=lambda index: -shares[index][1])
    counts[by_remainder[: users - int(counts.sum())]] += 1
    return counts


def uniform(size: int) -> Floats:
    """Return equal weights for ``size`` values."""
    return np.ones(size)


def zipf(size: int, exponent: float) -> Floats:
    """Return weights 1/rank^exponent (Zipf's law over ``size`` values)."""
    return np.arange(1, size + 1, dtype=np.float64) ** -exponent


def geometric(size: int, ratio: float) -> Floats:
    """Return weights ratio^rank: each value is held by ``ratio`` times as many as the one before."""
    return np.power(ratio, np.arange(size, dtype=np.float64))


def step(size: int) -> Floats:
    """Return weights of which the first tenth, but at least one, are ten times the others."""
    return np.where(np.arange(size) < max(1, size // 10), 10.0, 1.0)


def numbered(size: int) -> tuple[str, ...]:
    """Return the labels v0, v1, … of a made-up population."""
    return tuple(f"v{index}" for index in range(size))


def items_of(mechanism: Mechanism, labels: tuple[str, ...]) -> tuple[Item, ...]:
    """Return the item that the mechanism randomizes for each label.

    That is its index, its UTF-8 bytes in an open domain, or the set that it names (``set_label``). A label of a string
    that is spelled in an alphabet has a character for each symbol, whose number that is.
    """
    if mechanism.items == SPELLED:
        return tuple(label.encode("latin-1") for label in labels)
    if mechanism.items.sets:
        return tuple(map(set_item, labels))
    if mechanism.items.open:
        return tuple(label.encode("utf-8") for label in labels)
    return tuple(range(len(labels)))


def set_label(item: int) -> str:
    """Return the label of a set of items, given as the integer with bit j for item j: "0;2", or "" of none."""
    return SEPARATOR.join(str(place) for place in range(item.bit_length()) if item >> place & 1)


def set_item(label: str) -> int:
    """Return the set of a label."""
    return sum(1 << int(place) for place in label.split(SEPARATOR) if place)


def _checked_users(users: int) -> int:
    if not 0 <= users <= MAX_USERS:
        raise ParameterError("users", f"{users} is out of range; it must lie between 0 and {MAX_USERS:.0e}")
    return users
