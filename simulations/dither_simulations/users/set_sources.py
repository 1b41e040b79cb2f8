"""Sources of users whose answers are sets: items chosen by chance, or a column of a file with a set in each cell."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from dither_shared import ParameterError

from ..choices import Kind
from .columns import EMPTY
from .populations import Counts, Floats
from .sets import IndependentSets, ListedSets, SetLaw
from .sources import Distribution


class SetSource(Protocol):
    """Makes the law of a person's set."""

    @property
    def name(self) -> str:
        """The name in results."""

    def people(self, size: int, at_most: int | None) -> SetLaw:
        """Return the law of sets of ``size`` items, with no more than ``at_most`` in a set."""


@dataclass(frozen=True)
class ItemChances:
    """Independent items: the most frequent is chosen with chance ``greatest``, the others as a distribution falls."""

    kind: Kind = "zipf"
    exponent: float = 1.1
    ratio: float = 0.9
    greatest: float = 0.5

    @property
    def name(self) -> str:
        """The name in results: the kind, its parameter, and the greatest chance."""
        return f"{Distribution(self.kind, self.exponent, self.ratio).name}, up to {self.greatest:g}"

    def people(self, size: int, at_most: int | None) -> SetLaw:
        """Return the law of people of whom none has more than ``at_most`` items: others are drawn again."""
        return IndependentSets(self.chances(size), size if at_most is None else at_most)

    def chances(self, size: int) -> Floats:
        """Return the chance of each item, before any limit."""
        weights = Distribution(self.kind, self.exponent, self.ratio).weights(size)
        return np.asarray(self.greatest * weights / weights.max())


@dataclass(frozen=True, eq=False)
class SetColumn:
    """The sets of a file, as often as it counts them; a person is drawn from them at random.

    ``items`` are their names, most frequent first, ``sets`` the places of a set's items, in the order of the file.
    """

    items: tuple[str, ...]
    sets: tuple[tuple[int, ...], ...]
    counts: Counts
    name: str = field(default="csv")

    @classmethod
    def of(cls, labels: Sequence[str], counts: Counts, separator: str) -> "SetColumn":
        """Return the sets that cells hold, the items of each with ``separator`` between them; an empty cell is a set.

        Raises ParameterError if there are less than two different items.
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
        """All that results depend on."""
        return self.items, self.sets, self.counts.tolist()

    def people(self, size: int, at_most: int | None) -> SetLaw:
        """Return the law of the ``size`` most frequent items; a longer set is cut to its first, as devices cut it.

        Raises ParameterError if there are fewer items.
        """
        if size > len(self.items):
            raise ParameterError("--size", f"{size} is more than the {len(self.items)} items of {self.name}")
        cut = [[item for item in one if item < size][:at_most] for one in self.sets]
        weights: dict[int, int] = {}
        for one, count in zip(cut, self.counts.tolist(), strict=True):
            number = sum(1 << item for item in one)
            weights[number] = weights.get(number, 0) + count
        return ListedSets.of(tuple(weights), size, np.array(list(weights.values()), dtype=np.float64))


def _items(label: str, separator: str) -> list[str]:
    return [] if label == EMPTY else [item for part in label.split(separator) if (item := part.strip())]
