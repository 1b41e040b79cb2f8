"""Public hashing of a value to distinct positions of a Bloom filter; part of the wire format, fixed for ever.

For a value of bytes v, cohort c and h hashes, the words of cohort c are

    the 2h words from 2h (c mod 8) on of  SHAKE-256( "dither-bloom-2" ‖ ⌊c/8⌋ ‖ 0 ‖ v ),
    then all 16h words of                 SHAKE-256( "dither-bloom-2" ‖ c ‖ i ‖ v ),  i = 1, 2, …

with cohort and block in four bytes, big-endian, and words of 32 bits, big-endian. Words at or above the largest
multiple of ``bits`` below 2^32 are skipped, so that a word modulo ``bits`` is exactly uniform; positions already taken
are skipped, so that every value marks exactly h bits. One digest serves eight cohorts: a device needs one of them,
and a decoder of a long list of strings needs all. tests/vectors/bloom.json fixes the result.
"""

from struct import Struct

from .digests import shake_256

HASHING = "dither-bloom-2"
"""The name of this scheme, which is part of the version of every metric that uses it."""

_PREFIX = HASHING.encode()
_NUMBERS, _WORD = Struct(">II").pack, Struct(">I")
GROUP = 8
"""Cohorts that share a first digest."""


def bloom_digest(value: bytes, number: int, block: int, hashes: int) -> bytes:
    """Return the 16h words of a group of cohorts (``block`` 0) or of a cohort (later blocks); 64h bytes."""
    return shake_256(_PREFIX + _NUMBERS(number, block) + value).digest(8 * GROUP * hashes)


def word_limit(bits: int) -> int:
    """Return the largest multiple of ``bits`` up to 2^32: a word below it, modulo ``bits``, is exactly uniform."""
    return (1 << 32) - (1 << 32) % bits


def bloom_positions(value: bytes, cohort: int, bits: int, hashes: int) -> tuple[int, ...]:
    """Return the ``hashes`` distinct positions in [0, bits) of ``value`` in ``cohort``, in the order drawn."""
    limit = word_limit(bits)
    group, place = divmod(cohort, GROUP)
    width = 8 * hashes
    stream = bloom_digest(value, group, 0, hashes)[width * place : width * (place + 1)]
    positions: list[int] = []
    block = 0
    while True:
        for (word,) in _WORD.iter_unpack(stream):
            position = word % bits
            if word < limit and position not in positions:
                positions.append(position)
                if len(positions) == hashes:
                    return tuple(positions)
        block += 1
        stream = bloom_digest(value, cohort, block, hashes)
