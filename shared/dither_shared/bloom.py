"""Public hashing of a value to distinct positions of a Bloom filter; part of the wire format, fixed for ever.

For a value of bytes v in cohort c the words are those of the stream

    SHA-256( "dither-bloom-1" ‖ c ‖ block ‖ v ),   block = 0, 1, 2, …

with c and block in four bytes, big-endian, cut into 32-bit big-endian words. Words at or above the largest multiple of
``bits`` below 2^32 are skipped, so that a word modulo ``bits`` is exactly uniform; positions already taken are skipped,
so that every value marks exactly ``hashes`` bits. tests/shared/bloom_vectors.json fixes the result.
"""

import hashlib

__all__ = ["bloom_positions"]

_TAG = b"dither-bloom-1"


def bloom_positions(value: bytes, cohort: int, bits: int, hashes: int) -> tuple[int, ...]:
    """Return the ``hashes`` distinct positions in [0, bits) of ``value`` in ``cohort``, in the order drawn."""
    limit = (1 << 32) - (1 << 32) % bits
    positions: list[int] = []
    block = 0
    while True:
        stream = _TAG + cohort.to_bytes(4, "big") + block.to_bytes(4, "big") + value
        digest = hashlib.sha256(stream).digest()
        for start in range(0, 32, 4):
            word = int.from_bytes(digest[start : start + 4], "big")
            position = word % bits
            if word < limit and position not in positions:
                positions.append(position)
                if len(positions) == hashes:
                    return tuple(positions)
        block += 1
