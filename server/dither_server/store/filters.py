"""A Bloom filter of batch ids: whether an id may be among those of a day, without a look into the database.

Each id sets a few bits of one 64-bit word (a blocked filter: Putze, Sanders and Singler, "Cache-, Hash- and
Space-Efficient Bloom Filters", 2007), which a look-up reads at once. Ids are random, so their own bits are the hash.
With 12 bits an id about 1 of 100 other ids looks as if it were there. One that is there is never missed.
"""

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["Filter", "Probes"]

_BITS = 12
"""Bits of an id."""

_SET = 5
"""Bits that an id sets in its word."""

_Words = NDArray[np.uint64]


class Probes:
    """Ids as a filter looks for them: a number that chooses the word, and the bits in it."""

    def __init__(self, ids: Sequence[bytes]) -> None:
        halves = np.frombuffer(b"".join(ids), dtype=">u8").astype(np.uint64).reshape(-1, 2)
        self.place = halves[:, 0] >> np.uint64(32)
        self.mask = np.zeros(len(halves), dtype=np.uint64)
        for turn in range(_SET):
            self.mask |= np.uint64(1) << ((halves[:, 1] >> np.uint64(6 * turn)) & np.uint64(63))


class Filter:
    """The ids of a day."""

    def __init__(self, words: _Words) -> None:
        self._words = words

    @classmethod
    def sized(cls, ids: int) -> Self:
        """Return an empty filter for so many ids."""
        return cls(np.zeros(max(1, -(-ids * _BITS // 64)), dtype=np.uint64))

    @classmethod
    def read(cls, stored: bytes) -> Self:
        """Return the filter that ``stored`` was made of."""
        return cls(np.frombuffer(stored, dtype="<u8").astype(np.uint64, copy=False))

    def stored(self) -> bytes:
        """Return the filter as bytes."""
        return self._words.astype("<u8").tobytes()

    def add(self, ids: Sequence[bytes]) -> None:
        """Add ids of 16 bytes."""
        if ids:
            probes = Probes(ids)
            np.bitwise_or.at(self._words, self._places(probes), probes.mask)

    def may_hold(self, probes: Probes) -> NDArray[np.bool_]:
        """Return which of some ids may be among those that were added."""
        found: NDArray[np.bool_] = (self._words[self._places(probes)] & probes.mask) == probes.mask
        return found

    def _places(self, probes: Probes) -> NDArray[np.uint64]:
        return (probes.place * np.uint64(len(self._words))) >> np.uint64(32)
