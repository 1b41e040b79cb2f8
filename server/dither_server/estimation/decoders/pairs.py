"""What a tally of sets says of two values together, and of the sum of all."""

from fractions import Fraction
from typing import NamedTuple, Self

import numpy as np

from ...tally.arrays import Counts, Floats, Indices

__all__ = ["Pairs"]


class Pairs(NamedTuple):
    """Pairs of values of which some reports speak together; each array has a row a pair.

    - ``values``: the two, as indices, the lower first, shape (pairs, 2);
    - ``both``: how many of the ``trials`` support both, and ``each``, shape (pairs, 2), how many support the one and
      the other;
    - ``p``, ``q``: P[a report supports both], of a user who has both, and of any other;
    - ``unseen``: in words why other pairs are in no report; "" where there are no others.
    """

    values: Indices
    both: Counts
    each: Counts
    trials: Counts
    p: Fraction
    q: Fraction
    unseen: str

    @classmethod
    def none(cls, unseen: str) -> Self:
        """Return that no pair is seen, and why."""
        nothing, none = np.zeros(0, dtype=np.int64), np.zeros((0, 2), dtype=np.int64)
        return cls(none.astype(np.intp), nothing, none, nothing, Fraction(1), Fraction(0), unseen)

    def shares(self, frequency: Floats) -> Floats:
        """Return the share of users who have both, as near to its unbiased estimate as the shares of each allow."""
        first, second = frequency[self.values].T
        raw = (self.both / np.maximum(self.trials, 1) - float(self.q)) / float(self.p - self.q)
        return np.clip(raw, np.maximum(first + second - 1, 0), np.minimum(first, second))
