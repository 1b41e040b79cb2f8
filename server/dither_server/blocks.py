"""A tally as blocks of 128 counts, so that a commit rewrites only what its reports touched.

The reports per cohort come first, then the counts, cohort by cohort, each part padded with zeros to whole blocks. A
RAPPOR tally of 64 cohorts by 128 bits is 65 blocks of 1 KiB, of which one report touches two. Blocks are little-endian
int64 in the database, whatever the machine.
"""

import numpy as np
from numpy.typing import NDArray

from dither_shared import Mechanism

from .tally import Counts, Tally

__all__ = ["from_blocks", "from_bytes", "no_blocks", "to_blocks", "to_bytes"]

_WIDTH = 128
_STORED = np.dtype("<i8")


def to_blocks(tally: Tally) -> Counts:
    """Return the blocks of a tally, shape (blocks, 128)."""
    return np.concatenate([_padded(tally.reports), _padded(tally.counts.ravel())])


def from_blocks(mechanism: Mechanism, blocks: Counts) -> Tally:
    """Return the tally of which ``blocks`` are all the blocks."""
    first = _count(mechanism.cohorts)
    reports, counts = blocks[:first].ravel(), blocks[first:].ravel()
    cells = mechanism.cohorts * mechanism.cells
    return Tally(reports[: mechanism.cohorts], counts[:cells].reshape(mechanism.cohorts, mechanism.cells))


def no_blocks(mechanism: Mechanism) -> Counts:
    """Return the blocks of the tally of no reports."""
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


def _padded(values: Counts) -> Counts:
    padded = np.zeros((_count(len(values)), _WIDTH), dtype=np.int64)
    padded.reshape(-1)[: len(values)] = values
    return padded
