"""A tally as blocks of 128 counts, so that a commit rewrites only what its reports touched.

The reports per cohort come first, then the counts, cohort by cohort, each part padded with zeros to whole blocks. A
RAPPOR tally of 64 cohorts by 128 bits is 65 blocks of 1 KiB, of which one report touches two. Blocks are little-endian
int64 in the database, whatever the machine.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dither_shared import Mechanism

from .fold import Folded
from .tally import Counts, Tally

__all__ = ["Blocks", "blocks_of_reports", "from_blocks", "from_bytes", "no_blocks", "to_blocks", "to_bytes"]

_WIDTH = 128
_STORED = np.dtype("<i8")


class Blocks(NamedTuple):
    """Those blocks of a tally in which something is counted: their ``numbers``, ascending, and their ``counts``.

    ``counts`` has shape (blocks, 128).
    """

    numbers: Counts
    counts: Counts


def to_blocks(mechanism: Mechanism, folded: Folded) -> Blocks:
    """Return the blocks that rows touch; the memory is theirs, however large the whole tally is."""
    cells = folded.cells + _count(mechanism.cohorts) * _WIDTH
    places = np.concatenate([folded.cohorts, cells])
    owners = places // _WIDTH  # ascending, as the cohorts and the cells are
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
    blocks = _count(mechanism.cohorts) + _count(mechanism.cohorts * mechanism.cells)
    return np.zeros((blocks, _WIDTH), dtype=np.int64)


def to_bytes(block: NDArray[np.int64]) -> bytes:
    """Return one block as it is stored."""
    return block.astype(_STORED, copy=False).tobytes()


def from_bytes(stored: bytes) -> Counts:
    """Return the block that was stored."""
    return np.frombuffer(stored, dtype=_STORED).astype(np.int64, copy=False)


def _count(length: int) -> int:
    return -(-length // _WIDTH)
