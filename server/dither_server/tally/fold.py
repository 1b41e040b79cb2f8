"""Fold report rows into counts, fast and sparse: only cells that occur in some row are listed.

Symbols are counted by ``bincount``. Bits are added up in columns by carry-save adders: three words of weight w become
one of weight w and one of weight 2w, by five bitwise operations on 64 columns at once, until a few words of each
weight are left to be unpacked (Harley and Seal; Warren, "Hacker's Delight", section 5-1). Rows of many cohorts are laid
side by side, so that one adder serves all cohorts, and a handful of rows is quickest as a product with a matrix of
ones.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dither_shared import Mechanism, Shape, WireError
from dither_shared.counted import counted
from dither_shared.rows import RowFormat

from .arrays import Counts

_Words = NDArray[np.uint64]
_Payloads = NDArray[np.uint8]

_BLOCK_BYTES = 1 << 25
"""Bytes of rows that are added up at a time: this bounds memory, whatever the size of a batch."""

_UNPACKED = 64
"""The bytes that a byte of a list takes while its cells are read: each bit becomes an integer of 8 bytes."""

_FEW_ROWS = 256
_FEW_BITS = 1 << 20
"""Maximum rows, and maximum bits in total, for which a matrix product is faster than bit-sliced adders."""

_LEFT_OVER = 48
"""With fewer words than this of one weight left, they are unpacked rather than added further."""

_UNEVEN = 4
"""A cohort with more than this many times the mean number of rows is summed separately, to limit padding."""


class Folded(NamedTuple):
    """The sums of rows: the ``cohorts`` present, ascending, with their ``reports``, and ``cells`` with ``counts``.

    A cell's number is cohort * width + cell; they ascend without repetition, and a cell that is not listed has a count
    of 0.
    """

    cohorts: Counts
    reports: Counts
    cells: Counts
    counts: Counts


def parsed(mechanism: Mechanism, rows: bytes) -> tuple[Counts, _Payloads]:
    """Return the cohort and the payload of each row, having checked that a device could have sent it.

    Raises WireError otherwise.
    """
    row = mechanism.row_format
    if len(rows) % row.row_bytes:
        size = counted(len(rows), "byte is", "bytes are")
        raise WireError(f"reports: {size} not a whole number of rows of {counted(row.row_bytes, 'byte')}")
    table = np.frombuffer(rows, dtype=np.uint8).reshape(-1, row.row_bytes)
    cohorts, payloads = _big_endian(table[:, : row.cohort_bytes]), table[:, row.cohort_bytes :]
    if (cohorts >= row.cohorts).any():
        raise WireError(f"reports: a cohort is not below {row.cohorts}")
    _FOLDERS[row.shape].check(row, payloads)
    return cohorts, payloads


def fold(mechanism: Mechanism, rows: bytes) -> Folded:
    """Return the sums of encoded report rows; raise the WireError of ``parsed``."""
    cohorts, payloads = parsed(mechanism, rows)
    if not len(cohorts):
        nothing = np.zeros(0, dtype=np.int64)
        return Folded(nothing, nothing, nothing, nothing)
    row = mechanism.row_format
    return _FOLDERS[row.shape].fold(row, cohorts, payloads)


class _Folder(NamedTuple):
    """How payloads of one shape are checked, and how checked rows (at least one) are counted."""

    check: Callable[[RowFormat, _Payloads], None]
    fold: Callable[[RowFormat, Counts, _Payloads], Folded]


def _check_symbols(row: RowFormat, payloads: _Payloads) -> None:
    if (_big_endian(payloads) >= row.cells).any():
        raise WireError(f"reports: a symbol is not below {row.cells}")


def _fold_symbols(row: RowFormat, cohorts: Counts, payloads: _Payloads) -> Folded:
    symbols = cohorts * row.cells + _big_endian(payloads)
    return Folded(*_counted(cohorts, row.cohorts), *_counted(symbols, row.cohorts * row.cells))


def _check_bits(row: RowFormat, payloads: _Payloads) -> None:
    unused = 8 * row.payload_bytes - row.payload_bits
    if unused and (payloads[:, -1] >> (8 - unused)).any():
        raise WireError(f"reports: a bit beyond the last of {row.cells} is set")


def _fold_bits(row: RowFormat, cohorts: Counts, payloads: _Payloads) -> Folded:
    if row.cohorts == 1:
        present, reports = np.zeros(1, dtype=np.int64), np.array([len(payloads)])
        counts = np.asarray(sum(_column_sums(_words(block)) for block in _blocks(payloads)))
    else:
        present, reports, counts = _folded_cohorts(cohorts, payloads)
    cells = present[:, None] * row.cells + np.arange(row.cells)
    counts = np.reshape(counts, (len(present), -1))[:, : row.cells]
    return Folded(present, reports, cells.ravel(), counts.ravel())


def _check_lists(row: RowFormat, payloads: _Payloads) -> None:
    for block in _blocks(payloads, _UNPACKED):
        _listed(row, block)


def _fold_lists(row: RowFormat, cohorts: Counts, payloads: _Payloads) -> Folded:
    listed = np.concatenate([_listed(row, block) for block in _blocks(payloads, _UNPACKED)])
    if row.cohorts > 1:
        listed += (cohorts * row.cells)[:, np.newaxis]
    return Folded(*_counted(cohorts, row.cohorts), *_counted(listed.ravel(), row.cohorts * row.cells))


_FOLDERS = {
    Shape.SYMBOL: _Folder(_check_symbols, _fold_symbols),
    Shape.BITS: _Folder(_check_bits, _fold_bits),
    Shape.LIST: _Folder(_check_lists, _fold_lists),
}


def _big_endian(columns: _Payloads) -> Counts:
    """Return the unsigned integer of each row, 0 for rows of no bytes."""
    value = np.zeros(len(columns), dtype=np.int64)
    for column in columns.T:
        value = value << 8 | column
    return value


def _listed(row: RowFormat, payloads: _Payloads) -> Counts:
    """Return the cells that each row lists, shape (rows, listed); raise WireError unless a device could list them."""
    bits = np.unpackbits(payloads, axis=1, bitorder="little")
    numbers = bits[:, : row.payload_bits].reshape(len(payloads), row.listed, row.cell_bits)
    cells = numbers @ (np.int64(1) << np.arange(row.cell_bits))
    if (cells >= row.cells).any() or bits[:, row.payload_bits :].any():
        raise WireError(f"reports: a list names a cell that is not below {row.cells}")
    if (np.diff(cells, axis=1) <= 0).any():
        raise WireError("reports: a list is not in ascending order")
    return np.asarray(cells, dtype=np.int64)


def _counted(numbers: Counts, size: int) -> tuple[Counts, Counts]:
    """Return the numbers below ``size`` that occur, and how often; memory grows with those given, not with ``size``."""
    if size > max(4 * len(numbers), 1024):
        present, counts = np.unique(numbers, return_counts=True)
        return present, counts.astype(np.int64)
    counts = np.bincount(numbers, minlength=size)
    present = np.flatnonzero(counts)
    return present, counts[present].astype(np.int64)


def _blocks(payloads: _Payloads, unpacked: int = 1) -> Iterator[_Payloads]:
    """Yield the rows in blocks that fit ``_BLOCK_BYTES`` while each byte takes up ``unpacked`` bytes."""
    step = max(1, _BLOCK_BYTES // (unpacked * payloads.shape[1]))
    return (payloads[start : start + step] for start in range(0, len(payloads), step))


def _words(payloads: _Payloads) -> _Words:
    """Return rows of bytes as rows of 64-bit words, padded with zeros."""
    rows, width = payloads.shape
    if width % 8 or not payloads.flags.c_contiguous:
        padded = np.zeros((rows, -(-width // 8) * 8), dtype=np.uint8)
        padded[:, :width] = payloads
        payloads = padded
    return payloads.view(np.uint64)


def _column_sums(words: _Words) -> Counts:
    """Return how many rows have each bit set, the bits in the order of ``Shape.BITS``."""
    total = np.zeros(64 * words.shape[1], dtype=np.int64)
    planes = [words]  # planes[w] are words whose bits count 2**w each
    for weight in range(64):
        if len(planes) == weight:
            break
        rows, carries = planes[weight], []
        while len(rows) >= _LEFT_OVER:
            rows, carry = _add_thirds(rows)
            carries.append(carry)
        if carries:
            planes.append(np.concatenate(carries))
        bits = np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little")
        total += bits.sum(axis=0, dtype=np.int64) << weight
    return total


def _add_thirds(rows: _Words) -> tuple[_Words, _Words]:
    """Add up the three thirds of the rows, bit by bit; return the sums with the remaining rows, and the carries."""
    third = len(rows) // 3
    one, two, three = rows[:third], rows[third : 2 * third], rows[2 * third : 3 * third]
    either, carry = one ^ two, one & two
    sums = np.empty((len(rows) - 2 * third, rows.shape[1]), dtype=np.uint64)
    np.bitwise_xor(either, three, out=sums[:third])
    sums[third:] = rows[3 * third :]
    either &= three
    carry |= either
    return sums, carry


def _folded_cohorts(cohorts: Counts, payloads: _Payloads) -> tuple[Counts, Counts, Counts]:
    """Return the cohorts present, their reports, and a row of counts for each."""
    narrow = cohorts.astype(np.min_scalar_type(int(cohorts.max())))  # small integers are sorted by radix
    order = np.argsort(narrow, kind="stable")
    ascending = cohorts[order]
    starts = np.flatnonzero(np.diff(ascending, prepend=-1))
    reports = np.diff(starts, append=len(ascending))
    group = np.repeat(np.arange(len(starts)), reports)
    counts = np.zeros((len(starts), -(-payloads.shape[1] // 8) * 64), dtype=np.int64)
    step = max(1, _BLOCK_BYTES // payloads.shape[1])
    for start in range(0, len(order), step):
        block = group[start : start + step]
        counts[block[0] : block[-1] + 1] += _group_sums(block - block[0], _words(payloads[order[start : start + step]]))
    return ascending[starts], reports, counts


def _group_sums(group: Counts, words: _Words) -> Counts:
    """Return a row of column sums for each group; the groups are 0, 1, ... and ascend."""
    rows = np.bincount(group)
    if len(words) <= _FEW_ROWS and 64 * words.size <= _FEW_BITS:
        return _product_sums(group, words, len(rows))
    sums = np.zeros((len(rows), 64 * words.shape[1]), dtype=np.int64)
    ends = np.cumsum(rows)
    large = rows > _UNEVEN * (len(words) / len(rows))
    for one in np.flatnonzero(large):
        sums[one] = _column_sums(words[ends[one] - rows[one] : ends[one]])
    rank = np.arange(len(group)) - (ends - rows)[group]
    alike = np.flatnonzero(~large)
    place = np.cumsum(~large) - 1
    kept = ~large[group]
    side_by_side = np.zeros((rows[alike].max(), len(alike), words.shape[1]), dtype=np.uint64)
    side_by_side[rank[kept], place[group[kept]]] = words[kept]
    sums[alike] = _column_sums(side_by_side.reshape(len(side_by_side), -1)).reshape(len(alike), -1)
    return sums


def _product_sums(group: Counts, words: _Words, groups: int) -> Counts:
    """Return the same as a product; a single-precision float is exact far beyond ``_FEW_ROWS``."""
    member = np.zeros((groups, len(group)), dtype=np.float32)
    member[group, np.arange(len(group))] = 1
    bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little").astype(np.float32)
    return (member @ bits).astype(np.int64)
