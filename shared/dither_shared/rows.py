"""The layout of a report row, defined once: devices write by it, and collectors read and count by it.

A row is the cohort (big-endian, absent if there is one cohort) and the payload. A payload is one unsigned integer, in
the byte order of its ``Shape``, and zero beyond its lowest ``payload_bits``. All rows have the same width.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Literal

from .counted import counted
from .errors import ParameterError, WireError
from .light import cached_property


class Shape(Enum):
    """What the payload of a report holds."""

    SYMBOL = "symbol"
    """The number of one cell, big-endian in as few bytes as hold every cell."""
    BITS = "bits"
    """One bit per cell: cell j is bit j % 8 of byte j // 8, and the bits beyond the last cell are zero."""
    LIST = "list"
    """The numbers of ``listed`` cells, ascending, in ``cell_bits`` bits each from the lowest on, little-endian: shorter
    than a bit for each cell if few of many cells are reported.
    """


@dataclass(frozen=True)
class RowFormat:
    """The rows of a mechanism with these ``cohorts`` and ``cells``; a LIST names ``listed`` cells.

    Raises ParameterError if there are no such rows.
    """

    shape: Shape
    cohorts: int
    cells: int
    listed: int = 0

    def __post_init__(self) -> None:
        least = 2 if self.shape is Shape.SYMBOL else 1  # with only one symbol, the payload would have no bits
        if self.cohorts < 1:
            raise ParameterError("cohorts", f"{self.cohorts} is not positive")
        if self.cells < least:
            raise ParameterError("cells", f"{self.cells} is less than {least}, which a {self.shape.value} needs")
        right = range(1, self.cells + 1) if self.shape is Shape.LIST else range(1)
        if self.listed not in right:
            raise ParameterError("listed", f"a {self.shape.value} cannot list {self.listed} of {self.cells} cells")

    @cached_property
    def cell_bits(self) -> int:
        """The number of bits for the number of a cell."""
        return (self.cells - 1).bit_length()

    @cached_property
    def payload_bits(self) -> int:
        """The number of used bits of a payload, from the lowest."""
        return {Shape.SYMBOL: self.cell_bits, Shape.BITS: self.cells}.get(self.shape, self.listed * self.cell_bits)

    @cached_property
    def limit(self) -> int:
        """The exclusive upper bound of payloads as integers."""
        return self.cells if self.shape is Shape.SYMBOL else 1 << self.payload_bits

    @cached_property
    def byteorder(self) -> Literal["big", "little"]:
        """The order of a payload's bytes."""
        return "big" if self.shape is Shape.SYMBOL else "little"

    @cached_property
    def cohort_bytes(self) -> int:
        """The width of a cohort: none if there is one cohort."""
        return ((self.cohorts - 1).bit_length() + 7) // 8

    @cached_property
    def payload_bytes(self) -> int:
        """The width of a payload."""
        return (self.payload_bits + 7) // 8

    @cached_property
    def row_bytes(self) -> int:
        """The width of a row."""
        return self.cohort_bytes + self.payload_bytes

    def symbol(self, cell: int) -> bytes:
        """Return the payload that names one cell, for the shape SYMBOL."""
        return cell.to_bytes(self.payload_bytes, "big")

    def bits(self, row: int) -> bytes:
        """Return the payload that reports the cells set in ``row``, cell 0 lowest, for the shapes BITS and LIST."""
        return (self._list(row) if self.listed else row).to_bytes(self.payload_bytes, "little")

    def payload(self, cells: Iterable[int]) -> bytes:
        """Return the payload that reports these cells: one of them for SYMBOL, ``listed`` for LIST."""
        if self.shape is Shape.SYMBOL:
            (cell,) = cells
            return self.symbol(cell)
        return self.bits(sum(1 << cell for cell in set(cells)))

    def encode(self, cohort: int, payload: bytes) -> bytes:
        """Return the row of a cohort and a payload."""
        return cohort.to_bytes(self.cohort_bytes, "big") + payload

    def decode(self, row: bytes) -> tuple[int, bytes]:
        """Return the cohort and the payload of a row; raise WireError unless a device could have sent it."""
        if len(row) != self.row_bytes:
            raise WireError(
                f"reports: a row has {counted(len(row), 'byte')}; {counted(self.row_bytes, 'is', 'are')} right"
            )
        cohort, payload = int.from_bytes(row[: self.cohort_bytes], "big"), row[self.cohort_bytes :]
        if cohort >= self.cohorts:
            raise WireError(f"reports: cohort {cohort} is not below {self.cohorts}")
        self.cells_of(payload)
        return cohort, payload

    def cells_of(self, payload: bytes) -> tuple[int, ...]:
        """Return the cells that a payload reports, ascending; raise WireError unless a device could have sent it."""
        return _READERS[self.shape](self, int.from_bytes(payload, self.byteorder))

    def is_row(self, row: bytes) -> bool:
        """Return whether this is one row that ``decode`` accepts; fast. False for a LIST, and for another length."""
        split = self.cohort_bytes
        if len(row) != self.row_bytes or self.listed:
            return False
        if split and int.from_bytes(row[:split], "big") >= self.cohorts:
            return False
        return int.from_bytes(row[split:], self.byteorder) < self.limit

    def _list(self, row: int) -> int:
        lanes = f"{row:b}"[::-1]
        numbers, place, cell = 0, 0, lanes.find("1")
        while cell >= 0:
            numbers |= cell << place
            place += self.cell_bits
            cell = lanes.find("1", cell + 1)
        return numbers


def _symbol(rows: RowFormat, symbol: int) -> tuple[int, ...]:
    if symbol >= rows.cells:
        raise WireError(f"reports: symbol {symbol} is not below {rows.cells}")
    return (symbol,)


def _bits(rows: RowFormat, bits: int) -> tuple[int, ...]:
    if bits >> rows.cells:
        raise WireError(f"reports: a bit beyond the last of {rows.cells} is set")
    return tuple(cell for cell in range(rows.cells) if bits >> cell & 1)


def _listed(rows: RowFormat, numbers: int) -> tuple[int, ...]:
    width, count = rows.cell_bits, rows.listed
    cells = tuple(numbers >> width * place & (1 << width) - 1 for place in range(count))
    if numbers >> width * count or cells[-1] >= rows.cells:
        raise WireError(f"reports: a list names a cell that is not below {rows.cells}")
    if any(one >= two for one, two in pairwise(cells)):
        raise WireError("reports: a list is not in ascending order")
    return cells


_READERS: dict[Shape, Callable[[RowFormat, int], tuple[int, ...]]] = {
    Shape.SYMBOL: _symbol,
    Shape.BITS: _bits,
    Shape.LIST: _listed,
}
