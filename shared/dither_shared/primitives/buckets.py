"""Public hashing of a string to a bucket in each row of a sketch; part of the wire format, fixed for ever.

For a value of bytes v, level j (0 where there are no levels) and B buckets, a power of two up to 2^16, the bucket in
row r is word r of

    SHA-256( "dither-sketch-1" ‖ j ‖ v )

modulo B, with j in one byte, and words of 32 bits, big-endian. One digest serves all rows, 8 at most; each row and
level has its own hash function. (SHA-256, because browsers have it.)
"""

from .digests import sha256

MAX_BUCKETS = 1 << 16
MAX_ROWS = 8
"""The number of words of a digest."""
MAX_LEVELS = 256

_PREFIXES = [b"dither-sketch-1" + bytes([level]) for level in range(MAX_LEVELS)]


def bucket_digest(value: bytes, level: int = 0) -> bytes:
    """Return the digest of a value at a level: 32 bytes, a word of 4 bytes for each row."""
    return sha256(_PREFIXES[level] + value).digest()


def bucket_in(digest: bytes, row: int, buckets: int) -> int:
    """Return the bucket of a digest in a row."""
    return int.from_bytes(digest[4 * row : 4 * row + 4], "big") % buckets
