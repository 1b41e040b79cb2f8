"""Store a tally as blocks of 128 counts, so that a commit rewrites only the blocks that its reports touched.

The reports per cohort come first, then the counts, cohort by cohort, each part padded with zeros to whole blocks. A
RAPPOR tally of 64 cohorts by 128 bits is 65 blocks, of which one report touches two.

In the database, a block uses as few bits per count as its largest count needs: 1, 2, 4, 8, 16, 32 or 64, so that many
cohorts of few reports each take little space. Its length says how many. Counts are little-endian on every machine, and
those of less than a byte fill bytes from the lowest bit up.

Nothing rewrites a completed day, so its blocks are stored in chunks: up to 512 consecutive blocks in one row, all with
the bits that the largest count needs. A year of a large tally can then be read in a tenth of the time.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dither_shared import DitherError, Mechanism

from .arrays import Counts
from .fold import Folded
from .tally import Tally

_WIDTH = 128
_CHUNK = 512
"""Blocks of a chunk, at most. Those of the reports per cohort never share a chunk with those of the cells."""

_TYPES = {bits: np.dtype(f"<u{bits // 8}") for bits in (8, 16, 32, 64)}


class Blocks(NamedTuple):
    """The blocks of a tally in which something is counted: their ``numbers``, ascending, and their ``counts``.

    ``counts`` has shape (blocks, 128).
    """

    numbers: Counts
    counts: Counts


def to_blocks(mechanism: Mechanism, folded: Folded) -> Blocks:
    """Return the blocks that the rows touch; memory depends only on these, however large the whole tally is."""
    cells = folded.cells + _count(mechanism.cohorts) * _WIDTH
    places = np.concatenate([folded.cohorts, cells])
    owners = places // _WIDTH  # ascending, because cohorts and cells are
    first = np.diff(owners, prepend=-1) > 0
    counts = np.zeros((int(first.sum()), _WIDTH), dtype=np.int64)
    counts[np.cumsum(first) - 1, places % _WIDTH] = np.concatenate([folded.reports, folded.counts])
    return Blocks(owners[first], counts)


def from_blocks(mechanism: Mechanism, blocks: Counts) -> Tally:
    """Return the tally of which ``blocks`` are all the blocks."""
    first = _count(mechanism.cohorts)
    reports, counts = blocks[:first].ravel(), blocks[first:].ravel()
    cells = mechanism.cohorts * mechanism.cells
    return Tally(reports[: mechanism.cohorts], counts[:cells].reshape(mechanism.cohorts, mechanism.cells))


def blocks_of_reports(mechanism: Mechanism) -> int:
    """Return how many of the first blocks hold the reports per cohort; counts of cells come after them."""
    return _count(mechanism.cohorts)


def no_blocks(mechanism: Mechanism) -> Counts:
    """Return all the blocks of the tally of no reports."""
    return np.zeros((_all_blocks(mechanism), _WIDTH), dtype=np.int64)


def add_blocks(blocks: Counts, numbers: Counts, counts: Counts) -> None:
    """Add ``counts`` to those of all ``blocks`` that ``numbers`` name, of which some may be the same."""
    order = np.argsort(numbers, kind="stable")
    ascending = numbers[order]
    starts = np.flatnonzero(np.diff(ascending, prepend=-1))
    blocks[ascending[starts]] += np.add.reduceat(counts[order], starts, axis=0)


def chunks_of(mechanism: Mechanism, blocks: Counts) -> list[tuple[int, bytes]]:
    """Return the chunks of all blocks of a tally, each with the number of its first block; empty ones are left out."""
    return [
        (first, _packed(part.reshape(1, -1), _width(int(part.max())))[0])
        for first in _chunk_starts(mechanism)
        if (part := blocks[first : _chunk_end(mechanism, first)]).any()
    ]


def add_chunk(mechanism: Mechanism, blocks: Counts, first: int, stored: bytes) -> None:
    """Add the chunk that begins with block ``first`` to all ``blocks`` of a tally."""
    end = _chunk_end(mechanism, first)
    counts = _unpacked([stored], len(stored), end - first).reshape(-1, _WIDTH)
    blocks[first:end] += counts.view(np.int64) if counts.itemsize == 8 else counts  # numpy adds uint64 as floats


def reports_in(mechanism: Mechanism, first: int, stored: bytes, *, is_chunk: bool) -> int:
    """Return the sum of the counts in one stored row: a block, or the chunk that begins with block ``first``."""
    blocks = _chunk_end(mechanism, first) - first if is_chunk else 1
    return int(_unpacked([stored], len(stored), blocks).sum(dtype=np.int64))


def to_bytes(counts: Counts) -> list[bytes]:
    """Return blocks, shape (blocks, 128), as they are stored."""
    widths = [_width(most) for most in counts.max(axis=1).tolist()]
    if len(set(widths)) == 1:  # true for most commits, for which this is a good part of the work
        return _packed(counts, widths[0])
    stored = [b""] * len(counts)
    for bits, places in _alike(widths):
        for place, block in zip(places, _packed(counts[places], bits), strict=True):
            stored[place] = block
    return stored


def from_bytes(stored: Sequence[bytes]) -> Counts:
    """Return the blocks that were stored, shape (blocks, 128)."""
    lengths = [len(block) for block in stored]
    if len(set(lengths)) == 1:
        return _unpacked(stored, lengths[0]).astype(np.int64)
    counts = np.empty((len(stored), _WIDTH), dtype=np.int64)
    for length, places in _alike(lengths):
        counts[places] = _unpacked([stored[place] for place in places], length)
    return counts


def _width(most: int) -> int:
    """Return the bits that a count takes."""
    return 1 << (max(1, most.bit_length()) - 1).bit_length()


def _alike(kinds: list[int]) -> list[tuple[int, list[int]]]:
    """Return each kind with its places."""
    found: dict[int, list[int]] = {}
    for place, kind in enumerate(kinds):
        found.setdefault(kind, []).append(place)
    return list(found.items())


def _packed(counts: Counts, bits: int) -> list[bytes]:
    if bits >= 8:
        whole = counts.astype(_TYPES[bits]).tobytes()
    else:
        lanes = counts.astype(np.uint8).reshape(-1, 8 // bits)
        whole = (lanes << np.arange(0, 8, bits, dtype=np.uint8)).sum(axis=1, dtype=np.uint8).tobytes()
    length = counts.shape[1] * bits // 8
    return [whole[start : start + length] for start in range(0, len(whole), length)]


def _unpacked(stored: Sequence[bytes], length: int, blocks: int = 1) -> NDArray[Any]:
    """Return the counts in rows of ``length`` bytes, each of ``blocks`` blocks, as an array with one line per row."""
    counts = blocks * _WIDTH
    whole, (bits, rest) = b"".join(stored), divmod(8 * length, counts)
    if rest or bits not in {1, 2, 4, *_TYPES}:
        raise DitherError(f"database: a stored sum has {length} bytes, so it is damaged; restore the last backup")
    if bits >= 8:
        return np.frombuffer(whole, dtype=_TYPES[bits]).reshape(-1, counts)
    lanes = np.frombuffer(whole, dtype=np.uint8)[:, np.newaxis] >> np.arange(0, 8, bits, dtype=np.uint8)
    return np.asarray((lanes & ((1 << bits) - 1)).reshape(-1, counts))


def _chunk_starts(mechanism: Mechanism) -> list[int]:
    reports = blocks_of_reports(mechanism)
    return [*range(0, reports, _CHUNK), *range(reports, _all_blocks(mechanism), _CHUNK)]


def _chunk_end(mechanism: Mechanism, first: int) -> int:
    reports = blocks_of_reports(mechanism)
    return min(first + _CHUNK, reports if first < reports else _all_blocks(mechanism))


def _all_blocks(mechanism: Mechanism) -> int:
    return _count(mechanism.cohorts) + _count(mechanism.cohorts * mechanism.cells)


def _count(length: int) -> int:
    return -(-length // _WIDTH)
