"""Hash many strings to their Bloom positions in every cohort at once, as a decoder of an open domain needs them."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither_shared.primitives.bloom import GROUP, bloom_digest, bloom_positions

__all__ = ["Marks", "columns_of", "marks_of"]

Marks = NDArray[np.uint16]
"""Positions, shape (cohorts, hashes, values): a cohort's are next to one another, as a decoder wants them."""

_BLOCK = 1 << 19
"""Values times cohorts that are hashed together; 8 MB of digests at 2 hashes."""


@lru_cache(maxsize=8)
def marks_of(values: tuple[str, ...], cohorts: int, bits: int, hashes: int) -> Marks:
    """Return ``bloom_positions`` of the values (their UTF-8 bytes) in all cohorts; two bytes for each."""
    return _marked(values, np.empty((cohorts, hashes, len(values)), dtype=np.uint16), bits)


@lru_cache(maxsize=8)
def columns_of(values: tuple[str, ...], cohorts: int, bits: int) -> NDArray[Any]:
    """Return the one position of each value in each cohort, shape (cohorts, values), in as few bytes as it takes."""
    marks = np.empty((cohorts, 1, len(values)), dtype=np.min_scalar_type(bits - 1))
    return _marked(values, marks, bits)[:, 0]


def _marked(values: tuple[str, ...], marks: NDArray[Any], bits: int) -> NDArray[Any]:
    """Fill in the positions of values in all cohorts."""
    cohorts, hashes, _ = marks.shape
    block = max(1, _BLOCK // cohorts)
    for start in range(0, len(values), block):
        encoded = [value.encode("utf-8") for value in values[start : start + block]]
        marks[:, :, start : start + len(encoded)] = _hashed(encoded, cohorts, bits, hashes)
    marks.flags.writeable = False
    return marks


def _hashed(values: Sequence[bytes], cohorts: int, bits: int, hashes: int) -> Marks:
    """Take the first positions of each cohort's words where these are distinct and unbiased, as they mostly are."""
    groups = -(-cohorts // GROUP)
    digests = b"".join(bloom_digest(value, group, 0, hashes) for group in range(groups) for value in values)
    words = np.frombuffer(digests, dtype=">u4").reshape(groups, len(values), GROUP, 2 * hashes)[..., :hashes]
    words = words.transpose(0, 2, 3, 1).reshape(groups * GROUP, hashes, len(values))[:cohorts]
    marks = (words % bits).astype(np.uint16)
    ordered = np.sort(marks, axis=1)
    odd = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1) | (words >= (1 << 32) - (1 << 32) % bits).any(axis=1)
    for cohort, place in np.argwhere(odd):
        marks[cohort, :, place] = bloom_positions(values[place], int(cohort), bits, hashes)
    return marks
