"""The mergeable sufficient statistic: reports per cohort, and a count per (cohort, cell)."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dither_shared import Mechanism, Shape, WireError

__all__ = ["Counts", "Tally"]

Counts = NDArray[np.int64]

_BLOCK_BITS = 1 << 25
"""How many bits are unpacked at a time: 32 MiB of memory, whatever the size of a batch."""


@dataclass(frozen=True)
class Tally:
    """What reports add up to. Tallies of one metric version add up; nothing of a single report is left in them.

    ``reports`` has shape (cohorts,), ``counts`` shape (cohorts, cells); both are int64.
    """

    reports: Counts
    counts: Counts

    @classmethod
    def zero(cls, mechanism: Mechanism) -> Self:
        """Return the tally of no reports."""
        return cls(
            np.zeros(mechanism.cohorts, dtype=np.int64),
            np.zeros((mechanism.cohorts, mechanism.cells), dtype=np.int64),
        )

    @classmethod
    def fold(cls, mechanism: Mechanism, rows: bytes) -> Self:
        """Return the tally of encoded report rows.

        Raises WireError if a row is not what the mechanism's device could have sent; nothing is counted then.
        """
        cohorts, payloads = _parsed(mechanism, rows)
        fold = _fold_symbols if mechanism.shape is Shape.SYMBOL else _fold_bits
        reports = np.bincount(cohorts, minlength=mechanism.cohorts).astype(np.int64)
        return cls(reports, fold(mechanism, cohorts, payloads))

    @staticmethod
    def check(mechanism: Mechanism, rows: bytes) -> int:
        """Return the number of rows that ``fold`` would count; raise the WireError that it would raise."""
        cohorts, _ = _parsed(mechanism, rows)
        return len(cohorts)

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.reports + other.reports, self.counts + other.counts)

    @property
    def total(self) -> int:
        """The number of reports in all cohorts."""
        return int(self.reports.sum())


def _big_endian(columns: NDArray[np.uint8]) -> Counts:
    """Return the unsigned integer of each row, 0 for rows of no bytes."""
    value = np.zeros(len(columns), dtype=np.int64)
    for column in columns.T:
        value = value << 8 | column
    return value


def _parsed(mechanism: Mechanism, rows: bytes) -> tuple[Counts, NDArray[np.uint8]]:
    """Return the cohort and the payload of each row, having checked that a device could have sent it."""
    width = mechanism.row_bytes
    if len(rows) % width:
        raise WireError(f"reports: {len(rows)} bytes are not a whole number of rows of {width} bytes")
    table = np.frombuffer(rows, dtype=np.uint8).reshape(-1, width)
    cohorts, payloads = _big_endian(table[:, : mechanism.cohort_bytes]), table[:, mechanism.cohort_bytes :]
    if (cohorts >= mechanism.cohorts).any():
        raise WireError(f"reports: a cohort is not below {mechanism.cohorts}")
    if mechanism.shape is Shape.SYMBOL:
        if (_big_endian(payloads) >= mechanism.cells).any():
            raise WireError(f"reports: a symbol is not below {mechanism.cells}")
        return cohorts, payloads
    unused = 8 * mechanism.payload_bytes - mechanism.cells
    if unused and (payloads[:, -1] >> (8 - unused)).any():
        raise WireError(f"reports: a bit beyond the last of {mechanism.cells} is set")
    return cohorts, payloads


def _fold_symbols(mechanism: Mechanism, cohorts: Counts, payloads: NDArray[np.uint8]) -> Counts:
    symbols = cohorts * mechanism.cells + _big_endian(payloads)
    cells = np.bincount(symbols, minlength=mechanism.cohorts * mechanism.cells)
    return cells.astype(np.int64).reshape(mechanism.cohorts, mechanism.cells)


def _fold_bits(mechanism: Mechanism, cohorts: Counts, payloads: NDArray[np.uint8]) -> Counts:
    counts = np.zeros((mechanism.cohorts, mechanism.cells), dtype=np.int64)
    order = np.argsort(cohorts, kind="stable")
    step = max(1, _BLOCK_BITS // (8 * mechanism.payload_bytes))
    for start in range(0, len(order), step):
        block = order[start : start + step]
        present, first = np.unique(cohorts[block], return_index=True)
        bits = np.unpackbits(payloads[block], axis=1, count=mechanism.cells, bitorder="little")
        counts[present] += np.add.reduceat(bits, first, axis=0, dtype=np.int64)
    return counts
