"""One description of a row: the wire's reader and the collector's arrays read what devices write by it."""

from dataclasses import dataclass

import numpy as np
import pytest

from dither_server.tally.fold import fold, parsed
from dither_server.tally.tally import Tally
from dither_shared import Mechanism, ParameterError, SymmetricUnary, WireError
from dither_shared.mechanism import Item
from dither_shared.rows import RowFormat, Shape

GOOD = [
    # format, cohort, the cells reported, the row in hex
    (RowFormat(Shape.SYMBOL, 1, 256), 0, (255,), "ff"),
    (RowFormat(Shape.SYMBOL, 1, 257), 0, (256,), "0100"),
    (RowFormat(Shape.SYMBOL, 2, 300), 1, (258,), "010102"),
    (RowFormat(Shape.SYMBOL, 257, 3), 256, (2,), "010002"),
    (RowFormat(Shape.BITS, 1, 8), 0, (7,), "80"),
    (RowFormat(Shape.BITS, 1, 9), 0, (0, 8), "0101"),
    (RowFormat(Shape.BITS, 5, 20), 4, (), "04000000"),
    (RowFormat(Shape.BITS, 300, 130), 299, (0, 64, 129), "012b" + "0100000000000000" + "0100000000000000" + "02"),
    (RowFormat(Shape.LIST, 1, 12, 1), 0, (11,), "0b"),
    (RowFormat(Shape.LIST, 1, 300, 3), 0, (1, 2, 299), "0104ac04"),
    (RowFormat(Shape.LIST, 3, 300, 3), 2, (1, 2, 299), "020104ac04"),
]

BAD = [
    # format, the row in hex, its error
    (RowFormat(Shape.SYMBOL, 1, 3), "03", "symbol"),
    (RowFormat(Shape.SYMBOL, 1, 257), "0101", "symbol"),
    (RowFormat(Shape.SYMBOL, 3, 4), "0300", "cohort"),
    (RowFormat(Shape.BITS, 1, 3), "08", "bit beyond"),
    (RowFormat(Shape.BITS, 5, 20), "04000010", "bit beyond"),
    (RowFormat(Shape.BITS, 5, 8), "0500", "cohort"),
    (RowFormat(Shape.LIST, 1, 12, 1), "0c", "not below 12"),
    (RowFormat(Shape.LIST, 1, 300, 3), "0104ac0c", "not below 300"),
    (RowFormat(Shape.LIST, 1, 300, 2), "018203", "not below 300"),
    (RowFormat(Shape.LIST, 1, 300, 2), "010200", "ascend"),
    (RowFormat(Shape.LIST, 1, 300, 2), "020200", "ascend"),
]


@dataclass(frozen=True, kw_only=True)
class Rowed(SymmetricUnary):
    """A mechanism of which only the row format matters."""

    rows: RowFormat

    def __post_init__(self) -> None:
        super().__post_init__()
        rows = self.rows
        self._derive(shape=rows.shape, cohorts=rows.cohorts, cells=rows.cells, listed=rows.listed)

    def marked(self, item: Item, cohort: int = 0) -> tuple[int, ...]:
        raise NotImplementedError


def of(rows: RowFormat) -> Mechanism:
    like = SymmetricUnary.calibrate(2, 1.0)
    return Rowed(size=2, keep=like.keep, rows=rows)


@pytest.mark.parametrize(("rows", "cohort", "cells", "row"), GOOD)
def test_row_is_written_read_and_counted_as_the_table_says(
    rows: RowFormat, cohort: int, cells: tuple[int, ...], row: str
) -> None:
    encoded, mechanism = bytes.fromhex(row), of(rows)
    assert mechanism.row_format == rows
    assert rows.encode(cohort, rows.payload(cells)) == encoded
    assert rows.decode(encoded) == (cohort, encoded[rows.cohort_bytes :])
    assert rows.cells_of(encoded[rows.cohort_bytes :]) == cells
    assert rows.is_row(encoded) == (rows.shape is not Shape.LIST)
    assert len(encoded) == rows.row_bytes == mechanism.row_bytes
    for count in (1, 3, 1000):
        tally = Tally.fold(mechanism, encoded * count)
        expected = np.zeros((rows.cohorts, rows.cells), dtype=np.int64)
        expected[cohort, list(cells)] = count
        assert tally.reports[cohort] == tally.total == Tally.check(mechanism, encoded * count) == count
        np.testing.assert_array_equal(tally.counts, expected)


@pytest.mark.parametrize(("rows", "row", "wrong"), BAD)
def test_every_reader_refuses_a_bad_row_in_the_same_words(rows: RowFormat, row: str, wrong: str) -> None:
    encoded, mechanism = bytes.fromhex(row), of(rows)
    assert len(encoded) == rows.row_bytes
    assert not rows.is_row(encoded)
    with pytest.raises(WireError, match=wrong):
        rows.decode(encoded)
    for look in (parsed, fold, Tally.check):
        for body in (encoded, encoded * 3):
            with pytest.raises(WireError, match=wrong):
                look(mechanism, body)


@pytest.mark.parametrize(
    ("shape", "cohorts", "cells", "listed", "place"),
    [
        (Shape.SYMBOL, 0, 2, 0, "cohorts"),
        (Shape.SYMBOL, 1, 1, 0, "cells"),
        (Shape.BITS, 1, 0, 0, "cells"),
        (Shape.BITS, 1, 8, 1, "listed"),
        (Shape.LIST, 1, 8, 0, "listed"),
        (Shape.LIST, 1, 8, 9, "listed"),
        (Shape.LIST, 1, 8, -1, "listed"),
    ],
)
def test_impossible_row_formats_are_refused(shape: Shape, cohorts: int, cells: int, listed: int, place: str) -> None:
    with pytest.raises(ParameterError) as raised:
        RowFormat(shape, cohorts, cells, listed)
    assert raised.value.place == place
    RowFormat(shape, max(cohorts, 1), max(cells, 2), 1 if shape is Shape.LIST else 0)
