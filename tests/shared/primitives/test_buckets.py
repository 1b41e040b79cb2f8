"""Public hashing to buckets, recomputed from the module's documentation."""

import hashlib

import pytest

from dither_shared.primitives.buckets import MAX_BUCKETS, MAX_LEVELS, MAX_ROWS, bucket_digest, bucket_in


@pytest.mark.parametrize("value", [b"", b"a", "Zo\u00eb".encode(), b"x" * 1024])
@pytest.mark.parametrize("level", [0, 1, MAX_LEVELS - 1])
def test_a_bucket_is_a_word_of_a_digest_of_level_and_value(value: bytes, level: int) -> None:
    digest = hashlib.sha256(b"dither-sketch-1" + bytes([level]) + value).digest()
    assert bucket_digest(value, level) == digest
    for row in range(MAX_ROWS):
        word = int.from_bytes(digest[4 * row : 4 * row + 4], "big")
        assert [bucket_in(digest, row, 1 << bits) for bits in (1, 8, 16)] == [word % 2, word % 256, word % MAX_BUCKETS]


def test_rows_and_levels_scatter_values_by_functions_of_their_own() -> None:
    """Of 4,000 pairs of values 250 ± 6 standard deviations (15.3) share a bucket of 16, as expected by chance.

    Each check fails by chance with a probability below 2e-9.
    """
    digests = [[bucket_digest(b"%d" % number, level) for number in range(4_001)] for level in (0, 1)]
    first = [bucket_in(digest, 0, 16) for digest in digests[0]]
    for level, row in ((0, 1), (0, 7), (1, 0), (1, 1)):
        other = [bucket_in(digest, row, 16) for digest in digests[level]]
        assert abs(sum(bucket == other_bucket for bucket, other_bucket in zip(first, other, strict=True)) - 250) < 92
