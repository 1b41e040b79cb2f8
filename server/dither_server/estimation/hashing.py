"""Hash many strings to their positions in every cohort at once, as decoders of open domains need them."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither_shared.primitives.bloom import GROUP, bloom_digest, bloom_positions, word_limit
from dither_shared.primitives.buckets import MAX_ROWS, bucket_digest

Buckets = NDArray[np.uint16]
"""The bucket of each value in each row, shape (rows, values)."""

Marks = NDArray[np.uint16]
"""Positions, shape (cohorts, hashes, values): those of one cohort are contiguous, because they are read together."""

_AT_ONCE = 1 << 19
"""Number of values times cohorts hashed in one step; 8 MB of digests at 2 hashes."""

_CHUNK = 1 << 16
"""Number of strings whose digests are in memory at a time; 6 MB."""


@lru_cache(maxsize=8)
def marks_of(values: tuple[str, ...], cohorts: int, bits: int, hashes: int) -> Marks:
    """Return ``bloom_positions`` of the values (their UTF-8 bytes) in all cohorts; two bytes for each."""
    return _marked(values, np.empty((cohorts, hashes, len(values)), dtype=np.uint16), bits)


@lru_cache(maxsize=8)
def columns_of(values: tuple[str, ...], cohorts: int, bits: int) -> NDArray[Any]:
    """Return the only position of each value in each cohort, shape (cohorts, values), in the smallest integer type."""
    marks = np.empty((cohorts, 1, len(values)), dtype=np.min_scalar_type(bits - 1))
    return _marked(values, marks, bits)[:, 0]


@lru_cache(maxsize=8)
def buckets_of(values: tuple[str, ...], rows: int, buckets: int, level: int) -> Buckets:
    """Return the bucket of each value (its UTF-8 bytes) in each row of a level of a sketch."""
    buckets_by_row = hashed_buckets((value.encode("utf-8") for value in values), len(values), level, rows, buckets)
    buckets_by_row.flags.writeable = False
    return buckets_by_row


def hashed_buckets(values: Iterable[bytes], count: int, level: int, rows: int, buckets: int) -> Buckets:
    """Return the bucket of each value in each row of a level, as ``primitives/buckets.py`` defines it."""
    hashed, coming = np.empty((rows, count), dtype=np.uint16), iter(values)
    for start in range(0, count, _CHUNK):
        digests = b"".join([bucket_digest(value, level) for value in islice(coming, _CHUNK)])
        words = np.frombuffer(digests, dtype=">u4").reshape(-1, MAX_ROWS)[:, :rows]
        hashed[:, start : start + len(words)] = (words % buckets).T
    return hashed


def _marked(values: tuple[str, ...], marks: NDArray[Any], bits: int) -> NDArray[Any]:
    """Return the positions of values in all cohorts, computed block by block."""
    cohorts, hashes, _ = marks.shape
    block = max(1, _AT_ONCE // cohorts)
    for start in range(0, len(values), block):
        encoded = [value.encode("utf-8") for value in values[start : start + block]]
        marks[:, :, start : start + len(encoded)] = _hashed(encoded, cohorts, bits, hashes)
    marks.flags.writeable = False
    return marks


def _hashed(values: Sequence[bytes], cohorts: int, bits: int, hashes: int) -> Marks:
    """Return positions, taken from each cohort's first words if these are distinct and unbiased, as nearly all are."""
    groups = -(-cohorts // GROUP)
    digests = b"".join(bloom_digest(value, group, 0, hashes) for group in range(groups) for value in values)
    words = np.frombuffer(digests, dtype=">u4").reshape(groups, len(values), GROUP, 2 * hashes)[..., :hashes]
    words = words.transpose(0, 2, 3, 1).reshape(groups * GROUP, hashes, len(values))[:cohorts]
    marks = (words % bits).astype(np.uint16)
    ordered = np.sort(marks, axis=1)
    odd = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1) | (words >= word_limit(bits)).any(axis=1)
    for cohort, place in np.argwhere(odd):
        marks[cohort, :, place] = bloom_positions(values[place], int(cohort), bits, hashes)
    return marks
