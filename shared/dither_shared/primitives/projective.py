"""Points of a projective space, and exact draws from a hyperplane or from off it.

In PG(t-1, q) there are K = (q^t - 1)/(q - 1) points. Each owns the c = (q^(t-1) - 1)/(q - 1) points u of its
hyperplane, those with ⟨u, v⟩ = 0, and any two share c' = (q^(t-2) - 1)/(q - 1) of them.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from ..light import cached_property
from .entropy import Entropy
from .galois import Field
from .galois import field as galois_field


def point_count(order: int, length: int) -> int:
    """Return how many points PG(length - 1, order) has: (order^length - 1)/(order - 1)."""
    return int((order**length - 1) // (order - 1))


def point_length(order: int, size: int) -> int:
    """Return the least t >= 2 with at least ``size`` points."""
    length = 2
    while point_count(order, length) < size:
        length += 1
    return length


@dataclass(frozen=True)
class Points:
    """The points of PG(length - 1, order), numbered as ``galois.Field.point`` does."""

    order: int
    length: int

    @cached_property
    def field(self) -> Field:
        """GF(order)."""
        return galois_field(self.order)

    @cached_property
    def count(self) -> int:
        """K, all points."""
        return point_count(self.order, self.length)

    @cached_property
    def owned(self) -> int:
        """c, those of a hyperplane."""
        return point_count(self.order, self.length - 1)

    @cached_property
    def shared(self) -> int:
        """c', those that two hyperplanes have in common."""
        return point_count(self.order, self.length - 2)

    def hyperplane(self, point: int) -> tuple[int, ...]:
        """Return the points that a point owns, ascending; O(K)."""
        value = self.field.point(point, self.length)
        owned: list[int] = []
        for free in range(self.length):  # the number of entries after the leading 1
            products = [value[self.length - 1 - free]]
            for entry in value[self.length - free :]:
                products = list(chain.from_iterable(map(_plus_multiples(self.order, entry).__getitem__, products)))
            first = point_count(self.order, free)
            owned += [first + place for place, product in enumerate(products) if not product]
        return tuple(owned)

    def draw(self, point: int, threshold: int, entropy: Entropy) -> int:
        """Return a point that ``point`` owns, with probability threshold/2^64, or else one of the others: O(t).

        It is uniform on its side. A uniform vector with a given product with v has all its entries uniform but the one
        at v's leading 1, which they determine; every point lies on equally many such vectors.
        """
        q, space = self.order, self.field
        value = space.point(point, self.length)
        free = q ** (self.length - 1)
        if entropy.bernoulli(threshold):
            product, drawn = 0, 1 + entropy.below(free - 1)
        else:
            drawn = entropy.below(free * (q - 1))
            product, drawn = 1 + drawn // free, drawn % free
        vector = space.digits(drawn, self.length - 1)
        lead = value.index(1)
        vector.insert(lead, 0)
        vector[lead] = space.add(product, space.negative(space.dot(vector, value)))
        return space.point_index(vector)


@lru_cache(maxsize=32)
def _plus_multiples(order: int, entry: int) -> list[list[int]]:
    """Return for each element s the elements s + y·entry, for every y."""
    space = galois_field(order)
    multiples = [space.multiply(entry, y) for y in range(order)]
    return [[space.add(s, multiple) for multiple in multiples] for s in range(order)]
