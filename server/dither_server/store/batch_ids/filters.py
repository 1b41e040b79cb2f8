"""Bloom filters of batch ids: which days an id may be among, without a look into the database.

Each id sets a few bits of one 64-bit word (a blocked filter: Putze, Sanders and Singler, "Cache-, Hash- and
Space-Efficient Bloom Filters", 2007), which a look-up reads at once. Ids are random, so their own bits are the hash.
With 12 bits an id about 1 of 100 other ids looks as if it were there. One that is there is never missed.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["Filters", "filter_of", "ids_of_filter"]

_BITS = 12
"""Bits of an id."""

_SET = 5
"""Bits that an id sets in its word."""

_Words = NDArray[np.uint64]


def filter_of(ids: Sequence[bytes]) -> bytes:
    """Return the filter of some ids, of 16 bytes each."""
    words = np.zeros(max(1, -(-len(ids) * _BITS // 64)), dtype=np.uint64)
    halves, masks = _hashed(ids)
    np.bitwise_or.at(words, _places(halves, np.uint64(len(words))), masks)
    return words.astype("<u8").tobytes()


def ids_of_filter(size: int) -> int:
    """Return of how many ids a filter of so many bytes was made, to within the 5 of a word."""
    return size * 8 // _BITS


class Filters:
    """Several filters, looked into together."""

    def __init__(self, stored: Sequence[bytes] = ()) -> None:
        parts = [np.frombuffer(one, dtype="<u8") for one in stored]
        self._sizes = np.array([[len(part)] for part in parts], dtype=np.uint64)
        self._starts = np.cumsum(self._sizes, axis=0, dtype=np.uint64) - self._sizes
        self._words: _Words = np.concatenate(parts).astype(np.uint64, copy=False) if parts else np.zeros(0, np.uint64)

    def may_hold(self, ids: Sequence[bytes]) -> Iterator[tuple[int, int]]:
        """Yield the number of each filter with the number of each id that may be among those that it was made of."""
        if len(self._sizes) and ids:
            halves, masks = _hashed(ids)
            found = self._words[self._starts + _places(halves, self._sizes)]
            yield from zip(*(hits.tolist() for hits in np.nonzero((found & masks) == masks)), strict=True)


def _hashed(ids: Sequence[bytes]) -> tuple[_Words, _Words]:
    """Return for each id a number below 2^32, which chooses the word, and the bits to set in it."""
    numbers = np.frombuffer(b"".join(ids), dtype=">u8").astype(np.uint64).reshape(-1, 2)
    masks = np.zeros(len(numbers), dtype=np.uint64)
    for turn in range(_SET):
        masks |= np.uint64(1) << ((numbers[:, 1] >> np.uint64(6 * turn)) & np.uint64(63))
    return numbers[:, 0] >> np.uint64(32), masks


def _places(halves: _Words, size: "np.uint64 | _Words") -> _Words:
    places: _Words = (halves * size) >> np.uint64(32)
    return places
